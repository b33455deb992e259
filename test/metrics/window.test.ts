import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { databaseKind, type DatabaseChoice } from '../../src/formulas/derivedValues.ts';
import type { WindowValues } from '../../src/formulas/metricInputs.ts';
import { FAMILIES } from '../../src/metrics/catalogue.ts';
import type { Sample } from '../../src/metrics/family.ts';
import { allInColumns } from '../support/restColumns.ts';
import { queryNames, WINDOW_FAMILIES, windowSamples } from '../../src/metrics/windowFamilies.ts';

type Values = Readonly<Record<string, Readonly<Record<string, number>>>>;

const DATASTORES = ['Datastore/MySQL/allWeb', 'Datastore/Redis/allWeb'];
const NAMES = queryNames(DATASTORES);
const CHOICES = ['datastore', 'database', 'active_record', 'none', undefined] as const;

const windowOf = (values: Values, seconds = 1800): WindowValues => ({
  seconds,
  metrics: allInColumns(values, seconds),
});

/** Samples by series, written as `family{label="value"}`. */
const written = (samples: readonly Sample[]): Record<string, number> =>
  Object.fromEntries(samples.map((sample) => [keyOf(sample), sample.value]));

const keyOf = ({ family, labels }: Sample): string =>
  family.name +
  Object.entries(labels ?? {})
    .map(([name, value]) => `{${name}=${value}}`)
    .join('');

const without = <T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));

const EVERYTHING: Values = {
  HttpDispatcher: {
    call_count: 1000,
    average_call_time: 100,
    average_response_time: 95,
    requests_per_minute: 33.3,
    min_response_time: 1,
  },
  'WebFrontend/QueueTime': { call_count: 500, average_response_time: 20 },
  WebTransactionTotalTime: { call_count: 1000, average_response_time: 120 },
  'Datastore/MySQL/allWeb': { call_count: 4000, average_response_time: 5 },
  'Datastore/Redis/allWeb': { call_count: 900, average_response_time: 10 },
  'Database/allWeb': { call_count: 4900, average_response_time: 6 },
  'ActiveRecord/all': { call_count: 4900, average_response_time: 6 },
  'Memcache/allWeb': { call_count: 2000, average_response_time: 1 },
  'External/allWeb': { call_count: 300, average_response_time: 100 },
  'OtherTransaction/all': { call_count: 250, requests_per_minute: 8.33 },
  'Errors/all': { error_count: 25 },
  Apdex: { score: 0.9, s: 850, t: 100, f: 50, count: 1000, threshold: 0.5, threshold_min: 0.4 },
  EndUser: { call_count: 724, average_response_time: 2110 },
  'EndUser/Apdex': { score: 0.85, s: 550, t: 130, f: 44, count: 724, threshold: 7 },
  'Memory/Physical': { total_used_mb: 2048, used_mb_by_host: 512 },
  'CPU/User Time': { percent: 150 },
};

const expected = (scope: 'application' | 'host'): Record<string, number> => {
  const values = {
    response_time_seconds: 0.11,
    web_transaction_time_seconds: 0.095,
    queue_time_seconds: 0.01,
    'component_time_seconds{component=Datastore/MySQL}': 0.02,
    'component_calls_per_second{component=Datastore/MySQL}': 4000 / 1800,
    'component_time_seconds{component=Datastore/Redis}': 0.009,
    'component_calls_per_second{component=Datastore/Redis}': 0.5,
    'component_time_seconds{component=Memcache}': 0.002,
    'component_calls_per_second{component=Memcache}': 2000 / 1800,
    'component_time_seconds{component=External}': 0.03,
    'component_calls_per_second{component=External}': 300 / 1800,
    total_time_seconds: 0.059,
    web_requests_per_second: 0.555,
    non_web_requests_per_second: 8.33 / 60,
    error_ratio: 0.02,
    errors_per_second: 25 / 1800,
    apdex_score: 0.9,
    apdex_threshold_seconds: 0.5,
    'apdex_requests{zone=satisfied}': 850,
    'apdex_requests{zone=tolerating}': 100,
    'apdex_requests{zone=frustrated}': 50,
    end_user_response_time_seconds: 2.11,
    end_user_page_views_per_second: 724 / 1800,
    end_user_apdex_score: 0.85,
    end_user_apdex_threshold_seconds: 7,
    'end_user_apdex_requests{zone=satisfied}': 550,
    'end_user_apdex_requests{zone=tolerating}': 130,
    'end_user_apdex_requests{zone=frustrated}': 44,
    memory_used_bytes: scope === 'application' ? 2_147_483_648 : 536_870_912,
    cpu_usage_ratio: 1.5,
  };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`newrelic_${scope}_${name}`, value]));
};

