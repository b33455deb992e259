import { describe, expect, it } from 'vitest';
import { planChunks } from '../../../src/tools/backfill/seriesChunks.ts';
import type {
  BatchRead,
  MetricDataResult,
  MetricDataSubject,
  RollingSubject,
} from '../../../src/api/upstreamReader.ts';
import type { Application, Host, KeyTransaction, RollingValues, Timeslice } from '../../../src/api/types.ts';
import { databaseKind } from '../../../src/formulas/responseTimes.ts';
import type { FamilyScope } from '../../../src/metrics/family.ts';
import type { Sample } from '../../../src/metrics/sample.ts';
import { listedFamilySamples } from '../../../src/metrics/listedFamilies.ts';
import { queryNames, windowSamples } from '../../../src/metrics/windowFamilies.ts';
import { known } from '../../../src/formulas/metricInputs.ts';
import type { Reading } from '../support/reading.ts';
import { METRICS, NAMES, NOW, RANGE, startBoth } from './nerdGraphReading.ts';
import { readAll as readSubjects, readOne, valueOf } from '../support/reading.ts';

const SAME = 1e-9;
const NO_ROLLING: RollingValues = { summary: undefined, endUserSummary: undefined };

/** What one interface has, by series. */
type Series = ReadonlyMap<string, number>;

async function readAll<S, A>(
  { call }: Reading,
  read: BatchRead<S, A> | undefined,
  subjects: readonly S[],
): Promise<readonly A[]> {
  if (read === undefined) throw new Error('the reader does not have it');
  return (await readSubjects(read, subjects, RANGE, call)).map(valueOf);
}

function keyOf(entity: string, { family, labels }: Sample): string {
  return `${family.name} ${entity} ${JSON.stringify(labels ?? {})}`;
}

/** The window samples of applications, or of their hosts by name, as the collector calculates them. */
async function windowSeries(
  reading: Reading,
  applications: readonly Application[],
  scope: FamilyScope,
): Promise<Series> {
  const { reader } = reading;
  const subjects: { subject: MetricDataSubject; application: Application; entity: string }[] = [];
  for (const application of applications) {
    const { id: applicationId } = application;
    const found = await (reader.datastores === undefined
      ? [[]]
      : readAll(reading, reader.datastores, [{ applicationId }]));
    const metrics = { names: queryNames(found[0] ?? []) };
    if (scope === 'application') {
      subjects.push({
        subject: { applicationId, hostKey: undefined, metrics },
        application,
        entity: String(applicationId),
      });
      continue;
    }
    for (const { key, host } of await readOne(reader.hosts, { applicationId }, reading.call, RANGE)) {
      subjects.push({
        subject: { applicationId, hostKey: key, metrics },
        application,
        entity: `${applicationId} ${host}`,
      });
    }
  }
  const answers = await readAll(
    reading,
    reader.metricData,
    subjects.map(({ subject }) => subject),
  );
  return new Map(
    answers.flatMap((answer, index) => {
      const { application, entity } = subjects[index]!;
      return windowsOf(answer, application, scope).map((sample) => [keyOf(entity, sample), sample.value] as const);
    }),
  );
}

function windowsOf({ window, metrics }: MetricDataResult, { language }: Application, scope: FamilyScope): Sample[] {
  const values = { seconds: window.to - window.from, metrics };
  return windowSamples(scope, values, databaseKind(values, language, 'auto'));
}

/** What both have and how far it is apart at most, and what only one of them has. */
function compare(rest: Series, nerdGraph: Series, tolerance = SAME) {
  const both = [...rest.keys()].filter((key) => nerdGraph.has(key));
  const differences = both.map((key) => ({ key, ...difference(rest.get(key)!, nerdGraph.get(key)!) }));
  const without = (a: Series, b: Series) =>
    [...a].filter(([key]) => !b.has(key)).map(([key, value]) => ({ key, value }));
  const only = (a: Series, b: Series): string[] =>
    [...new Set(without(a, b).map(({ key }) => key.split(' ')[0]!))].sort();
  return {
    compared: both.length,
    families: new Set(both.map((key) => key.split(' ')[0])).size,
    apart: differences.filter(({ relative }) => relative > tolerance),
    most: Math.max(...differences.map(({ relative }) => relative)),
    alone: [...without(rest, nerdGraph), ...without(nerdGraph, rest)],
    onlyRest: only(rest, nerdGraph),
    onlyNerdGraph: only(nerdGraph, rest),
  };
}

function difference(rest: number, nerdGraph: number) {
  const larger = Math.max(Math.abs(rest), Math.abs(nerdGraph));
  return { rest, nerdGraph, relative: larger === 0 ? 0 : Math.abs(rest - nerdGraph) / larger };
}

/** Every case of the simulator's world, with metrics of all kinds for hosts. */
const WORLD = { applications: 16, hostsPerApplication: 3, keyTransactions: 8, hostMetrics: 'all' } as const;

