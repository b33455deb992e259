import { describe, expect, it } from 'vitest';
import type { Metric } from '../client.ts';
import { metricData, simulatorOfFile, NOW } from '../client.ts';
import type { Row } from './client.ts';
import { nrql, V, TO } from './client.ts';

const WINDOW_MINUTES = 5;
const W = WINDOW_MINUTES * 60;
const FROM = TO - W * 1000;
const PARAMETERS = {
  from: new Date(FROM).toISOString(),
  to: new Date(TO).toISOString(),
  summarize: 'true',
  raw: 'true',
};

/** The five columns of a row. */
interface Columns {
  readonly c: number;
  readonly t: number;
  readonly x: number;
  readonly mn: number;
  readonly mx: number;
}

/** How each value of the REST interface follows from a row; `agents` is the count of agents' reports. */
type ValueMap = Readonly<Record<string, (row: Columns, agents: number) => number>>;

const TIMER: ValueMap = {
  average_response_time: ({ c, t }) => (1000 * t) / c,
  call_count: ({ c }) => c,
  requests_per_minute: ({ c }) => (60 * c) / W,
  calls_per_minute: ({ c }) => (60 * c) / W,
  min_response_time: ({ mn }) => 1000 * mn,
  max_response_time: ({ mx }) => 1000 * mx,
  average_exclusive_time: ({ c, x }) => (1000 * x) / c,
  total_call_time_per_minute: ({ t }) => (60 * t) / W,
  average_value: ({ c, t }) => t / c,
};
const APDEX: ValueMap = {
  s: ({ c }) => c,
  t: ({ t }) => t,
  f: ({ x }) => x,
  count: ({ c, t, x }) => c + t + x,
  score: ({ c, t, x }) => (c + t / 2) / (c + t + x),
  threshold: ({ mx }) => mx,
  threshold_min: ({ mn }) => mn,
};
/** Every metric that a family of the exporter reads. */
const METRICS: Readonly<Record<string, ValueMap>> = {
  HttpDispatcher: { ...TIMER, average_call_time: ({ c, t }) => (1000 * t) / c },
  'OtherTransaction/all': TIMER,
  'WebFrontend/QueueTime': TIMER,
  WebTransactionTotalTime: TIMER,
  'Datastore/*/allWeb': TIMER,
  'Database/allWeb': TIMER,
  'ActiveRecord/all': TIMER,
  'Memcache/allWeb': TIMER,
  'External/allWeb': TIMER,
  'Errors/all': { error_count: ({ c }) => c, errors_per_minute: ({ c }) => (60 * c) / W },
  Apdex: APDEX,
  EndUser: {
    call_count: ({ c }) => c,
    average_response_time: ({ c, t }) => (1000 * t) / c,
    requests_per_minute: ({ c }) => (60 * c) / W,
    average_fe_response_time: ({ c, x }) => (1000 * x) / c,
  },
  'EndUser/Apdex': APDEX,
  'Memory/Physical': {
    used_mb_by_host: ({ c, t }) => t / c,
    total_used_mb: ({ c, t }, agents) => ((t / c) * 60 * agents) / W,
  },
  'CPU/User Time': { percent: ({ t }) => (100 * t) / W },
};

const mapOf = (name: string): ValueMap | undefined =>
  METRICS[name.replace(/^Datastore\/[^/]+\/allWeb$/, 'Datastore/*/allWeb')];

const simulator = await simulatorOfFile({ applications: 16, hostsPerApplication: 3, hostMetrics: 'all' });

/** The names to ask an application for, its datastore types among them. */
function namesOf(application: number): readonly string[] {
  const scope = simulator.world.scope({ application })!;
  return simulator.world
    .metrics(scope)
    .map(({ name }) => name)
    .filter((name) => mapOf(name) !== undefined || name === 'Agent/MetricsReported/count');
}

const rest = async (path: string, names: readonly string[]): Promise<readonly Metric[]> =>
  (await metricData(simulator, path, names, PARAMETERS)).metrics;

async function rowsOf(condition: string): Promise<ReadonlyMap<string, Columns>> {
  const { results } = await nrql(
    simulator,
    `SELECT count(${V}) AS c, sum(${V}) AS t, sum(${V}['totalExclusive']) AS x, min(${V}) AS mn, max(${V}) AS mx
     FROM Metric WHERE ${condition} FACET metricTimesliceName SINCE ${FROM} UNTIL ${TO} LIMIT MAX`,
  );
  return new Map(results.map((row: Row) => [row['facet'] as string, row as Row & Columns]));
}

/** Compares every value of every metric; gives how many there were, and the largest relative difference. */
function compare(metrics: readonly Metric[], rows: ReadonlyMap<string, Columns>): { compared: number; worst: number } {
  const agents = rows.get('Agent/MetricsReported/count')!.c;
  let compared = 0;
  let worst = 0;
  for (const { name, timeslices } of metrics) {
    const row = rows.get(name);
    const { values } = timeslices[0]!;
    if (row === undefined) {
      // The REST interface keeps zeros of what was silent.
      for (const [value, figure] of Object.entries(values)) if (!value.startsWith('threshold')) expect(figure).toBe(0);
      continue;
    }
    for (const [value, formula] of Object.entries(mapOf(name) ?? {})) {
      const [a, b] = [values[value]!, formula(row, agents)];
      expect(typeof a).toBe('number');
      worst = Math.max(worst, a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b)));
      compared += 1;
    }
  }
  return { compared, worst };
}

describe('one world through both interfaces', () => {
  it('gives the same values of every metric, for applications', async () => {
    const seen = new Set<string>();
    for (const { id, archetype } of simulator.world.applications()) {
      if (!archetype.reporting) continue;
      const names = namesOf(id);
      const metrics = await rest(`/applications/${id}`, names);
      const rows = await rowsOf(
        `appId = ${id} AND metricTimesliceName IN (${names.map((name) => `'${name}'`).join(', ')})`,
      );
      const { compared, worst } = compare(metrics, rows);
      expect(compared).toBeGreaterThan(5);
      expect(worst).toBeLessThanOrEqual(1e-9);
      for (const name of rows.keys()) {
        expect(metrics.map((metric) => metric.name)).toContain(name);
        seen.add(name.replace(/^Datastore\/[^/]+\/allWeb$/, 'Datastore/*/allWeb'));
      }
    }
    expect([...seen].sort()).toEqual([...Object.keys(METRICS), 'Agent/MetricsReported/count'].sort());
  });

  it('gives the same values of every metric, for hosts', async () => {
    for (const application of simulator.world.applications()) {
      // Two of its hosts share a name: NerdGraph cannot tell them apart.
      if (!application.archetype.reporting || application.archetype.hostsShareOneName) continue;
      const { id } = application;
      const names = namesOf(id);
      for (const host of simulator.world.hosts(application, NOW)) {
        const metrics = await rest(`/applications/${id}/hosts/${host.id}`, names);
        const rows = await rowsOf(`appId = ${id} AND host = '${host.host}'`);
        const { compared, worst } = compare(metrics, rows);
        // A host without a request in the window still has memory and processor time.
        expect(compared).toBeGreaterThanOrEqual(3);
        expect(worst).toBeLessThanOrEqual(1e-9);
      }
    }
  });
});
