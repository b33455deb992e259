import type { Config } from '../../config/config.ts';
import { accountThrough } from '../../config/interfaces.ts';
import { UsageError } from '../process/usageError.ts';

/** Which account is compared, from the flags. */
export interface PairOptions {
  /** Undefined: the only one of the configuration. */
  readonly account: string | undefined;
  /** The number of the account at the service; undefined: as configured. */
  readonly accountId: number | undefined;
}

/**
 * The configuration with one account twice: over REST, then over NerdGraph. Values are not rounded, so that what differs
 * does differ. Throws a UsageError when it is not clear which account is meant.
 */
export function pairOf(config: Config, { account: name, accountId }: PairOptions): Config {
  const named = name === undefined ? config.accounts : config.accounts.filter((account) => account.name === name);
  const [account, ...others] = named;
  const names = config.accounts.map((each) => each.name).join(', ');
  if (account === undefined) throw new UsageError(`there is no account "${name ?? ''}": the accounts are ${names}`);
  if (others.length > 0) throw new UsageError(`there are several accounts (${names}): say which with --account`);
  const same = { ...account, account_id: accountId ?? account.account_id };
  return {
    accounts: [accountThrough('rest', same), accountThrough('nerdgraph', same)],
    collection: { ...config.collection, raw_values: true },
  };
}