function expectSame(actual: Record<string, number>, wanted: Record<string, number>): void {
  expect(Object.keys(actual).sort()).toEqual(Object.keys(wanted).sort());
  for (const [key, value] of Object.entries(wanted)) expect(actual[key], key).toBeCloseTo(value, 12);
}

describe('windowSamples', () => {
  it.each(['application', 'host'] as const)('gives every family of the %s scope', (scope) => {
    const samples = windowSamples(scope, windowOf(EVERYTHING), 'datastore');
    expectSame(written(samples), expected(scope));
    const families = FAMILIES.filter(({ group }) => group === `${scope}_metrics`);
    expect(new Set(samples.map(({ family }) => family))).toEqual(new Set(families));
    for (const { family, labels } of samples) expect(Object.keys(labels ?? {})).toEqual(family.labelNames);
  });

  it.each([
    ['datastore', ['Datastore/MySQL', 'Datastore/Redis', 'Memcache', 'External'], 0.059],
    ['database', ['Database', 'Memcache', 'External'], 0.0586],
    ['active_record', ['ActiveRecord', 'Memcache', 'External'], 0.0586],
    ['none', ['Memcache', 'External'], 0.088],
  ] as const)('publishes and subtracts only the database kind in use: %s', (choice, components, total) => {
    const samples = windowSamples('application', windowOf(EVERYTHING), choice);
    const named = (name: string) => samples.filter(({ family }) => family.name === `newrelic_application_${name}`);
    expect(named('component_time_seconds').map(({ labels }) => labels?.['component'])).toEqual(components);
    expect(named('component_calls_per_second').map(({ labels }) => labels?.['component'])).toEqual(components);
    expect(named('total_time_seconds')[0]?.value).toBeCloseTo(total, 12);
  });

  it.each([
    ['Datastore/all/allWeb', 'Datastore/all'],
    ['Datastore/allWeb/allWeb', 'Datastore/allWeb'],
  ])('strips only the last part of the name of the metric %s', (metric, component) => {
    const everything = { ...EVERYTHING, [metric]: { call_count: 10, average_response_time: 1 } };
    const labels = windowSamples('application', windowOf(everything), 'datastore').map((sample) => sample.labels);
    expect(labels).toContainEqual(expect.objectContaining({ component }));
  });

  it('gives no components and no total time while the database kind is unknown', () => {
    const names = Object.keys(written(windowSamples('host', windowOf(EVERYTHING), undefined)));
    const wanted = Object.keys(expected('host')).filter((name) => !/component|total_time/.test(name));
    expect(names.sort()).toEqual(wanted.sort());
  });

  it('gives no samples without any data', () => {
    for (const scope of ['application', 'host'] as const) {
      for (const choice of CHOICES) expect(windowSamples(scope, windowOf({}), choice)).toEqual([]);
    }
  });

  it('gives rates and counts of 0, and no averages, for a window without requests', () => {
    const zeros = Object.fromEntries(
      NAMES.map((name) => [name, Object.fromEntries(Object.keys(EVERYTHING[name]!).map((v) => [v, 0]))]),
    );
    const samples = windowSamples('application', windowOf(zeros), databaseKind(windowOf(zeros), 'go', 'auto'));
    const counted = /_per_second|apdex_(?:threshold|requests)|memory_used|cpu_usage/;
    const wanted = Object.keys(expected('application')).filter((name) => counted.test(name));
    expect(wanted).not.toEqual([]);
    expect(written(samples)).toEqual(Object.fromEntries(wanted.map((name) => [name, 0])));
  });

  it('takes a missing Errors/all as no errors for an application with requests, and as unknown for a host', () => {
    const values = windowOf({ HttpDispatcher: { call_count: 10 } });
    const samplesIn = (scope: 'application' | 'host') => written(windowSamples(scope, values, undefined));
    expect(samplesIn('application')['newrelic_application_error_ratio']).toBe(0);
    expect(samplesIn('application')['newrelic_application_errors_per_second']).toBe(0);
    expect(Object.keys(samplesIn('host')).filter((name) => name.includes('error'))).toEqual([]);
  });

  it.each([
    [
      'HttpDispatcher',
      /_host_web_requests|_(queue_time|web_transaction|response_time|component_time|total_time|error_ratio)/,
    ],
    ['WebFrontend/QueueTime', /_(queue_time|host_response_time)/],
    ['WebTransactionTotalTime', /_total_time/],
    ['Datastore/Redis/allWeb', /_total_time|Redis/],
    ['External/allWeb', /_total_time|External/],
    ['Errors/all', /_error/],
    ['OtherTransaction/all', /_(non_web_requests|error_ratio)/],
  ])('publishes nothing that depends on an unreadable %s', (name, needs) => {
    const unreadable = windowOf({ ...EVERYTHING, [name]: {} });
    const found = Object.keys(written(windowSamples('host', unreadable, 'datastore')));
    const wanted = Object.keys(expected('host')).filter((series) => !needs.test(series) || /end_user/.test(series));
    expect(found.sort()).toEqual(wanted.sort());
  });
});

