import type { Expansion } from '../collect/expandAccounts.ts';
import { UsageError } from '../cli/process.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { counted } from '../config/wording.ts';
import { escapeUnsafe } from '../log/logger.ts';
import { listedDocument } from '../web/statusPage/statusDocument.ts';
import { jsonText, table } from './terminal.ts';
import { withExpansion } from './upstream/session.ts';

/** The flags of `discover`. */
export interface DiscoverOptions extends CommonOptions {
  readonly format: 'table' | 'yaml' | 'json';
  /** Ids or exact names; without them and without key transactions, everything is listed. */
  readonly app?: readonly string[];
  readonly keyTransaction?: readonly number[];
  /** True to list the types of entities; a text for the entities of this type. */
  readonly entities?: true | string;
  /** True to list the accounts that keys see. */
  readonly accounts: boolean;
  /** Undefined: all accounts, or with `accounts` all entries. */
  readonly account?: string;
}

/** The command `discover --accounts`: every account that the keys of entries with `account_ids` list, and what becomes of it. */
export async function discoverAccounts(options: DiscoverOptions): Promise<void> {
  await withExpansion(options, ({ entries }, { print }) => {
    const found = [...entries].filter(([entry]) => options.account === undefined || options.account === entry);
    if (found.length === 0) {
      throw new UsageError(
        options.account === undefined
          ? 'no entry of the configuration has account_ids: write "account_ids: all" in place of account_id'
          : `there is no entry "${options.account}" with account_ids`,
      );
    }
    if (options.format === 'json') print(jsonText({ entries: found.map(asJson) }));
    else print(found.map(options.format === 'yaml' ? asYaml : asTable).join('\n'));
  });
}

type Found = Expansion['entries'] extends ReadonlyMap<infer Name, infer Entry> ? readonly [Name, Entry] : never;

function asJson([entry, { verdicts, warnings }]: Found): object {
  return { entry, warnings, accounts: verdicts.map(listedDocument) };
}

function asTable([entry, { verdicts, warnings }]: Found): string {
  const rows = verdicts.map(({ id, name, verdict }) => [
    id,
    name,
    'exportedAs' in verdict ? verdict.exportedAs : `not exported: ${verdict.why}`,
  ]);
  const lines = [`Entry ${escapeUnsafe(entry)}: ${counted(verdicts.length, 'account')}`];
  if (rows.length > 0) lines.push(table([['ID', 'NAME', 'EXPORTED AS'], ...rows]));
  return [...lines, ...warnings.map((text) => `Warning: ${escapeUnsafe(text)}`), ''].join('\n');
}

/** The exported accounts as entries of `include_accounts`; others are comments. */
function asYaml([entry, { verdicts }]: Found): string {
  const lines = verdicts.map(({ id, name, verdict }) =>
    'exportedAs' in verdict
      ? `- id: ${id} # ${escapeUnsafe(name)}`
      : `# - id: ${id} # ${escapeUnsafe(name)}, ${escapeUnsafe(verdict.why)}`,
  );
  return [`# entry ${escapeUnsafe(entry)}: under include_accounts`, ...lines, ''].join('\n');
}
