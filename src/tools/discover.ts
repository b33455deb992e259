import type { Application } from '../api/types.ts';
import { findApplications, findKeyTransactions, isId, readAll, selectFound } from './upstream/readForCommand.ts';
import { type LiveAccount, reasonOf, readAccountLists, runReadingCommand, withAccounts } from './upstream/session.ts';
import type { ApplicationSubject, BatchRead, Outcome } from '../api/upstreamReader.ts';
import { windowAt } from '../collect/inventory/window.ts';
import type { FailureReason } from '../api/upstreamError.ts';
import type { Config } from '../config/config.ts';
import { counted } from '../text/wording.ts';
import { discoverEntities, formatTag, formatUserTags } from './discoverEntities.ts';
import { renderJson, renderTable, showProgress, type Cell } from './terminal.ts';
import { errorText } from '../log/logger.ts';
import { escapeUnsafe } from '../text/escaping.ts';
import { ExitStatus, UsageError } from '../cli/process.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { describeListed, type ExpandedEntry } from '../collect/accounts/expandAccounts.ts';

interface DiscoverOptions extends CommonOptions {
  readonly format: 'table' | 'yaml' | 'json';
  /** Ids or exact names. */
  readonly app?: readonly string[];
  readonly keyTransaction?: readonly number[];
  /** True: list the types of entities. A text: list the entities of this type. */
  readonly entities?: true | string;
  readonly accounts: boolean;
  readonly account?: string;
}

/** Runs the command `discover`. Reports a failed read, prints all other results, and ends with status 1. */
export async function runDiscover(options: DiscoverOptions): Promise<void> {
  if (options.accounts) return discoverAccounts(options);
  const { entities } = options;
  if (entities !== undefined) return discoverEntities({ ...options, entities });
  await withAccounts(options, async ({ accounts, config: { collection }, reportError, print, signal }) => {
    const { app: apps = [], keyTransaction: ids = [], format } = options;
    const everything = apps.length + ids.length === 0;
    const foundApplications = await findApplications(accounts, apps);
    const foundTransactions = await findKeyTransactions(accounts, ids);
    const found: Discovered[] = [];
    let failures = 0;
    for (const account of accounts) {
      const { name } = account.config;
      const note: Note = (what, error, reason) => {
        signal.throwIfAborted();
        failures += 1;
        reportError(`account ${name}: ${what} cannot be read: ${errorText(error, false)}`, reason);
      };
      const applications = selectFound(account, foundApplications);
      const keyTransactions = selectFound(account, foundTransactions);
      if (!everything && applications.length + keyTransactions.length === 0) continue;
      const lists = everything ? await readLists(account, note) : { everything, applications, keyTransactions };
      if (lists !== undefined) found.push(await addHostsAndInstances(account, lists, collection, note));
    }
    if (found.length > 0) {
      if (format === 'json') print(renderJson({ accounts: found.map(toJson) }));
      else print(format === 'yaml' ? found.map(renderYaml).join('---\n') : found.map(renderTables).join('\n'));
    }
    if (failures > 0) throw new ExitStatus(1);
  });
}

/** Reports a failed read, with the remedy for its reason. Throws if the user has stopped the command. */
type Note = (what: string, error: unknown, reason?: FailureReason) => void;

type Discovered = Awaited<ReturnType<typeof addHostsAndInstances>>;

/** Reads the lists without the filters of the configuration. Returns undefined if the application list fails. */
async function readLists({ reader, call }: LiveAccount, note: Note) {
  const readOrNote = <T>(list: Promise<T>, what: string): Promise<T | undefined> =>
    list.catch((error: unknown) => {
      note(what, error, reasonOf(error));
      return undefined;
    });
  const applications = await readOrNote(reader.listApplications({}, call), 'the application list');
  if (applications === undefined) return undefined;
  const keyTransactions = await readOrNote(reader.listKeyTransactions({}, call), 'the key transaction list');
  for (const { id, name, unread } of keyTransactions ?? []) {
    if (unread !== undefined) note(`the application of key transaction ${id} (${name})`, unread);
  }
  // False where the user named records: the account may have more.
  return { everything: true, applications, keyTransactions };
}

