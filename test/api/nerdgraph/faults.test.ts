import { describe, expect, it } from 'vitest';
import type { FailureReason, UpstreamError } from '../../../src/api/upstreamError.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { json } from '../support/testServer.ts';
import { metricDataOf, NOW, RANGE } from './nerdGraphReading.ts';
import { edit, startBetween, type Asked, type Between, type Fault } from './proxy.ts';
import { readAll } from '../support/reading.ts';

const WORLD = { applications: 3, hostsPerApplication: 2, keyTransactions: 2 };
const IDS = [1_000_001, 1_000_002, 1_000_003];

/** The reads with their calls and results, with a result for each outcome of a batch. */
interface Operation {
  readonly makes: (asked: Asked) => boolean;
  readonly run: (between: Between) => Promise<readonly unknown[]>;
}

const nrql =
  (...parts: readonly string[]) =>
  ({ nrql: text }: Asked): boolean =>
    parts.every((part) => text.includes(part));

const document =
  (part: string) =>
  ({ text }: Asked): boolean =>
    text.includes(part);

const MINUTES = (RANGE.to - 4 * 60) * 1000;

const OPERATIONS: Record<string, Operation> = {
  applications: {
    makes: document("type = 'APPLICATION'"),
    run: async ({ reader, call }) => [await reader.listApplications({}, call)],
  },
  'key transactions': {
    makes: document("type = 'KEY_TRANSACTION'"),
    run: async ({ reader, call }) => [await reader.listKeyTransactions({}, call)],
  },
  'metric data of applications': {
    makes: nrql(
      'FACET appId, metricTimesliceName',
      `SINCE ${RANGE.from * 1000} UNTIL`,
      "'WebTransactionTotalTime'",
      'MAX',
    ),
    run: ({ reader, call }) => readAll(reader.metricData, metricDataOf(IDS), RANGE, call),
  },
  'rolling values of applications': {
    makes: nrql('FACET appId, metricTimesliceName', `SINCE ${MINUTES} `),
    run: ({ reader, call }) =>
      readAll(
        reader.rolling!,
        IDS.map((applicationId) => ({ applicationId })),
        RANGE,
        call,
      ),
  },
  'the owners of key transactions': {
    makes: nrql(`SINCE ${(RANGE.to - 600) * 1000} `, 'FACET appId'),
    run: ({ reader, call }) => readAll(reader.rolling!, [{ keyTransactionId: 5_000_001 }], RANGE, call),
  },
  'metric names': {
    makes: nrql('uniques('),
    run: async ({ reader, call }) => [await reader.listMetricNames({ applicationId: IDS[0]!, name: 'allWeb' }, call)],
  },
};

const say =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Fault =>
  (response) => {
    json(response, body, headers, status);
    return true;
  };

const error = (message: string, extensions?: unknown, data: unknown = null): Fault =>
  say({ data, errors: [{ message, ...(extensions === undefined ? {} : { extensions }) }] });

/** Changes the good response, as an object. */
const change =
  (rewrite: (text: string) => string): Fault =>
  (response, _, good) => {
    json(response, rewrite(good));
    return true;
  };

/** Faults of the body. The table of `http` has the faults of any call. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'an empty object': say('{}'),
  'null data': say({ data: null }),
  'a null actor': say({ data: { actor: null } }),
  'null below the actor': say({ data: { actor: { account: null, entitySearch: null, entities: null } } }),
  'null below the account': say({
    data: { actor: { account: { nrql: null }, entitySearch: { count: 1, results: null } } },
  }),
  'lists in place of objects': say({ data: { actor: { account: { nrql: [] }, entitySearch: [], entities: {} } } }),
  'texts in place of lists': change((good) => good.replace(/"(results|entities)":[[{].*/s, '"$1":"many"}}}}}')),
  'an error beside good data': change((good) => good.replace(/}$/, ',"errors":[{"message":"odd","path":["actor"]}]}')),
  'a bad key in a 200': error(`key ${DEMO_API_KEY} is bad`, { error_code: 'BAD_API_KEY', api_key: DEMO_API_KEY }),
  'status 400, whose body says something else': say({ errors: [{ extensions: { errorClass: 'TIMEOUT' } }] }, 400),
  'status 403, whose body says something else': say({ errors: [{ extensions: { errorClass: 'TIMEOUT' } }] }, 403),
};
const REASONS: Partial<Record<string, FailureReason>> = {
  'a bad key in a 200': 'auth',
  'status 400, whose body says something else': 'other',
  'status 403, whose body says something else': 'forbidden',
};

