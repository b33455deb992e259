import type { Config } from './config.ts';
import { formatDuration } from './duration.ts';
import type { Fault, Path } from './fault.ts';

/** NerdGraph gets the call's timeout less a second, and at least 5 seconds: below 7 seconds little is left for the network. */
const LEAST_NERDGRAPH_TIMEOUT = 7_000;

/** What the service allows per account and minute; only at its own addresses, for behind a `base_url` it may be more. */
const ALLOWED_PER_MINUTE = { rest: 1_000, nerdgraph: 3_000 };

/** What is allowed in a valid configuration but is likely a mistake, each at its place. */
export function warningsOf(config: Config, faultAt: (path: Path, message: string) => Fault): Fault[] {
  return config.accounts.flatMap(({ api, api_key_header, limits, region }, index) => {
    const warnings: Fault[] = [];
    const path = ['accounts', index];
    const allowed = ALLOWED_PER_MINUTE[api];
    if (region !== undefined && limits.requests_per_minute > allowed) {
      const message = `is more than the service allows an account, so it will refuse calls: set at most ${allowed}, less where others use the account`;
      warnings.push(faultAt([...path, 'limits', 'requests_per_minute'], message));
    }
    if (api !== 'nerdgraph') return warnings;
    if (api_key_header === 'X-Api-Key') {
      const message = 'NerdGraph takes its key in the header Api-Key: remove this key, or set it to Api-Key';
      warnings.push(faultAt([...path, 'api_key_header'], message));
    }
    if (limits.request_timeout < LEAST_NERDGRAPH_TIMEOUT) {
      const message = `is short for NerdGraph, whose queries take longer: set at least ${formatDuration(LEAST_NERDGRAPH_TIMEOUT)}`;
      warnings.push(faultAt([...path, 'limits', 'request_timeout'], message));
    }
    return warnings;
  });
}