async function addHostsAndInstances(
  { config, reader, call }: LiveAccount,
  lists: NonNullable<Awaited<ReturnType<typeof readLists>>>,
  collection: Config['collection'],
  note: Note,
) {
  const { applications } = lists;
  const subjects = applications.map(({ id }) => ({ applicationId: id }));
  const range = windowAt(Date.now(), collection);
  const progress = showProgress(`reading hosts and instances of ${config.name}`);
  const hasInstances = reader.instances !== undefined;
  let done = 0;
  const onRead = (count: number): void => {
    done += count;
    progress.update(Math.floor(done / (hasInstances ? 2 : 1)), applications.length);
  };
  const readList = async <A>(kind?: BatchRead<ApplicationSubject, A>): Promise<readonly Outcome<A>[]> =>
    kind === undefined ? [] : readAll(kind, subjects, range, call, onRead);
  const unwrapOrNote = <A>(outcome: Outcome<A> | undefined, list: string, { id, name }: Application): A | undefined => {
    if (outcome === undefined || 'value' in outcome) return outcome?.value;
    note(`the ${list} list of application ${id} (${name})`, outcome.error);
    return undefined;
  };
  try {
    const [hosts, instances] = await Promise.all([readList(reader.hosts), readList(reader.instances)]);
    return {
      ...lists,
      account: config.name,
      hasInstances,
      /** A list of hosts or instances that failed is undefined. */
      applications: applications.map((application, index) => ({
        application,
        hosts: unwrapOrNote(hosts[index], 'host', application),
        instances: unwrapOrNote(instances[index], 'instance', application),
      })),
    };
  } finally {
    progress.stop();
  }
}

const UNKNOWN = '?';
const OWNER = ['APPLICATION ID', 'APPLICATION'];

function toJson({ account, applications, keyTransactions }: Discovered): object {
  return {
    account,
    applications: applications.map(({ application, hosts, instances }) => ({
      id: application.id,
      name: application.name,
      language: application.language ?? null,
      reporting: application.reporting ?? null,
      health_status: application.healthStatus ?? null,
      tags: application.tags === undefined ? null : application.tags.map(({ key, values }) => ({ key, values })),
      hosts: hosts?.map(({ key, host }) => ({ id: isId(key) ? Number(key) : key, host })) ?? null,
      instances: instances?.map(({ id, host, port }) => ({ id, host, port: port ?? null })) ?? null,
    })),
    key_transactions:
      keyTransactions?.map((transaction) => ({
        id: transaction.id,
        name: transaction.name,
        transaction_name: transaction.transactionName ?? null,
        application_id: transaction.applicationId ?? null,
        reporting: transaction.reporting ?? null,
      })) ?? null,
  };
}

/** Renders a list for `applications.include`. Names are comments, because ids survive a rename. */
function renderYaml({ account, applications }: Discovered): string {
  const entries = applications.map(({ application, hosts }) => {
    const { id, name, language, tags = [] } = application;
    const hostCount = hosts === undefined ? `${UNKNOWN} hosts` : counted(hosts.length, 'host');
    const comment = [name, language, stateOf(application), hostCount, ...tags.map(formatTag)].join(', ');
    return `- id: ${id} # ${escapeUnsafe(comment)}`;
  });
  const heading = `# account ${escapeUnsafe(account)}: under applications.include`;
  return [heading, ...(entries.length === 0 ? ['[]'] : entries), ''].join('\n');
}

