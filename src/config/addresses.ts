export const REGIONS = ['us', 'eu', 'gov', 'jp'] as const;

export type Region = (typeof REGIONS)[number];

/** Base addresses of the service by region (the vendor's own client library names the same four). */
export const REGION_ADDRESSES: Readonly<Record<Region, string>> = {
  us: 'https://api.newrelic.com/v2',
  eu: 'https://api.eu.newrelic.com/v2',
  gov: 'https://gov-api.newrelic.com/v2',
  jp: 'https://api.jp.newrelic.com/v2',
};

const LOOPBACK = /^(?:localhost|127\.[0-9]+\.[0-9]+\.[0-9]+|\[::1\])$/;

/**
 * A base address with its `/v2` added where it is missing. Problems never quote the address: it may carry a
 * password. Plain http is for loopback addresses only, because the key travels with every call (contract 2).
 */
export function normaliseBaseUrl(text: string): { readonly url: string } | { readonly problem: string } {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    return { problem: 'is not an address such as https://api.newrelic.com/v2' };
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    return { problem: 'must not carry a user name or password: keys belong in api_key or api_key_file' };
  }
  if (/[?#]/.test(text)) return { problem: 'must not have a query or a fragment: remove everything from ? or # on' };
  if (url.protocol !== 'https:' && !LOOPBACK.test(url.hostname)) {
    return { problem: 'must begin with https://, plain http is for loopback addresses only: it would show the key' };
  }
  const path = url.pathname.replace(/\/+$/, '');
  return { url: `${url.origin}${path.endsWith('/v2') ? path : `${path}/v2`}` };
}
