import type { UpstreamReader } from '../api/reader.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import { customMetrics } from '../metrics/customFamilies.ts';
import type { AccountContext } from './inventory/context.ts';

/** A reader of one account and the key it uses. */
export interface AccountReader {
  readonly reader: UpstreamReader;
  /** Something that is another exactly when the key is another one; it is compared only and never shown. */
  keyMark(): string;
}

/** Opens the reader of an account. Throws when it cannot be opened. */
export type OpenReader = (account: AccountConfig, config: Config) => AccountReader;

/** An account of a new configuration with everything that could fail already built. */
export interface PreparedAccount {
  readonly opened: AccountReader;
  readonly context: AccountContext;
  readonly keyMark: string;
}

/**
 * Builds everything of a configuration that can fail. Throws what `openReader` throws, and then leaves nothing open.
 *
 * @param contextOf the context so far of the account of that name; undefined for a new one
 */
export function prepareAccounts(
  config: Config,
  openReader: OpenReader,
  contextOf: (name: string) => AccountContext | undefined,
): readonly PreparedAccount[] {
  const prepared: PreparedAccount[] = [];
  try {
    for (const account of config.accounts) {
      const families = sameOrNew(contextOf(account.name), account);
      const opened = openReader(account, config);
      const { reader } = opened;
      const context = { account, collection: config.collection, reader, customMetrics: families };
      prepared.push({ opened, context, keyMark: opened.keyMark() });
    }
    return prepared;
  } catch (error) {
    for (const { opened } of prepared) void opened.reader.close();
    throw error;
  }
}

/** The same families as before where they are defined alike, so that what is held and what is read next are of one. */
function sameOrNew(
  before: AccountContext | undefined,
  { custom_metrics }: AccountConfig,
): AccountContext['customMetrics'] {
  const unchanged = JSON.stringify(before?.account.custom_metrics) === JSON.stringify(custom_metrics);
  return before !== undefined && unchanged ? before.customMetrics : customMetrics(custom_metrics);
}