function renderTables({ account, applications, keyTransactions, everything, hasInstances }: Discovered): string {
  const hasTags = applications.some(({ application }) => application.tags !== undefined);
  const names = new Map(applications.map(({ application }) => [application.id, application.name]));
  const unknown = everything ? '(not visible)' : '';
  const owner = (id?: number): readonly Cell[] => (id === undefined ? ['', ''] : [id, names.get(id) ?? unknown]);
  const applicationRows = applications.map(({ application, hosts, instances }): readonly Cell[] => [
    application.id,
    application.name,
    application.language ?? '',
    stateOf(application),
    application.healthStatus ?? '',
    hosts?.length ?? UNKNOWN,
    ...(hasInstances ? [instances?.length ?? UNKNOWN] : []),
    ...(hasTags ? [formatUserTags(application.tags ?? [])] : []),
  ]);
  const hostRows = applications.flatMap(({ application, hosts = [] }) =>
    // An interface without instances has no ids of hosts.
    hosts.map(({ key, host }) => [...(hasInstances ? [key] : []), host, ...owner(application.id)]),
  );
  const instanceRows = applications.flatMap(({ application, instances = [] }) =>
    instances.map(({ id, host, port }) => [id, host, port ?? '', ...owner(application.id)]),
  );
  const keyTransactionRows = (keyTransactions ?? []).map((each) => {
    return [each.id, each.name, each.transactionName ?? '', ...owner(each.applicationId)];
  });
  const more = [...(hasInstances ? ['INSTANCES'] : []), ...(hasTags ? ['TAGS'] : [])];
  const sections: readonly (readonly [string, readonly string[], readonly (readonly Cell[])[]])[] = [
    ['application', ['ID', 'NAME', 'LANGUAGE', 'STATE', 'HEALTH', 'HOSTS', ...more], applicationRows],
    ['host', [...(hasInstances ? ['ID'] : []), 'HOST', ...OWNER], hostRows],
    ['instance', ['ID', 'HOST', 'PORT', ...OWNER], instanceRows],
    ['key transaction', ['ID', 'NAME', 'TRANSACTION', ...OWNER], keyTransactionRows],
  ];
  return sections
    .filter(([what, , rows]) => rows.length > 0 || (everything && (what !== 'instance' || hasInstances)))
    .map(([what, headings, rows]) => {
      const heading = `Account ${escapeUnsafe(account)}: ${counted(rows.length, what)}\n`;
      return rows.length > 0 ? `${heading}${renderTable([headings, ...rows])}\n` : heading;
    })
    .join('\n');
}

function stateOf({ reporting }: Application): string {
  if (reporting === undefined) return 'unknown';
  return reporting ? 'reporting' : 'not reporting';
}

/** Runs `discover --accounts`: lists the accounts of entries with `account_ids`, exported or not. */
async function discoverAccounts(options: DiscoverOptions): Promise<void> {
  await runReadingCommand(options, async (context) => {
    const { account, format } = options;
    const { entries } = await readAccountLists(context);
    const found = [...entries].filter(([entry]) => account === undefined || account === entry);
    if (found.length === 0) {
      const missing = 'no entry of the configuration has account_ids: write "account_ids: all" in place of account_id';
      throw new UsageError(account === undefined ? missing : `there is no entry "${account}" with account_ids`);
    }
    const asJson = found.map(([entry, { verdicts, warnings }]) => {
      return { entry, warnings, accounts: verdicts.map(describeListed) };
    });
    if (format === 'json') context.print(renderJson({ entries: asJson }));
    else context.print(found.map(format === 'yaml' ? renderEntryYaml : renderEntryTable).join('\n'));
  });
}

type FoundEntry = readonly [entry: string, ExpandedEntry];

function renderEntryTable([entry, { verdicts, warnings }]: FoundEntry): string {
  const rows = verdicts.map(({ id, name, exportedAs, why }) => [id, name, exportedAs ?? `not exported: ${why}`]);
  const lines = [`Entry ${escapeUnsafe(entry)}: ${counted(verdicts.length, 'account')}`];
  if (rows.length > 0) lines.push(renderTable([['ID', 'NAME', 'EXPORTED AS'], ...rows]));
  return [...lines, ...warnings.map((text) => `Warning: ${escapeUnsafe(text)}`), ''].join('\n');
}

/** Renders the exported accounts for `include_accounts`. Other accounts are comments. */
function renderEntryYaml([entry, { verdicts }]: FoundEntry): string {
  const lines = verdicts.map(({ id, name, why }) =>
    why === undefined
      ? `- id: ${id} # ${escapeUnsafe(name)}`
      : `# - id: ${id} # ${escapeUnsafe(name)}, ${escapeUnsafe(why)}`,
  );
  return [`# entry ${escapeUnsafe(entry)}: under include_accounts`, ...lines, ''].join('\n');
}
