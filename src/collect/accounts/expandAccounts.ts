import { isDeepStrictEqual } from 'node:util';
import type { AccountConfig } from '../../config/config.ts';
import type { ListedAccount } from '../../api/upstreamReader.ts';
import { counted } from '../../text/wording.ts';
import { shortenLabelValue } from '../../metrics/writeSamples.ts';
import { selects, unmatched, describeUnmatched } from '../inventory/selection.ts';

/** `elsewhere`: another entry, or an account of the file, reads the account. */
type LeftOut = 'filter' | 'max_accounts' | 'elsewhere';

/** A listed account: its exported name, or why it is left out. */
interface Verdict extends ListedAccount {
  readonly key: string;
  readonly exportedAs?: string | undefined;
  readonly leftOut?: LeftOut;
  readonly why?: string;
}

export interface ExpandedEntry {
  readonly verdicts: readonly Verdict[];
  readonly warnings: readonly string[];
}

/** The accounts of a file, with the listed accounts in place of each entry. */
export interface Expansion {
  readonly accounts: readonly AccountConfig[];
  /** By the name of the entry. An entry without a list is missing. */
  readonly entries: ReadonlyMap<string, ExpandedEntry>;
}

export function describeListed({ id, name, exportedAs, why }: Verdict) {
  return { account_id: id, name, exported_as: exportedAs ?? null, left_out_because: why ?? null };
}

/** Identifies an account of an entry. A new name, entry or key does not change this identity. */
export function originKey({ base_url, account_id }: Pick<AccountConfig, 'base_url' | 'account_id'>): string {
  return `${base_url} ${account_id}`;
}

/**
 * Replaces each entry with `account_ids` by the accounts of its list, sorted by id. Each account gets New Relic's name;
 * one that is empty or not unique gets the account id, too.
 *
 * @param lists the last list of each entry, by the name of the entry; undefined before the first one
 * @param before the accounts of the last expansion, empty after a reload. An account keeps its name while New Relic's
 * name stays, and comes first where `max_accounts` cuts. An unchanged account stays the same object.
 */
export function expandAccounts(
  file: readonly AccountConfig[],
  lists: ReadonlyMap<string, readonly ListedAccount[] | undefined>,
  before: readonly AccountConfig[],
): Expansion {
  const known = new Map(
    before.flatMap((account) => (account.origin === undefined ? [] : [[originKey(account), account]])),
  );
  /** The name of the entry or account that reads an account, by its identity. */
  const readers = new Map<string, string>();
  for (const account of file) {
    const { name, account_id, account_ids } = account;
    if (account_ids === undefined && account_id !== undefined)
      readers.set(originKey(account), `account ${name} of the file`);
  }
  const chosen = file.map((entry) => {
    const list = lists.get(entry.name);
    if (entry.account_ids === undefined || list === undefined) return undefined;
    const sorted = list.toSorted((a, b) => a.id - b.id);
    const found = chooseAccounts(entry, sorted, readers, known);
    for (const { key, leftOut } of found) if (leftOut === undefined) readers.set(key, `entry ${entry.name}`);
    return found;
  });
  const names = nameAccounts(file, chosen, known);
  const entries = new Map<string, ExpandedEntry>();
  const accounts = file.flatMap((entry, index) => {
    if (entry.account_ids === undefined) return [entry];
    const found = chosen[index];
    if (found === undefined) return [];
    const verdicts = found.map((each) =>
      each.leftOut === undefined ? { ...each, exportedAs: names.get(each.key) } : each,
    );
    entries.set(entry.name, { verdicts, warnings: findWarnings(entry, verdicts) });
    return verdicts.flatMap(({ id, name: accountName, key, exportedAs: name }) => {
      if (name === undefined) return [];
      const account = known.get(key);
      const origin = { entry: entry.name, accountName };
      const isSame = account?.name === name && isDeepStrictEqual(account.origin, origin);
      return [isSame ? account : { ...entry, name, account_id: id, account_ids: undefined, origin }];
    });
  });
  return { accounts, entries };
}

type Known = ReadonlyMap<string, AccountConfig>;

