import type { Answer } from './answer.ts';

const DOCUMENTATION =
  'https://docs.newrelic.com/docs/apis/rest-api-v2/requirements/api-overload-protection-preventing-429-errors';

/** The 429 of an account that made too many calls; `reset` in Unix seconds. */
export function limited(limit: number, reset: number): Answer {
  return {
    status: 429,
    body: {},
    headers: {
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(reset),
      'X-RateLimit-Docs': DOCUMENTATION,
    },
  };
}
