import type * as z from 'zod';
import type { Api } from '../api/upstreamReader.ts';
import { ENDINGS, INTERFACE_DEFAULTS } from './interfaces.ts';
import { counted } from '../text/wording.ts';
import type { account } from './schema/account.ts';
import type { collection } from './schema/file.ts';

/** The configuration with every default filled in, under the keys of the file; durations are milliseconds. */
export interface Config {
  readonly accounts: readonly AccountConfig[];
  readonly collection: CollectionConfig;
}

/** An account, or with `account_ids` an entry that stands for several (src/collect/accounts/expandAccounts.ts). */
export interface AccountConfig extends Readonly<z.output<typeof account>> {
  /** The entry with `account_ids` that it was made from, and New Relic's name of it; undefined for one of the file. */
  readonly origin?: { readonly entry: string; readonly accountName: string };
}
export type CollectionConfig = Readonly<z.output<typeof collection>>;

/** 31 July 2027, when New Relic ends the REST interface; Unix seconds. */
const REST_END = 1_816_992_000;

/** The time when New Relic ends the interface of an account, in Unix seconds; undefined where no end is known. */
export function endOfLife({ api, region }: Pick<AccountConfig, 'api' | 'region'>): number | undefined {
  if (api !== 'rest') return undefined;
  return region === undefined || region === 'us' || region === 'eu' ? REST_END : undefined;
}

/** That REST ends, or ended, at `end`, and what then; both are Unix seconds. */
export function describeEnd(end: number, now: number): string {
  const day = new Date(end * 1000).toISOString().slice(0, 10);
  const days = Math.floor((end - now) / 86_400);
  const when = days < 0 ? `ended on ${day}` : `ends on ${day}, in ${counted(days, 'day')}`;
  return `REST, which New Relic ${when}: without "api: rest" NerdGraph is read`;
}

/**
 * The account as it is read through the given interface: unchanged for its configured one. For the other one it has the address
 * and the key's header of that interface, at most its concurrency, at least its timeout, and no instances.
 */
export function accountThrough(api: Api, account: AccountConfig): AccountConfig {
  if (account.api === api) return account;
  const { base_url, limits } = account;
  const defaults = INTERFACE_DEFAULTS[api];
  return {
    ...account,
    api,
    base_url: `${base_url.replace(/\/(?:v2|graphql)$/, '')}${ENDINGS[api]}`,
    api_key_header: defaults.api_key_header,
    instances: false,
    limits: {
      ...limits,
      max_concurrent_requests: Math.min(limits.max_concurrent_requests, defaults.max_concurrent_requests),
      request_timeout: Math.max(limits.request_timeout, defaults.request_timeout),
    },
  };
}