/** Any subset of the keys, each with a value from its own generator. */
function subset<T>(keys: readonly string[], make: (key: string) => fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  const entries = keys.map((key) =>
    fc.option(
      make(key).map((value): [string, T] => [key, value]),
      { nil: undefined },
    ),
  );
  return fc.tuple(...entries).map((found) => Object.fromEntries(found.filter((entry) => entry !== undefined)));
}

/** Any subset of the metrics, each with any subset of its values. */
const anyValues = (value: fc.Arbitrary<number>): fc.Arbitrary<Values> =>
  subset(NAMES, (name) => subset(Object.keys(EVERYTHING[name]!), () => value));

const count = fc.integer({ min: 0, max: 1_000_000 });
const scopes = fc.constantFrom('application' as const, 'host' as const);
const choices = fc.constantFrom(...CHOICES);
/** Families with times per request, by whether the number of web requests is a factor. */
const TIMES = /_(?:response|web_transaction|queue|component|total)_time_seconds$/;

describe('windowSamples of any values', () => {
  it('are finite, also for huge values', () => {
    const huge = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(scopes, anyValues(huge), choices, (scope, values, choice: DatabaseChoice | undefined) => {
        for (const sample of windowSamples(scope, windowOf(values), choice))
          expect(sample.value).toSatisfy(Number.isFinite);
      }),
      { numRuns: 1000 },
    );
  });

  it('have component times and a total time that add up to the total of upstream', () => {
    const positive = fc.double({ min: 0.001, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(scopes, anyValues(count), positive, choices, (scope, values, total, choice) => {
        fc.pre(choice !== undefined);
        const whole: Values = {
          ...values,
          HttpDispatcher: { ...values['HttpDispatcher'], call_count: 17 },
          WebTransactionTotalTime: { average_response_time: total },
        };
        const samples = windowSamples(scope, windowOf(whole), choice);
        const parts = samples.filter(({ family: { name } }) => /_(component|total)_time_seconds$/.test(name));
        // Absent where a component cannot be read.
        if (!parts.some(({ family: { name } }) => name.endsWith('_total_time_seconds'))) return;
        const sum = parts.reduce((seconds, { value }) => seconds + value, 0);
        const scale = Math.max(total / 1000, ...parts.map(({ value }) => Math.abs(value)));
        expect(Math.abs(sum - total / 1000)).toBeLessThanOrEqual(1e-9 * scale);
      }),
    );
  });

  it('keep their times when all counts are scaled', () => {
    fc.assert(
      fc.property(scopes, anyValues(count), fc.integer({ min: 2, max: 1000 }), choices, (scope, values, k, choice) => {
        const scaled = Object.fromEntries(
          Object.entries(values).map(([name, found]) => {
            const calls = found['call_count'];
            return [name, calls === undefined ? found : { ...found, call_count: calls * k }];
          }),
        );
        const times = (from: Values) =>
          windowSamples(scope, windowOf(from), choice).filter(({ family }) => TIMES.test(family.name));
        const before = times(values);
        const after = times(scaled);
        expect(after.map(keyOf)).toEqual(before.map(keyOf));
        // Relative to the greatest time, because a small difference of large times has a large error.
        const greatest = Math.max(0, ...before.map(({ value }) => Math.abs(value)));
        for (const [index, { value }] of before.entries()) {
          expect(Math.abs((after[index]?.value ?? NaN) - value)).toBeLessThanOrEqual(1e-9 * greatest);
        }
      }),
    );
  });

  it('have no average per request without web requests', () => {
    fc.assert(
      fc.property(scopes, anyValues(count), fc.constantFrom(0, undefined), choices, (scope, values, calls, choice) => {
        const web = without(values['HttpDispatcher'] ?? {}, 'call_count');
        const HttpDispatcher = calls === undefined ? web : { ...web, call_count: calls };
        const samples = windowSamples(scope, windowOf({ ...values, HttpDispatcher }), choice);
        const times = samples
          .map(({ family }) => family.name)
          .filter((name) => TIMES.test(name) && !name.includes('end_user'));
        expect(times).toEqual([]);
      }),
    );
  });

  it('never repeat a series', () => {
    fc.assert(
      fc.property(scopes, anyValues(count), choices, (scope, values, choice) => {
        const keys = windowSamples(scope, windowOf(values), choice).map(keyOf);
        expect(new Set(keys).size).toBe(keys.length);
      }),
    );
  });
});

