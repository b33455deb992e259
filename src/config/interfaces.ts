import type { Api } from '../api/upstreamReader.ts';

export const REGIONS = ['us', 'eu', 'gov', 'jp'] as const;

/** Hosts of New Relic by region, as in its client library "newrelic-client-go". */
const REGION_HOSTS = {
  us: 'https://api.newrelic.com',
  eu: 'https://api.eu.newrelic.com',
  gov: 'https://gov-api.newrelic.com',
  jp: 'https://api.jp.newrelic.com',
};

export const ENDINGS: Readonly<Record<Api, string>> = { rest: '/v2', nerdgraph: '/graphql' };

/** New Relic's limit of calls per account and minute. A proxy at a `base_url` may allow more. */
export const ALLOWED_PER_MINUTE: Readonly<Record<Api, number>> = { rest: 1_000, nerdgraph: 3_000 };

const LOOPBACK = /^(?:localhost|127\.[0-9]+\.[0-9]+\.[0-9]+|\[::1\])$/;

/** Returns the address of an interface in a region, such as `https://api.eu.newrelic.com/v2`. */
export function regionAddress(api: Api, region: (typeof REGIONS)[number]): string {
  return `${REGION_HOSTS[region]}${ENDINGS[api]}`;
}

/**
 * Returns the address, ending in `/v2` (REST) or `/graphql` (NerdGraph). Problems never quote it, because it may
 * contain a password. `isOther` means that the user may want the other interface.
 */
export function normaliseBaseUrl(
  text: string,
  api: Api,
): { readonly url: string } | { readonly problem: string; readonly isOther?: boolean } {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    return { problem: `is not an address such as ${regionAddress(api, 'us')}` };
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    return { problem: 'must not carry a user name or password: keys belong in api_key or api_key_file' };
  }
  if (/[?#]/.test(text)) return { problem: 'must not have a query or a fragment: remove everything from ? or # on' };
  if (url.protocol !== 'https:' && !LOOPBACK.test(url.hostname)) {
    return { problem: 'must begin with https://, plain http is for loopback addresses only: it would show the key' };
  }
  const address = `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`;
  if (api === 'nerdgraph') {
    if (address.endsWith('/graphql')) return { url: address };
    return { problem: 'must end in /graphql: it is the whole address of NerdGraph', isOther: true };
  }
  if (address.endsWith('/graphql')) {
    return { problem: 'ends in /graphql, which is the address of NerdGraph: remove "api: rest", or remove /graphql' };
  }
  return { url: address.endsWith('/v2') ? address : `${address}/v2` };
}

/** A NerdGraph call covers many applications: fewer calls run at once, with a longer timeout (milliseconds). */
export const INTERFACE_DEFAULTS = {
  rest: { api_key_header: 'X-Api-Key', max_concurrent_requests: 8, request_timeout: 10_000 },
  nerdgraph: { api_key_header: 'Api-Key', max_concurrent_requests: 5, request_timeout: 30_000 },
} as const;