function chooseAccounts(
  entry: AccountConfig,
  sorted: readonly ListedAccount[],
  readers: ReadonlyMap<string, string>,
  known: Known,
): readonly Verdict[] {
  const { account_ids, include_accounts: include, exclude_accounts: exclude = [], max_accounts = Infinity } = entry;
  const wanted = account_ids === undefined || account_ids === 'all' ? undefined : new Set(account_ids);
  const found = sorted.map(({ id, name }): Verdict => {
    const listed = { id, name, key: originKey({ ...entry, account_id: id }) };
    const reader = readers.get(listed.key);
    const filtered = (why: string): Verdict => ({ ...listed, leftOut: 'filter', why });
    if (wanted?.has(id) === false) return filtered('not in account_ids');
    if (!selects({ include, exclude: [] }, listed)) return filtered('not in include_accounts');
    if (!selects({ exclude }, listed)) return filtered('in exclude_accounts');
    return reader === undefined ? listed : { ...listed, leftOut: 'elsewhere', why: `read by ${reader}` };
  });
  const included = found.filter(({ leftOut }) => leftOut === undefined);
  const wasExported = ({ key }: Verdict): boolean => known.get(key)?.origin?.entry === entry.name;
  const byPriority = new Set([...included.filter(wasExported), ...included].map(({ id }) => id));
  const exported = new Set([...byPriority].slice(0, max_accounts));
  return found.map((each) =>
    each.leftOut === undefined && !exported.has(each.id)
      ? { ...each, leftOut: 'max_accounts', why: `beyond max_accounts (${max_accounts})` }
      : each,
  );
}

function nameAccounts(
  file: readonly AccountConfig[],
  chosen: readonly (readonly Verdict[] | undefined)[],
  known: Known,
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(file.map(({ name }) => name));
  let fresh: Verdict[] = [];
  for (const found of chosen) {
    for (const { id, name, key, leftOut } of found ?? []) {
      if (leftOut !== undefined) continue;
      const before = known.get(key);
      if (before?.origin?.accountName === name) {
        names.set(key, before.name);
        taken.add(before.name);
      } else fresh.push({ key, id, name: cleanName(name) });
    }
  }
  const isUnique = ({ name }: ListedAccount): boolean =>
    name !== '' && !taken.has(name) && fresh.filter((each) => each.name === name).length === 1;
  // A name with an id may equal New Relic's name of another account. Then the other account gets its id, too.
  while (!fresh.every(isUnique)) {
    fresh = fresh.map((each) => (isUnique(each) ? each : { ...each, name: addId(each) }));
  }
  for (const { key, name } of fresh) names.set(key, name);
  return names;
}

function addId({ name, id }: ListedAccount): string {
  return name === '' ? `(${id})` : shortenLabelValue(`${name} (${id})`);
}

/** Replaces control characters by spaces and shortens the name. A name of nothing but spaces becomes empty. */
function cleanName(name: string): string {
  const plain = name.replace(/\p{Cc}/gu, ' ');
  return plain.trim() === '' ? '' : shortenLabelValue(plain);
}

function findWarnings(entry: AccountConfig, verdicts: ExpandedEntry['verdicts']): readonly string[] {
  const { account_ids, max_accounts } = entry;
  const leftOut = (reason: LeftOut): typeof verdicts => verdicts.filter((each) => each.leftOut === reason);
  const listed = new Set(verdicts.map(({ id }) => id));
  const unseen = account_ids === undefined || account_ids === 'all' ? [] : account_ids.filter((id) => !listed.has(id));
  const beyond = leftOut('max_accounts').length;
  const elsewhere = leftOut('elsewhere');
  const [first] = elsewhere;
  const warnings = [
    ...unseen.map(
      (id) => `account_ids: the key does not list account ${id}: correct it, or give the key's user access to it`,
    ),
    ...(['include_accounts', 'exclude_accounts'] as const).flatMap((key) =>
      unmatched(entry[key], verdicts).map((match) => `${key}: no account has ${describeUnmatched(match)}`),
    ),
  ];
  if (verdicts.length === 0) warnings.push('the key lists no account: give its user a role in the accounts to read');
  else if (leftOut('filter').length === verdicts.length) {
    warnings.push(
      `account_ids, include_accounts and exclude_accounts leave none of ${counted(verdicts.length, 'account')}: correct them`,
    );
  }
  if (beyond > 0) {
    warnings.push(
      `max_accounts: ${counted(beyond, 'account')} beyond ${max_accounts} ${beyond === 1 ? 'is' : 'are'} left out: ` +
        'raise it, or choose with include_accounts',
    );
  }
  if (first !== undefined) {
    const others = elsewhere.length === 1 ? '' : ` and ${elsewhere.length - 1} more`;
    warnings.push(`account ${first.id}${others}: ${first.why} already, and only there`);
  }
  return warnings;
}
