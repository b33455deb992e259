import type { MinuteSeries } from '../api/upstreamReader.ts';
import { isAbout, secondsOf } from '../api/types.ts';
import { METRIC, type Columns } from '../formulas/metricInputs.ts';
import { createRow, calculateSamples, type FamilySpec, type Labels, type Sample } from './family.ts';
import { ZONES } from './windowFamilies.ts';
import { MINUTE_S } from '../formulas/units.ts';

/** Maximum of calls, errors or seconds in a minute. A larger value is wrong, and would stop a counter from growing. */
const LARGEST_VALUE = 1e12;

interface Counted {
  readonly labels: Labels;
  readonly metric: string;
  readonly column: 'count' | 'sum' | 'exclusive';
}

const COUNTERS: readonly (FamilySpec & { readonly series: readonly Counted[] })[] = [
  {
    suffix: 'transactions_total',
    meaning: 'Transactions, web and non-web by kind',
    source: 'HttpDispatcher and OtherTransaction/all: call_count of each minute',
    labelNames: ['kind'],
    series: [
      { labels: { kind: 'web' }, metric: METRIC.web, column: 'count' },
      { labels: { kind: 'non_web' }, metric: METRIC.nonWeb, column: 'count' },
    ],
  },
  {
    suffix: 'transaction_errors_total',
    meaning: 'Errors of web and non-web transactions',
    source: 'Errors/all: error_count of each minute',
    series: [{ labels: {}, metric: METRIC.errors, column: 'count' }],
  },
  {
    suffix: 'web_transaction_seconds_total',
    meaning:
      'Seconds spent on web transactions, without queueing; divided by the rate of web transactions it is their mean time',
    source: 'HttpDispatcher: call_count * average_response_time / 1000 of each minute',
    series: [{ labels: {}, metric: METRIC.web, column: 'sum' }],
  },
  {
    suffix: 'apdex_transactions_total',
    meaning: 'Web transactions by Apdex zone',
    source: 'Apdex: s, t and f of each minute',
    labelNames: ['zone'],
    series: ZONES.map(({ column, labels }) => ({ labels, metric: METRIC.apdex, column })),
  },
];

/** All counted columns. The values of a minute and the counters have the same order. */
export const COUNTED: readonly Counted[] = COUNTERS.flatMap(({ series }) => series);

export const TRANSACTION_VALUES = 2;

export const COUNTER_METRICS: readonly string[] = [...new Set(COUNTED.map(({ metric }) => metric))];

/** The values of one minute in the order of `COUNTED`; `broken` if they are unreadable. */
export type CountedMinute = readonly number[] | 'broken';

/**
 * Reads the values of each minute in the window of a response, by start of the minute (Unix seconds). A timeslice
 * longer than a minute breaks its minutes in the window.
 */
export function readCountedMinutes({ window, metrics }: MinuteSeries): Map<number, CountedMinute> {
  const minutes = new Map<number, number[] | 'broken'>();
  for (const name of COUNTER_METRICS) {
    for (const { from, to, columns } of metrics.get(name) ?? []) {
      if (!isAbout(window, { from, to })) continue;
      const isMinute = from % MINUTE_S === 0 && secondsOf({ from, to }) === MINUTE_S;
      if (isMinute) {
        const values = minutes.get(from) ?? COUNTED.map(() => 0);
        minutes.set(from, values);
        if (values === 'broken' || addColumns(name, columns, values)) continue;
      }
      const first = Math.max(window.from, from - (from % MINUTE_S));
      for (let minute = first; minute < Math.min(to, window.to); minute += MINUTE_S) minutes.set(minute, 'broken');
    }
  }
  return minutes;
}

/** Adds the columns of a metric to a minute. Returns false if a column is missing, negative or too large. */
function addColumns(name: string, columns: Columns, minute: number[]): boolean {
  for (const [index, { metric, column }] of COUNTED.entries()) {
    if (metric !== name) continue;
    const counted = columns[column] ?? NaN;
    if (!(counted >= 0 && counted <= LARGEST_VALUE)) return false;
    minute[index] = counted;
  }
  return true;
}

export const COUNTER_FAMILIES = COUNTERS.map(({ series, ...spec }) =>
  createRow('newrelic_application', 'counters', 'counter', {
    ...spec,
    calculate: (totals: ArrayLike<number>) =>
      series.map((counted) => ({ labels: counted.labels, value: totals[COUNTED.indexOf(counted)] })),
  }),
);

/** @param totals the counters of an application, in the order of `COUNTED` */
export function counterSamples(totals: ArrayLike<number>): Sample[] {
  return calculateSamples(COUNTER_FAMILIES, totals);
}
