import type * as z from 'zod';
import type { Api } from '../api/upstreamReader.ts';
import { ENDINGS, INTERFACE_DEFAULTS } from './interfaces.ts';
import { counted } from '../text/wording.ts';
import type { account } from './schema/account.ts';
import type { collection } from './schema/file.ts';

/** The configuration with all defaults, under the keys of the file. Durations are milliseconds. */
export interface Config {
  readonly accounts: readonly AccountConfig[];
  readonly collection: CollectionConfig;
}

/** An account, or, with `account_ids`, an entry for several accounts (src/collect/accounts/expandAccounts.ts). */
export interface AccountConfig extends Readonly<z.output<typeof account>> {
  /** The entry with `account_ids` that created the account, and the name in New Relic. */
  readonly origin?: { readonly entry: string; readonly accountName: string };
}
export type CollectionConfig = Readonly<z.output<typeof collection>>;

/** 31 July 2027, when New Relic ends the REST interface; Unix seconds. */
const REST_END = 1_816_992_000;

/** Returns when New Relic ends the interface of an account, in Unix seconds; undefined if no end is known. */
export function endOfLife({ api, region }: Pick<AccountConfig, 'api' | 'region'>): number | undefined {
  if (api !== 'rest') return undefined;
  return region === undefined || region === 'us' || region === 'eu' ? REST_END : undefined;
}

/** Says when REST ends or ended, and what to do. `end` and `now` are Unix seconds. */
export function describeEnd(end: number, now: number): string {
  const day = new Date(end * 1000).toISOString().slice(0, 10);
  const days = Math.floor((end - now) / 86_400);
  const when = days < 0 ? `ended on ${day}` : `ends on ${day}, in ${counted(days, 'day')}`;
  return `REST, which New Relic ${when}: remove "api: rest" to read NerdGraph`;
}

/**
 * Returns the account with the interface `api`: its address and key header, no instances, at most its default
 * concurrency, and at least its default timeout.
 */
export function switchInterface(api: Api, account: AccountConfig): AccountConfig {
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
