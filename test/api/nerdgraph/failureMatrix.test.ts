import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/api/upstreamReader.ts';
import type { Meaning } from '../../../src/api/nerdgraph/failures.ts';
import type { FailureReason } from '../../../src/api/types.ts';
import { metricDataOf, RANGE } from './nerdGraphReading.ts';
import { startBetween, type Between } from './proxy.ts';
import { readAll } from '../support/reading.ts';

const RETRIES = 2;

/** An error of each meaning; which errors mean it, the table of failures says. */
const ERRORS: readonly (readonly [meaning: Meaning, message: string, extensions?: Readonly<Record<string, string>>])[] =
  [
    ['rate_limited', 'Too many concurrent queries'],
    ['timeout', 'x', { errorClass: 'TIMEOUT' }],
    ['forbidden', 'x', { errorClass: 'ACCESS_DENIED' }],
    ['auth', 'x', { error_code: 'BAD_API_KEY' }],
    ['server', 'x', { errorClass: 'SERVER_ERROR' }],
    ['transient', 'Something went wrong while executing your query'],
    ['unmatched', 'No application was matched (did you specify appId, appName or entity.guid?)'],
    ['other', 'NRQL Syntax Error: Error at line 1 position 8'],
    ['invalid_response', 'odd'],
  ];

const CASES = ERRORS.map(([meaning, message, extensions]) => ({ meaning, message, extensions }));

const REASONS: Partial<Record<Meaning, FailureReason>> = { transient: 'server' };

/** How many queries it takes when each is answered so: of one subject, and of several. */
function queriesFor(meaning: Meaning, subjects: number): number {
  if (meaning === 'auth' || meaning === 'rate_limited') return 1;
  if (meaning === 'unmatched') return 2 * subjects - 1;
  const isRetried = ['timeout', 'server', 'transient'].includes(meaning);
  if (subjects === 1) return isRetried ? 1 + RETRIES : 1;
  // Of several, one is asked first and then another one; what passes is tried again as it is.
  return 3;
}

type Read = (between: Between, ids: readonly number[]) => Promise<readonly Outcome<unknown>[]>;

const OPERATIONS: Readonly<Record<string, Read>> = {
  'metric data': ({ reader, call }, ids) => readAll(reader.metricData, metricDataOf(ids), RANGE, call),
  'host lists': ({ reader, call }, ids) =>
    readAll(
      reader.hosts,
      ids.map((applicationId) => ({ applicationId })),
      RANGE,
      call,
    ),
  'rolling values': ({ reader, call }, ids) =>
    readAll(
      reader.rolling!,
      ids.map((applicationId) => ({ kind: 'application', applicationId }) as const),
      RANGE,
      call,
    ),
};

const IDS = Array.from({ length: 16 }, (_, index) => 1_000_001 + index);

/** Every error strikes metric data; the other queries, which fail in the same way, a sample. */
const SAMPLE: readonly Meaning[] = ['auth', 'transient', 'unmatched'];

describe.each(Object.entries(OPERATIONS))('every query for %s', (operation, read) => {
  it.each(CASES.filter(({ meaning }) => operation === 'metric data' || SAMPLE.includes(meaning)))(
    'that means $meaning ($message $extensions) fails with its reason, and costs the queries that can help',
    async ({ meaning, message, extensions }) => {
      for (const subjects of SAMPLE.includes(meaning) ? [1, 2, 16] : [1, 16]) {
        const between = await startBetween({ applications: 16, hostsPerApplication: 1 }, { maxRetries: RETRIES });
        await between.reader.listApplications({}, between.call);
        const before = between.asked.length;
        between.fault = (response) => {
          const error = extensions === undefined ? { message } : { message, extensions };
          response.end(JSON.stringify({ data: { actor: { account: { nrql: null } } }, errors: [error] }));
          return true;
        };
        const outcomes = await read(between, IDS.slice(0, subjects));
        const reasons = outcomes.map((outcome) => ('error' in outcome ? outcome.error.failure.reason : 'none'));
        const expected = meaning === 'unmatched' ? 'none' : (REASONS[meaning] ?? meaning);
        expect(new Set(reasons), `${subjects} subjects`).toEqual(new Set([expected]));
        expect(between.asked.length - before, `${subjects} subjects`).toBe(queriesFor(meaning, subjects));
      }
    },
  );
});
