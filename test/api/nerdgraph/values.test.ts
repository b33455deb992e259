import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildMetricData } from '../../../src/api/nerdgraph/metricData.ts';
import { calculateKeyTransaction, calculateRolling } from '../../../src/api/nerdgraph/rolling.ts';
import { mergeColumns, type Columns } from '../../../src/formulas/metricInputs.ts';
import { kindOf, NEED_SQUARES, VALUES, valuesOf as valuesOfRows } from '../../../src/formulas/valueFormulas.ts';
import { nerdgraphValuesOf } from '../../../src/metrics/customMetrics.ts';

const RANGE = { from: 1_795_095_300, to: 1_795_097_100 };

const row = (members: Columns = {}): Columns => ({
  ...{ count: 120, sum: 30, exclusive: 12, min: 0.1, max: 2, squares: 9 },
  ...members,
});

function valuesOf(
  name: string,
  rowColumns: Columns,
  rows: ReadonlyMap<string, Columns>,
  wanted: readonly string[] = [...VALUES[kindOf(name)].keys()],
): Readonly<Record<string, number>> {
  return valuesOfRows(name, wanted, new Map([...rows, [name, rowColumns]]), RANGE.to - RANGE.from);
}

describe('the values of a row', () => {
  it.each<[string, string, number]>([
    ['HttpDispatcher', 'average_response_time', 250],
    ['HttpDispatcher', 'average_call_time', 250],
    ['HttpDispatcher', 'average_exclusive_time', 100],
    ['HttpDispatcher', 'min_response_time', 100],
    ['HttpDispatcher', 'max_response_time', 2_000],
    ['HttpDispatcher', 'call_count', 120],
    ['HttpDispatcher', 'requests_per_minute', 4],
    ['OtherTransaction/all', 'calls_per_minute', 4],
    ['Errors/all', 'error_count', 120],
    ['Errors/all', 'errors_per_minute', 4],
    ['HttpDispatcher', 'total_call_time_per_minute', 1],
    ['Custom/x', 'count', 120],
    ['Custom/x', 'average_value', 0.25],
    ['Custom/x', 'total_value', 30],
    ['Custom/x', 'min_value', 0.1],
    ['Custom/x', 'max_value', 2],
    ['Custom/x', 'throughput', 120 / 1_800],
    ['Custom/x', 'rate', 30 / 1_800],
    ['Custom/x', 'percent', 25],
    ['Custom/x', 'as_percentage', 25],
    ['Custom/x', 'standard_deviation', 1_000 * Math.sqrt(9 / 120 - 0.0625)],
    ['CPU/User Time', 'percent', (100 * 30) / 1_800],
    ['Memory/Physical', 'used_mb_by_host', 0.25],
    ['Memory/Physical', 'total_used_mb', (0.25 * 60 * 90) / 1_800],
    ['Memory/Heap/Used', 'used_mb_by_host', 0.25],
    ['Memory/NonHeap/Max', 'used_bytes_by_host', 0.25 * 1024 * 1024],
    ['Custom/x', 'average_time', 250],
    ['Custom/x', 'total_time', 30_000],
    ['Custom/x', 'sessions_active', 0.25],
    ['Custom/x', 'total_visits', 30],
    ['Instance/Busy', 'utilization', (100 * 30) / 1_800],
    ['Custom/x', 'time_percentage', (100 * 30) / 1_800],
    ['Custom/x', 'visits_percentage', (100 * 30) / 1_800],
    ['Mobile/x', 'launch_count', 120],
    ['EndUser/x', 'average_app_time', 9 / 120],
    ['EndUser/x', 'total_network_time', 30 - 12 - 9],
    ['EndUser/x', 'total_queue_time', 12_000],
    ['EndUser/x', 'average_dom_content_load_time', 250],
    ['EndUser/x', 'total_dom_content_time', 30_000],
    ['EndUser/x', 'average_queue_time', 100],
    ['EndUser/x', 'total_app_time', 9],
    ['Browser/x', 'total_fe_time', 12],
    ['Browser/x', 'fe_time_percentage', (100 * 12) / 1_800],
    ['Browser/x', 'network_time_percentage', (30 - 12 - 9) / 1_800],
    ['Mobile/x', 'average_sent_bytes', 12_000],
    ['Mobile/x', 'average_received_bytes', 250],
    ['EndUser', 'average_fe_response_time', 100],
    ['EndUser', 'average_be_response_time', 150],
    ['EndUser', 'average_network_time', 75],
    ['Apdex', 's', 120],
    ['Apdex', 't', 30],
    ['Apdex', 'f', 12],
    ['Apdex', 'count', 162],
    ['Apdex', 'score', 135 / 162],
    ['EndUser/Apdex', 'value', 135 / 162],
    ['Apdex/Controller/x', 'threshold', 2],
    ['Apdex', 'threshold_min', 0.1],
  ])('%s has %s', (metric, value, expected) => {
    const signs = row({ count: 90 });
    const values = valuesOf(metric, row(), new Map([['Agent/MetricsReported/count', signs]]));
    expect(values[value]).toBeCloseTo(expected, 12);
  });

  it.each<[string, string, string, string, string]>([
    ['any metric', 'Custom/{x}', 'Custom/x', 'average_value', 'used_mb_by_host'],
    ['an Apdex metric', 'EndUser/Apdex/**', 'EndUser/Apdex/x', 'score', ''],
    ['browser metrics', 'EndUser', 'EndUser', 'average_fe_response_time', 'launch_count'],
    ['mobile metrics', 'Mobile/**', 'Mobile/Crash/All', 'total_fe_time', 'used_mb_by_host'],
    ['memory', 'Memory/*/Used', 'Memory/Heap/Used', 'used_mb_by_host', 'sessions_active'],
  ])(
    'include all values that a custom metric may read for %s, beside the usual ones',
    (_, match, metric, usual, unusual) => {
      const names = nerdgraphValuesOf(match);
      const values = valuesOf(metric, row(), new Map([['Agent/MetricsReported/count', row()]]));
      expect(names.all.filter((name) => values[name] === undefined)).toEqual([]);
      expect(names.all).toEqual(expect.arrayContaining([...names.usual]));
      expect(names.usual).toContain(usual);
      expect(names.usual).not.toContain(unusual);
    },
  );

  it.each(['HttpDispatcher', 'EndUser', 'Apdex', 'Memory/Physical', 'CPU/User Time'])(
    'are the same if only some of them are requested: %s',
    (metric) => {
      const rows = new Map([['Agent/MetricsReported/count', row({ count: 90 })]]);
      const wanted = ['percent', 'call_count', 'total_used_mb', 'f', 'average_fe_response_time', 'no such value'];
      const all = Object.entries(valuesOf(metric, row(), rows)).filter(([name]) => wanted.includes(name));
      expect(all).not.toEqual([]);
      expect(valuesOf(metric, row(), rows, wanted)).toEqual(Object.fromEntries(all));
    },
  );

  it('have no average without calls', () => {
    const values = valuesOf('HttpDispatcher', row({ count: 0, sum: 0, exclusive: 0 }), new Map());
    expect(values).toMatchObject({ call_count: 0, requests_per_minute: 0 });
    expect(Object.keys(values).filter((name) => name.startsWith('average'))).toEqual([]);
    expect(valuesOf('Apdex', row({ count: 0, sum: 0, exclusive: 0 }), new Map())['score']).toBeUndefined();
  });

  it('have no deviation for equal values, where rounding gives a number slightly below zero', () => {
    const values = valuesOf('Custom/x', row({ count: 4, sum: 1, squares: 0.25 - 1e-12 }), new Map());
    expect(values['standard_deviation']).toBe(0);
  });

  it('are finite numbers for any row', () => {
    const amount = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(
        fc.constantFrom('HttpDispatcher', 'Apdex', 'EndUser', 'Memory/Physical', 'CPU/User Time'),
        amount,
        amount,
        amount,
        (name, count, sum, exclusive) => {
          const values = valuesOf(name, row({ count, sum, exclusive }), new Map());
          expect(Object.values(values).every(Number.isFinite)).toBe(true);
        },
      ),
    );
  });
});