/** The outcomes of a run, each as a value or as the reason of its failure. */
async function outcomesOf(run: Promise<readonly unknown[]>): Promise<readonly unknown[]> {
  try {
    return await run;
  } catch (failure) {
    return [{ error: failure }];
  }
}

describe('an overload reported in the body', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['without a header', {}, undefined],
    ['with Retry-After', { 'retry-after': '40' }, 40_000],
    ['with X-RateLimit-Reset', { 'x-ratelimit-reset': String(NOW / 1000 + 45) }, 45_000],
  ])('pauses as long as the headers say: %s', async (_, headers, waitMs) => {
    const between = await startBetween(WORLD);
    const body = { data: null, errors: [{ message: 'slow down', extensions: { errorClass: 'TOO_MANY_REQUESTS' } }] };
    between.fault = say(body, 200, headers);
    await outcomesOf(between.reader.listApplications({}, between.call));
    expect(between.notes.overloads).toEqual([{ waitMs }]);
  });
});

describe('a NerdGraph reader that meets a fault', () => {
  // Every fault strikes a list, data and names; a sample strikes the rest. Broken batches: failureMatrix.test.ts.
  const TABLE = ['applications', 'metric data of applications', 'metric names'];
  const SAMPLE = ['null below the account'];

  it.each(Object.entries(FAULTS))(
    '%s invents no values and recovers with the next good response',
    async (faultName, fault) => {
      const between = await startBetween(WORLD);
      await between.reader.listApplications({}, between.call);
      await between.reader.listKeyTransactions({}, between.call);
      const { run: runOther } = OPERATIONS['rolling values of applications']!;
      const operations = Object.entries(OPERATIONS);
      for (const [name, { makes, run }] of SAMPLE.includes(faultName)
        ? operations
        : operations.filter(([each]) => TABLE.includes(each))) {
        const good = await run(between);
        let struck = 0;
        between.fault = (response, asked, answer) => {
          if (!makes(asked)) return false;
          struck += 1;
          return fault(response, asked, answer);
        };
        for (const outcome of await outcomesOf(run(between))) {
          const failure = (outcome as { error?: UpstreamError }).error;
          expect(failure?.failure.reason, `${name}: ${JSON.stringify(outcome).slice(0, 200)}`).toBe(
            REASONS[faultName] ?? 'invalid_response',
          );
          expect(failure?.message).toMatch(/graphql:[a-z_]+: /);
        }
        expect(struck, name).toBeGreaterThan(0);
        if (name !== 'rolling values of applications')
          expect(JSON.stringify(await runOther(between))).not.toContain('error"');
        between.fault = undefined;
        expect(await run(between), name).toEqual(good);
      }
      expect(between.notes.places).toBe(0);
      expect(between.notes.overloads).toEqual([]);
      const told = JSON.stringify(between.notes);
      expect(told).not.toContain(DEMO_API_KEY);
      expect(told).not.toContain(DEMO_API_KEY.slice(5));
    },
  );
});

describe('a message of New Relic in a good response', () => {
  const saying = (messages: unknown): Fault => edit(({ metadata }) => Object.assign(metadata, { messages }));

  it('is reported once an hour for each endpoint, without the key, and the response is used', async () => {
    let minutes = 0;
    const between = await startBetween(WORLD, { monotonic: () => minutes * 60_000 });
    const { reader, call, notes } = between;
    const { run: readMetrics } = OPERATIONS['metric data of applications']!;
    const good = await readMetrics(between);
    between.fault = saying([`rolled up\nfor ${DEMO_API_KEY}`, 7, `${'x'.repeat(470)}${DEMO_API_KEY}`]);
    expect(await readMetrics(between)).toEqual(good);
    await readMetrics(between);
    await readAll(reader.hosts, [{ applicationId: IDS[0]! }], RANGE, call);
    const message = `rolled up for <secret>; ${'x'.repeat(470)}<secret>`.slice(0, 500);
    const ofMetrics = { endpoint: 'graphql:application_metrics', message };
    expect(notes.said).toEqual([ofMetrics, { endpoint: 'graphql:hosts', message }]);
    minutes = 61;
    await readMetrics(between);
    expect(notes.said.slice(2)).toEqual([ofMetrics]);
    expect(notes.failures).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['nothing', []],
    ['null', null],
    ['an empty text', ['  ']],
    ['a text in place of a list', 'rolled up'],
  ])('is not reported if it is %s', async (_, messages) => {
    const between = await startBetween(WORLD);
    between.fault = saying(messages);
    await OPERATIONS['metric data of applications']!.run(between);
    expect(between.notes.said).toEqual([]);
    expect(between.notes.failures).toEqual([]);
  });
});
