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
  readonly outcome: (kind: Kind) => Outcome;
}

const HARMLESS: Outcome = { kind: 'harmless' };
const LEAVES_OUT: Outcome = { kind: 'leaves_out' };
const fails = (reason: string) => (): Outcome => ({ kind: 'fails', reason });
/** Faults of pages are for lists; metric data have none. */
const onLists =
  (outcome: Outcome) =>
  (kind: Kind): Outcome =>
    kind === 'metric_data' ? HARMLESS : outcome;
/** Faults of figures are for bodies that have some: names have none. */
const onFigures =
  (outcome: Outcome) =>
  (kind: Kind): Outcome =>
    kind === 'metric_names' ? HARMLESS : outcome;
const INVALID: Outcome = { kind: 'fails', reason: 'invalid_response' };

const fault = (name: string, rule: FaultRuleInput, outcome: Fault['outcome']): Fault => ({ name, rule, outcome });
const status = (code: number, reason: string): Fault =>
  fault(`status ${code}`, { effect: 'status', status: code, body: '{"error":{"title":"No"}}' }, fails(reason));

/** Every fault of an answer. `elsewhere` is an address of another origin. */
export function answerFaults(elsewhere: string): readonly Fault[] {
  return [
    status(400, 'other'),
    status(404, 'not_found'),
    status(418, 'other'),
    status(422, 'other'),
    fault('401 that echoes the key', { effect: 'invalid-key' }, fails('auth')),
    fault('403 with a page', { effect: 'forbidden-page' }, fails('forbidden')),
    status(500, 'server'),
    status(501, 'server'),
    status(502, 'server'),
    fault('503 with Retry-After', { effect: 'unavailable', seconds: 1 }, fails('server')),
    fault('429 with Retry-After', rateLimit('retry-after'), fails('rate_limited')),
    fault('429 with X-RateLimit-Reset', rateLimit('reset'), fails('rate_limited')),
    fault('429 with the old reset header', rateLimit('old'), fails('rate_limited')),
    fault('429 with no header', { ...rateLimit('none'), times: 2 }, () => ({ kind: 'pauses', reason: 'rate_limited' })),
    fault('HTML with 200', { effect: 'html' }, fails('invalid_response')),
    fault('empty body', { effect: 'empty' }, fails('invalid_response')),
    fault('cut body', { effect: 'cut' }, fails('network')),
    fault('malformed JSON', { effect: 'malformed' }, fails('invalid_response')),
    fault('wrong shape', { effect: 'wrong-shape' }, fails('invalid_response')),
    fault('a bad record', { effect: 'bad-record' }, () => LEAVES_OUT),
    fault('null for numbers', { effect: 'nulls' }, onFigures(LEAVES_OUT)),
    fault('strings for numbers', { effect: 'strings' }, onFigures(LEAVES_OUT)),
    fault('numbers beyond any range', { effect: 'numbers', value: '1e999' }, onFigures(LEAVES_OUT)),
    fault('numbers at the end of the range', { effect: 'numbers', value: '1.7e308' }, onFigures({ kind: 'absurd' })),
    fault('numbers below zero', { effect: 'numbers', value: '-1' }, onFigures(LEAVES_OUT)),
    fault('50 MB body', { effect: 'huge', megabytes: 50 }, fails('too_large')),
    fault('slow drip', { effect: 'drip', milliseconds: 250, bytes: 8 }, fails('timeout')),
    fault('hang', { effect: 'hang' }, fails('timeout')),
    fault('reset', { effect: 'reset' }, fails('network')),
    fault('redirect to another origin', { effect: 'redirect', location: elsewhere }, fails('redirect')),
    fault('endless pages', { effect: 'endless-pages' }, onLists(INVALID)),
    fault('ids that repeat', { effect: 'repeat-ids' }, () => HARMLESS),
    fault('a next page that is the same', { effect: 'repeat-next' }, onLists(INVALID)),
  ];
}

function rateLimit(header: 'retry-after' | 'reset' | 'old' | 'none') {
  return { effect: 'rate-limit', header, seconds: 1 } as const;
}