/** Both readers with the applications that they list. */
async function listBoth() {
  const both = await startBoth(WORLD);
  const list = async ({ reader, call }: Reading) => await reader.listApplications({}, call);
  return { both, applications: { rest: await list(both.rest), nerdGraph: await list(both.nerdGraph) } };
}

/** The one application of the world with two hosts of one name: NerdGraph cannot tell them apart. */
const SHARED_NAME = '1000006 search-6-01';

function withoutSharedName(series: Series): Series {
  return new Map([...series].filter(([key]) => !key.includes(` ${SHARED_NAME} `)));
}

describe('both interfaces over one world', () => {
  // Alone are zeros that REST keeps for what was once collected, and zeros that follow from the signs of life.
  it.each([
    [
      'application',
      252,
      20,
      ['apdex_requests', 'apdex_threshold_seconds', 'component_calls_per_second', 'component_time_seconds'],
      [],
    ],
    ['host', 635, 15, undefined, ['error_ratio', 'errors_per_second']],
  ] as const)('have the same window metrics of each %s', async (scope, compared, families, onlyRest, onlyNerdGraph) => {
    const { both, applications } = await listBoth();
    const rest = withoutSharedName(await windowSeries(both.rest, applications.rest, scope));
    const nerdGraph = withoutSharedName(await windowSeries(both.nerdGraph, applications.nerdGraph, scope));
    const result = compare(rest, nerdGraph);
    expect(result.apart).toEqual([]);
    expect(result.compared).toBe(compared);
    expect(result.families).toBe(families);
    const named = (names: readonly string[]): string[] => names.map((name) => `newrelic_${scope}_${name}`);
    if (onlyRest !== undefined) expect(result.onlyRest).toEqual(named(onlyRest));
    const rates = ['non_web_requests_per_second', 'web_requests_per_second'];
    expect(result.onlyNerdGraph).toEqual(named([...onlyNerdGraph, ...rates]));
    expect(result.alone.filter(({ value }) => value !== 0 && value !== 0.5)).toEqual([]);
  });

  it('have the same state of applications, as far as NerdGraph has it', async () => {
    const { applications } = await listBoth();
    const stateOf = (list: readonly Application[], rolling?: RollingValues): Series =>
      new Map(
        list.flatMap((each) =>
          listedFamilySamples('applications', each, rolling).map(
            (sample) => [keyOf(String(each.id), sample), sample.value] as const,
          ),
        ),
      );
    const result = compare(stateOf(applications.rest), stateOf(applications.nerdGraph, NO_ROLLING), 0.01);
    expect(result.apart).toEqual([]);
    const families = (names: readonly string[]): string[] =>
      names.map((name) => name.replace('newrelic_application_', ''));
    expect(families(result.onlyRest).filter((name) => !name.includes('rolling'))).toEqual([
      'hosts',
      'info',
      'instances',
      'last_reported_timestamp_seconds',
      'real_user_monitoring_enabled',
      'settings_end_user_apdex_threshold_seconds',
    ]);
    expect(families(result.onlyNerdGraph)).toEqual([
      'info',
      'rolling_apdex_target_seconds',
      'rolling_hosts',
      'rolling_instances',
    ]);
  });

  it('have rolling values of NerdGraph that are the sums of the last 4 minutes', async () => {
    const { both, applications } = await listBoth();
    const metrics = { names: NAMES };
    const subjects = applications.rest.map(({ id }) => ({ applicationId: id, hostKey: undefined, metrics }));
    const range = { from: RANGE.to - 240, to: RANGE.to };
    const sums = (await readSubjects(both.rest.reader.metricData, subjects, range, both.rest.call)).map(valueOf);
    const rolling = await readAll(
      both.nerdGraph,
      both.nerdGraph.reader.rolling,
      subjects.map(({ applicationId }): RollingSubject => ({ applicationId })),
    );
    let compared = 0;
    for (const [index, { summary, endUserSummary }] of rolling.entries()) {
      const of = (name: string) => sums[index]!.metrics.get(name);
      const calls = (name: string): number => of(name)?.count ?? 0;
      const requests = calls('HttpDispatcher') + calls('OtherTransaction/all');
      const expected = [
        [
          summary?.responseTime,
          calls('HttpDispatcher') > 0 ? of('HttpDispatcher')!.sum! / calls('HttpDispatcher') : undefined,
        ],
        [summary?.requestRate, requests > 0 ? calls('HttpDispatcher') / 240 : summary?.requestRate],
        [summary?.errorRate, requests > 0 ? calls('Errors/all') / requests : undefined],
        [summary?.apdexScore, known(of('Apdex')?.score ?? NaN)],
        [endUserSummary?.responseTime, calls('EndUser') > 0 ? of('EndUser')!.sum! / calls('EndUser') : undefined],
        [
          endUserSummary?.apdexTarget,
          known(of('EndUser/Apdex')?.score ?? NaN) === undefined ? undefined : of('EndUser/Apdex')!.max,
        ],
        [endUserSummary?.apdexScore, known(of('EndUser/Apdex')?.score ?? NaN)],
      ];
      for (const [nerdGraph, rest] of expected) {
        if (rest === undefined) expect(nerdGraph).toBeUndefined();
        else expect(nerdGraph).toBeCloseTo(rest, 9);
        compared += 1;
      }
    }
    expect(compared).toBe(16 * 7);
  });

  it('list the same key transactions, and rolling values close to each other', async () => {
    const { both } = await listBoth();
    const rest = await both.rest.reader.listKeyTransactions({}, both.rest.call);
    const nerdGraph = await both.nerdGraph.reader.listKeyTransactions({}, both.nerdGraph.call);
    const identity = (list: readonly KeyTransaction[]): unknown =>
      list.map(({ id, name, transactionName, applicationId }) => ({ id, name, transactionName, applicationId }));
    expect(identity(nerdGraph)).toEqual(identity(rest));
    const rolling = await readAll(
      both.nerdGraph,
      both.nerdGraph.reader.rolling,
      nerdGraph.map(({ id }): RollingSubject => ({ keyTransactionId: id })),
    );
    const samples = (list: readonly KeyTransaction[], values: readonly RollingValues[]): Series =>
      new Map(
        list.flatMap((each, index) =>
          listedFamilySamples('key_transactions', each, values[index]).map(
            (sample) => [keyOf(String(each.id), sample), sample.value] as const,
          ),
        ),
      );
    // The time base differs by some minutes, and errors are few.
    const result = compare(samples(rest, []), samples(nerdGraph, rolling), 0.25);
    expect(result.apart).toEqual([]);
    expect(result.compared).toBeGreaterThan(70);
  });

  it('have the same hosts by name', async () => {
    const { both, applications } = await listBoth();
    const subjects = applications.rest.map(({ id }) => ({ applicationId: id }));
    const rest = await readAll(both.rest, both.rest.reader.hosts, subjects);
    const nerdGraph = await readAll(both.nerdGraph, both.nerdGraph.reader.hosts, subjects);
    const names = (hosts: readonly Host[]): string[] => [...new Set(hosts.map(({ host }) => host))].sort();
    expect(nerdGraph.map(names)).toEqual(rest.map(names));
    expect(nerdGraph.flat().every(({ key, host }) => key === host)).toBe(true);
    expect(nerdGraph[0]?.[0]?.language).toBe('ruby');
  });

  it('answer a window of the past alike, minute by minute as in one', async () => {
    const { both, applications } = await listBoth();
    const { reader, call } = both.nerdGraph;
    const window = { from: RANGE.to - 7_200, to: RANGE.to - 5_400 };
    let compared = 0;
    for (const hostKey of [undefined, 'storefront-1-01']) {
      const subjects = (hostKey === undefined ? applications.nerdGraph : applications.nerdGraph.slice(0, 1)).map(
        ({ id }) => ({ applicationId: id, hostKey, metrics: METRICS }),
      );
      const [chunk] = planChunks({ from: window.to, to: RANGE.to }, 1_800, NOW / 1000, reader.metricSeries.limits);
      const series = (await readSubjects(reader.metricSeries, subjects, chunk!, call)).map(valueOf);
      const summarized = (await readSubjects(reader.metricData, subjects, window, call)).map(valueOf);
      for (const [index, { metrics, granule }] of series.entries()) {
        const inside = new Map(
          metrics.map(([name, slices]) => [
            name,
            slices.filter(({ from, to }) => from >= window.from && to <= window.to),
          ]),
        );
        const stored = JSON.parse(JSON.stringify([...inside])) as [string, Timeslice[]][];
        const merged = reader.metricSeries.summarize(
          new Map(stored.filter(([, list]) => list.length > 0)),
          window,
          granule,
        );
        expect(merged.datastores).toEqual(summarized[index]!.datastores);
        expect([...merged.metrics.keys()].sort()).toEqual([...summarized[index]!.metrics.keys()].sort());
        expect(merged.window).toEqual(window);
        for (const [name, columns] of summarized[index]!.metrics) {
          const again = new Map(Object.entries(merged.metrics.get(name)!));
          if (name === 'Agent/MetricsReported/count') continue;
          for (const [column, number] of Object.entries(columns)) {
            if (typeof number !== 'number') continue;
            expect(difference(number, again.get(column) as number).relative, `${name}:${column}`).toBeLessThan(SAME);
            compared += 1;
          }
        }
      }
    }
    expect(compared).toBeGreaterThan(300);
  });

  it('list the same metric names that an application reported within a day', async () => {
    const { both } = await listBoth();
    const namesOf = async ({ reader, call }: Reading): Promise<string[]> =>
      (await reader.listMetricNames({ applicationId: 1_000_001, name: '/allweb' }, call)).names.map(({ name }) => name);
    const nerdGraph = await namesOf(both.nerdGraph);
    const rest = new Set(await namesOf(both.rest));
    expect(nerdGraph).toContain('Datastore/MySQL/allWeb');
    expect(nerdGraph.filter((name) => !rest.has(name))).toEqual([]);
    expect(nerdGraph).toEqual([...nerdGraph].sort());
  });
});
