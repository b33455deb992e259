import { describe, expect, it } from 'vitest';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import type { Outcome } from '../../../src/api/upstreamReader.ts';
import { readAll } from '../support/reading.ts';
import { servicesOf, subjectsOf } from './goldenSubjects.ts';
import { metricDataOf, METRICS, RANGE } from './nerdGraphReading.ts';
import { edit, say, startBetween, type Between } from './proxy.ts';

const IDS = [1_000_001, 1_000_002, 1_000_003];
const SUBJECTS = IDS.map((applicationId) => ({ applicationId }));
const BUDGET = 'Your account has reached the cardinality budget';

type Read = (between: Between) => Promise<readonly Outcome<unknown>[]>;

const READS: Readonly<Record<string, Read>> = {
  'metric data': ({ reader, call }) => readAll(reader.metricData, metricDataOf(IDS), RANGE, call),
  'metric data of one application': ({ reader, call }) =>
    readAll(reader.metricData, metricDataOf(IDS.slice(0, 1)), RANGE, call),
  'metric data of a host': ({ reader, call }) =>
    readAll(reader.metricData, metricDataOf(IDS.slice(0, 1), 'storefront-1-01'), RANGE, call),
  'lists of hosts': ({ reader, call }) => readAll(reader.hosts, SUBJECTS, RANGE, call),
  'rolling values': ({ reader, call }) => readAll(reader.rolling!, SUBJECTS, RANGE, call),
  counters: ({ reader, call }) =>
    readAll(
      reader.counters,
      SUBJECTS.map((subject) => ({ ...subject, hostKey: undefined, metrics: METRICS })),
      RANGE,
      call,
    ),
  'rolling values of key transactions': async ({ reader, call }) => {
    const listed = await reader.listKeyTransactions({}, call);
    const subjects = listed.map(({ id }) => ({ keyTransactionId: id }));
    return readAll(reader.rolling!, subjects, RANGE, call);
  },
  'names of custom metrics': ({ reader, call }) =>
    readAll(
      reader.customNames,
      SUBJECTS.map((subject) => ({ ...subject, filters: ['Custom/'] })),
      RANGE,
      call,
    ),
  'golden metrics': async (between) =>
    readAll(between.reader.entities!.goldenMetrics, await servicesOf(between), RANGE, between.call),
  'golden metrics of events': async (between) => {
    const subjects = await subjectsOf(between, 'BROWSER-APPLICATION');
    return readAll(between.reader.entities!.goldenMetrics, subjects, RANGE, between.call);
  },
};

async function failuresWith(read: Read, message: string): Promise<readonly string[]> {
  const between = await startBetween({ applications: 3, hostsPerApplication: 2, keyTransactions: 3 });
  await between.reader.listApplications({}, between.call);
  between.fault = edit(({ metadata }) => (metadata.messages = [message]));
  const outcomes = await read(between);
  expect(outcomes.length).toBeGreaterThan(0);
  return outcomes.map((outcome) => ('error' in outcome ? outcome.error.message : 'no failure'));
}

describe('a message that makes every result of a batch incomplete', () => {
  it.each(Object.entries(READS))(
    'makes %s fail with the words of New Relic, and blames no subject',
    async (_, read) => {
      const cut = `Results may be incomplete ${'x '.repeat(40)}${DEMO_API_KEY}`;
      for (const message of [BUDGET, `Results may be incomplete for ${DEMO_API_KEY} ${'x'.repeat(300)}`, cut]) {
        for (const failure of await failuresWith(read, message)) {
          expect(failure).toContain(`New Relic reports an incomplete result: ${message.slice(0, 25)}`);
          expect(failure).toContain('(reason too_large)');
          expect(failure).not.toMatch(
            /too large for one query|exclude|leave it out|fewer|hosts: false|the most of New Relic/,
          );
          expect(failure).not.toContain(DEMO_API_KEY.slice(0, 12));
          expect(failure.length).toBeLessThan(350);
        }
      }
    },
  );

  it('leads to advice on what to leave out where it concerns the number of rows', async () => {
    for (const failure of await failuresWith(READS['metric data']!, 'Results limited to 10 rows')) {
      expect(failure).toContain(
        'leave it out (applications.exclude); New Relic reports an incomplete result: Results limited',
      );
    }
  });
});

it('a query that New Relic calls too big fails with these words, not with a number of rows', async () => {
  const between = await startBetween({ applications: 3, hostsPerApplication: 2, keyTransactions: 0 });
  between.fault = say('that query is a little too big');
  for (const outcome of await READS['metric data']!(between)) {
    const failure = 'error' in outcome ? outcome.error.message : 'no failure';
    expect(failure).toContain(
      'leave it out (applications.exclude); New Relic says that the query or its result is too big',
    );
  }
});