describe('the values that need the sum of squares', () => {
  it('are exactly the values that are absent without it', () => {
    const [whole, without] = [row(), row({ squares: undefined })];
    const missing = ['Custom/a', 'EndUser', 'Apdex'].flatMap((name) => {
      const rows = new Map([[name, whole]]);
      const all = Object.keys(valuesOf(name, whole, rows));
      return all.filter((value) => !Object.hasOwn(valuesOf(name, without, rows), value));
    });
    expect(new Set(missing)).toEqual(NEED_SQUARES);
  });
});

describe('the result for an application or a host', () => {
  it('has 0 for events that certainly did not happen, and only for these', () => {
    const names = ['HttpDispatcher', 'Errors/all', 'Apdex'];
    const { window, metrics } = buildMetricData({ names }, new Map([['Memory/Physical', row()]]), RANGE);
    expect([...metrics.keys()]).toEqual(['Memory/Physical', 'HttpDispatcher', 'Errors/all']);
    expect(metrics.get('Errors/all')).toMatchObject({ count: 0 });
    expect(window).toEqual(RANGE);
  });

  it('is empty for an application that does not report', () => {
    expect(buildMetricData({ names: ['HttpDispatcher'] }, new Map(), RANGE)).toEqual({
      window: RANGE,
      metrics: new Map(),
      datastores: [],
    });
  });

  it('has the datastores that it found, sorted, without their sum', () => {
    const rows = new Map(
      ['Datastore/b/allWeb', 'Datastore/allWeb', 'Datastore/a/allWeb', 'Datastore/a/b/allWeb'].map((name) => [
        name,
        row(),
      ]),
    );
    expect(buildMetricData({ names: [] }, rows, RANGE).datastores).toEqual([
      'Datastore/a/allWeb',
      'Datastore/b/allWeb',
    ]);
  });
});

