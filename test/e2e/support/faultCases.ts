import type { FaultRuleInput } from '../../../src/simulator/faults/faultRules.ts';

/** The kinds of calls that are struck, with the group they are for and the path template they are counted under. */
export const KINDS = {
  applications: { group: 'applications', endpoint: '/applications.json' },
  key_transactions: { group: 'key_transactions', endpoint: '/key_transactions.json' },
  hosts: { group: 'hosts', endpoint: '/applications/{id}/hosts.json' },
  metric_names: { group: 'metric_names', endpoint: '/applications/{id}/metrics.json' },
  metric_data: { group: 'application_metrics', endpoint: '/applications/{id}/metrics/data.json' },
} as const;
export type Kind = keyof typeof KINDS;
export const ALL_KINDS: readonly Kind[] = ['applications', 'key_transactions', 'hosts', 'metric_names', 'metric_data'];

/** What a fault does to a call: it fails for a reason, a part of its answer is left out, or nothing. */
export type Outcome =
  | { readonly kind: 'fails'; readonly reason: string }
  /** It fails, and the whole account pauses, longer each time; it is struck a few times only. */
  | { readonly kind: 'pauses'; readonly reason: string }
  | { readonly kind: 'leaves_out' }
  | { readonly kind: 'harmless' }
  /** Absurd but possible figures: whatever comes of them must be finite. */
  | { readonly kind: 'absurd' };

export interface Fault {
  readonly name: string;
  readonly rule: FaultRuleInput;
  readonly outcome: Outcome;
}

const fails = (reason: string): Outcome => ({ kind: 'fails', reason });
const fault = (name: string, rule: FaultRuleInput, outcome: Outcome): Fault => ({ name, rule, outcome });
/**
 * A sample of the faults of an answer, one for each thing that can come of them; the tests of the reader have all of them.
 * `elsewhere` is an address of another origin.
 */
export function answerFaults(elsewhere: string): readonly Fault[] {
  return [
    fault('status 500', { effect: 'status', status: 500, body: '{"error":{"title":"No"}}' }, fails('server')),
    fault('401 that echoes the key', { effect: 'invalid-key' }, fails('auth')),
    fault('403 with a page', { effect: 'forbidden-page' }, fails('forbidden')),
    fault('429 with Retry-After', rateLimit('retry-after'), fails('rate_limited')),
    fault('429 with no header', { ...rateLimit('none'), times: 2 }, { kind: 'pauses', reason: 'rate_limited' }),
    fault('malformed JSON', { effect: 'malformed' }, fails('invalid_response')),
    fault('null for numbers', { effect: 'nulls' }, { kind: 'leaves_out' }),
    fault('numbers at the end of the range', { effect: 'numbers', value: '1.7e308' }, { kind: 'absurd' }),
    fault('ids that repeat', { effect: 'repeat-ids' }, { kind: 'harmless' }),
    fault('50 MB body', { effect: 'huge', megabytes: 50 }, fails('too_large')),
    fault('hang', { effect: 'hang' }, fails('timeout')),
    fault('reset', { effect: 'reset' }, fails('network')),
    fault('redirect to another origin', { effect: 'redirect', location: elsewhere }, fails('redirect')),
  ];
}

function rateLimit(header: 'retry-after' | 'reset' | 'old' | 'none') {
  return { effect: 'rate-limit', header, seconds: 1 } as const;
}
