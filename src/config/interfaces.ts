import { addressWith } from './addresses.ts';
import type { AccountConfig, Api } from './config.ts';

/** What an account has by default, depending on the interface that it is read through. */
export interface InterfaceDefaults {
  readonly api_key_header: AccountConfig['api_key_header'];
  /** Calls at once. */
  readonly max_concurrent_requests: number;
  /** Milliseconds. */
  readonly request_timeout: number;
}

/** NerdGraph answers one call about many applications: fewer calls, each of which takes longer. */
export const INTERFACE_DEFAULTS: Readonly<Record<Api, InterfaceDefaults>> = {
  rest: { api_key_header: 'X-Api-Key', max_concurrent_requests: 8, request_timeout: 10_000 },
  nerdgraph: { api_key_header: 'Api-Key', max_concurrent_requests: 5, request_timeout: 30_000 },
};

/**
 * The account as it is read through an interface. For the interface that it is configured for, this is the account
 * itself. For the other one: the address of the same place, the header of that interface, its limits where they are
 * more careful, and no instances.
 */
export function accountThrough(api: Api, account: AccountConfig): AccountConfig {
  if (account.api === api) return account;
  const { base_url, limits } = account;
  const defaults = INTERFACE_DEFAULTS[api];
  return {
    ...account,
    api,
    base_url: addressWith(api, base_url),
    api_key_header: defaults.api_key_header,
    instances: false,
    limits: {
      ...limits,
      max_concurrent_requests: Math.min(limits.max_concurrent_requests, defaults.max_concurrent_requests),
      request_timeout: Math.max(limits.request_timeout, defaults.request_timeout),
    },
  };
}