describe('windowSamples without one metric', () => {
  it.each([
    ['WebFrontend/QueueTime', ['queue_time_seconds']],
    ['WebTransactionTotalTime', []],
    [
      'Memcache/allWeb',
      ['component_time_seconds{component=Memcache}', 'component_calls_per_second{component=Memcache}'],
    ],
    ['OtherTransaction/all', ['non_web_requests_per_second']],
    ['Errors/all', ['error_ratio', 'errors_per_second']],
    ['EndUser', ['end_user_response_time_seconds', 'end_user_page_views_per_second']],
    ['Memory/Physical', ['memory_used_bytes']],
    ['CPU/User Time', ['cpu_usage_ratio']],
  ] as const)('lack only the families of %s', (name, lost) => {
    const keys = new Set(Object.keys(written(windowSamples('host', windowOf(without(EVERYTHING, name)), 'datastore'))));
    expect(Object.keys(expected('host')).filter((key) => !keys.has(key))).toEqual(
      lost.map((key) => `newrelic_host_${key}`),
    );
  });
});

describe('queryNames', () => {
  const MYSQL = 'Datastore/MySQL/allWeb';
  const namesOf = (
    scope: 'application' | 'host',
    has: (row: { readonly interfaces: readonly string[] }) => boolean,
  ) => [...new Set(WINDOW_FAMILIES[scope].filter(has).flatMap(({ reads }) => reads)), MYSQL];
  const REST = namesOf('application', () => true);

  it('asks for all metrics of the agents, and for one metric of each family', () => {
    expect(REST).toEqual(expect.arrayContaining(['HttpDispatcher', 'Errors/all', 'Apdex', 'EndUser', 'CPU/User Time']));
    expect(Object.keys(EVERYTHING)).toEqual(expect.arrayContaining(REST));
  });

  it('asks for each metric of the formulas once, datastore types last', () => {
    expect(queryNames(['Datastore/MySQL/allWeb'])).toEqual(REST);
    expect(queryNames(['Datastore/MySQL/allWeb'], 'application', 'nerdgraph')).toEqual(REST);
  });

  it('asks for the same of a host over REST, and for no browser metrics over NerdGraph', () => {
    expect(queryNames(['Datastore/MySQL/allWeb'], 'host')).toEqual(REST);
    const ofHost = REST.filter((name) => !name.startsWith('EndUser'));
    expect(queryNames(['Datastore/MySQL/allWeb'], 'host', 'nerdgraph')).toEqual(ofHost);
  });
});
