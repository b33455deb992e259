import { addressWith, regionAddress } from '../../config/addresses.ts';
import type { AccountConfig, Api, Config } from '../../config/config.ts';
import { UsageError } from '../process/usageError.ts';

/** Which account is compared, from the flags. */
export interface PairOptions {
  /** Undefined: the only one of the configuration. */
  readonly account: string | undefined;
  /** The number of the account at the service; undefined: as configured. */
  readonly accountId: number | undefined;
}

/** What an account has where the configuration says nothing, by interface. */
const HEADERS: Readonly<Record<Api, AccountConfig['api_key_header']>> = { rest: 'X-Api-Key', nerdgraph: 'Api-Key' };
const NERDGRAPH_LIMITS = { concurrent: 5, timeout: 30_000 };

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
    accounts: [over('rest', same), over('nerdgraph', same)],
    collection: { ...config.collection, raw_values: true },
  };
}

function over(api: Api, account: AccountConfig): AccountConfig {
  if (account.api === api) return account;
  const { region, base_url, limits } = account;
  return {
    ...account,
    api,
    base_url: region === undefined ? addressWith(api, base_url) : regionAddress(api, region),
    api_key_header: HEADERS[api],
    limits:
      api === 'rest'
        ? limits
        : {
            ...limits,
            max_concurrent_requests: Math.min(limits.max_concurrent_requests, NERDGRAPH_LIMITS.concurrent),
            request_timeout: Math.max(limits.request_timeout, NERDGRAPH_LIMITS.timeout),
          },
  };
}
