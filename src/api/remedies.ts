import type { FailureReason } from './upstreamError.ts';

/** The remedy for an operator when an account cannot be read, by the reason of the failure (docs/errors.md, "Failed calls"). */
export const REMEDIES: Readonly<Record<FailureReason, string>> = {
  auth: 'the key must be a user key (it begins with NRAK-) that is still valid, and "region" that of its account: us, eu, gov or jp',
  forbidden:
    "look at the permissions of the key's user: it needs access to the account, and account_id must be one that it sees",
  not_found: 'look whether base_url is the address of New Relic',
  rate_limited: "lower limits.requests_per_minute, and find what else uses the account's limit",
  timeout:
    'look at the network and the proxy between the exporter and New Relic; a longer limits.request_timeout may help',
  network:
    'look at DNS, the proxy settings (HTTPS_PROXY) and the way to New Relic; tls.ca_file names an authority of your own',
  server: 'New Relic itself fails: look at its status page, and wait',
  redirect: 'correct base_url: the key is never sent to the address that it leads to',
  invalid_response: "look whether a proxy answers in New Relic's place",
  too_large: 'look what answers at this address: the response is larger than any of New Relic',
  other: 'correct what the message names; where it names nothing of yours, report it with these words',
};