describe('rows of consecutive times', () => {
  const amount = fc.integer({ min: 0, max: 1_000 });
  const rows = fc.array(
    fc.record({ count: amount, sum: amount, exclusive: amount, min: amount, max: amount, squares: amount }),
    {
      minLength: 1,
      maxLength: 30,
    },
  );

  it('add up to the row of one query over all of them', () => {
    fc.assert(
      fc.property(rows, (list) => {
        const merged = mergeColumns(list);
        const sum = (pick: (each: (typeof list)[number]) => number): number =>
          list.reduce((all, each) => all + pick(each), 0);
        expect(merged).toEqual({
          count: sum(({ count }) => count),
          sum: sum((each) => each.sum),
          exclusive: sum(({ exclusive }) => exclusive),
          min: Math.min(...list.map(({ min }) => min)),
          max: Math.max(...list.map(({ max }) => max)),
          squares: sum(({ squares }) => squares),
        });
      }),
    );
  });

  it('give no sum where one of them is unknown', () => {
    expect(mergeColumns([row(), row({ exclusive: undefined })]).exclusive).toBeUndefined();
  });
});

describe('rolling values', () => {
  it('are absent where their own denominator is 0, and only there', () => {
    const jobs = new Map([
      ['OtherTransaction/all', row({ count: 10 })],
      ['Errors/all', row({ count: 1 })],
    ]);
    expect(calculateRolling(jobs, 240).summary).toMatchObject({
      responseTime: undefined,
      requestRate: 0,
      errorRate: 0.1,
      apdexScore: undefined,
    });
    const quiet = new Map([['Agent/MetricsReported/count', row()]]);
    expect(calculateRolling(quiet, 240).summary).toMatchObject({
      responseTime: undefined,
      requestRate: 0,
      errorRate: undefined,
    });
    expect(calculateRolling(new Map(), 240).summary?.requestRate).toBeUndefined();
  });

  it('have times in seconds', () => {
    const values = calculateRolling(
      new Map([
        ['HttpDispatcher', row()],
        ['EndUser', row()],
      ]),
      240,
    );
    expect(values.summary).toMatchObject({ responseTime: 0.25, requestRate: 0.5 });
    expect(values.endUserSummary).toMatchObject({ responseTime: 0.25, requestRate: 0.5 });
  });

  it('of a silent key transaction are 0 requests while its application reports, and nothing else', () => {
    expect(calculateKeyTransaction(undefined, row(), true, 600).summary).toMatchObject({
      requestRate: 0,
      responseTime: undefined,
      errorRate: undefined,
      apdexScore: undefined,
    });
    expect(calculateKeyTransaction(undefined, undefined, false, 600).summary?.requestRate).toBeUndefined();
    expect(calculateKeyTransaction(row({ count: 60, sum: 30, exclusive: 3 }), row(), true, 600).summary).toMatchObject({
      requestRate: 0.1,
      responseTime: 0.5,
      errorRate: 0.05,
      apdexScore: 135 / 162,
    });
  });
});
