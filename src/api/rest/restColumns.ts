import { isList, isObject, parseTime, type Json, type Discarded } from '../http/validation.ts';
import { secondsOf, type Timeslice } from '../types.ts';
import { CallFailure } from '../upstreamError.ts';
import type { TimeRange } from '../upstreamReader.ts';
import { isApdex, finiteOrUndefined, METRIC, type Columns } from '../../formulas/metricInputs.ts';

/** A timeslice in the units of the REST interface: milliseconds, rates per minute, percent, megabytes. */
export interface RestTimeslice extends Pick<Timeslice, 'from' | 'to'> {
  readonly values: Readonly<Record<string, number>>;
}

export type MetricTimeslices = ReadonlyMap<string, readonly Timeslice[]>;

/** False for a timeslice without any column. */
export function isKnown({ columns }: Timeslice): boolean {
  return Object.keys(columns).length > 0;
}

/** Converts a timeslice to columns, with the wanted values. Returns no columns for a timeslice without values. */
export function toColumns(metric: string, timeslice: RestTimeslice, wanted?: readonly string[]): Columns {
  const { values } = timeslice;
  if (Object.keys(values).length === 0) return {};
  if (wanted !== undefined) {
    const wantedValues = Object.entries(values).filter(([name]) => wanted.includes(name));
    return { ...toColumns(metric, timeslice), values: Object.fromEntries(wantedValues) };
  }
  if (isApdex(metric)) {
    const { s = NaN, t = NaN, f = NaN, count = s + t + f, score = NaN, threshold = NaN } = values;
    // Without a count of requests, a score of 0 may mean that there were no requests.
    const isVerdict = Number.isNaN(count) ? score !== 0 : count > 0;
    return {
      count: finiteOrUndefined(s),
      sum: finiteOrUndefined(t),
      exclusive: finiteOrUndefined(f),
      max: finiteOrUndefined(threshold),
      score: isVerdict ? score : NaN,
    };
  }
  // `percent` is the share of the time that all processes together spent on a processor.
  if (metric === METRIC.cpu)
    return { sum: finiteOrUndefined(((values['percent'] ?? NaN) / 100) * secondsOf(timeslice)) };
  if (metric === METRIC.memory) return { memory: values['total_used_mb'], processMemory: values['used_mb_by_host'] };
  const {
    average_response_time: average = NaN,
    average_call_time: callTime = NaN,
    requests_per_minute: rate = NaN,
    [metric === METRIC.errors ? 'error_count' : 'call_count']: count = NaN,
  } = values;
  return {
    count: finiteOrUndefined(count),
    // Without calls, the mean time may be absent.
    sum: count === 0 ? 0 : finiteOrUndefined((count * average) / 1000),
    callTime: callTime === 0 ? undefined : finiteOrUndefined(callTime / 1000),
    mean: Number.isNaN(count) ? finiteOrUndefined(average / 1000) : undefined,
    rate: rate === 0 && count > 0 ? undefined : finiteOrUndefined(rate / 60),
  };
}

/** Converts timeslices by metric. `wanted`: by metric, names of the values that custom metrics read. */
export function convertTimeslices(
  data: ReadonlyMap<string, readonly RestTimeslice[]>,
  wanted?: ReadonlyMap<string, readonly string[]>,
): MetricTimeslices {
  return new Map(
    Array.from(data, ([name, timeslices]) => [
      name,
      timeslices.map((each) => ({ from: each.from, to: each.to, columns: toColumns(name, each, wanted?.get(name)) })),
    ]),
  );
}

/** Names of counts and durations. Only custom metrics may have negative values under these names. */
const NEVER_NEGATIVE = new Set([
  ...['call_count', 'count', 'error_count', 'calls_per_minute', 'requests_per_minute', 'errors_per_minute'],
  ...['s', 't', 'f', 'score', 'threshold', 'threshold_min'],
  ...['average_response_time', 'average_call_time', 'percent', 'used_mb_by_host', 'total_used_mb'],
]);

const NO_VALUES: RestTimeslice['values'] = Object.freeze({});

/**
 * Parses the timeslices of a response, oldest first, without a schema: this is by far the most frequent response. An
 * unusable metric gets one timeslice without values over the requested range. It is unknown; a missing metric would
 * mean 0.
 */
export function parseMetricData(
  body: unknown,
  range: TimeRange,
  discarded: Discarded,
): ReadonlyMap<string, readonly RestTimeslice[]> {
  const data = isObject(body) ? body['metric_data'] : undefined;
  if (!isObject(data) || !isList(data['metrics'])) {
    throw new CallFailure('invalid_response', 'the response has no "metric_data" with "metrics"');
  }
  const list = data['metrics'];
  // Parse each time once: the timeslices of a response share a few times.
  const times = new Map<string, number | undefined>();
  const metrics = new Map<string, readonly RestTimeslice[]>();
  const unknown = [{ from: range.from, to: range.to, values: NO_VALUES }];
  for (const metric of list) {
    const name = isObject(metric) ? metric['name'] : undefined;
    if (!isObject(metric) || typeof name !== 'string' || name === '' || metrics.has(name))
      discarded.add('record', 'metrics');
    else {
      const timeslices = parseTimeslices(name, metric['timeslices'], times, discarded);
      metrics.set(name, timeslices.length === 0 ? unknown : timeslices);
    }
  }
  if (list.length > 0 && metrics.size === 0) {
    throw new CallFailure('invalid_response', `none of the ${list.length} metrics of the response can be read`);
  }
  for (const name of isList(data['metrics_found']) ? data['metrics_found'] : []) {
    if (typeof name === 'string' && !metrics.has(name)) metrics.set(name, unknown);
  }
  return metrics;
}

/** Returns the whole minutes of the range that a response names. Throws a CallFailure for an unreadable range. */
export function parseRange(body: unknown): TimeRange {
  const data = isObject(body) ? body['metric_data'] : undefined;
  const [from = NaN, to = NaN] = isObject(data) ? [data['from'], data['to']].map((time) => parseCachedTime(time)) : [];
  if (!(to > from)) throw new CallFailure('invalid_response', 'the response does not say which time it is for');
  // The end may be the last second of its minute.
  return { from: Math.ceil(from / 60) * 60, to: Math.floor((to + 1) / 60) * 60 };
}

function parseTimeslices(
  metric: string,
  list: unknown,
  times: Map<string, number | undefined>,
  discarded: Discarded,
): readonly RestTimeslice[] {
  // A custom metric may have any value under any name.
  const mayBeNegative = metric.startsWith('Custom/');
  const read = (isList(list) ? list : list === null ? [] : [undefined]).map((each) => {
    const values = isObject(each) ? each['values'] : undefined;
    const from = isObject(each) ? parseCachedTime(each['from'], times) : undefined;
    const to = isObject(each) ? parseCachedTime(each['to'], times) : undefined;
    const isTimed = from !== undefined && to !== undefined && to > from;
    // null is valid: New Relic sends it for a silent application.
    if (!isTimed || !(isObject(values) || values === null)) discarded.add('value', 'metrics.timeslices');
    if (!isTimed) return undefined;
    if (!isObject(values)) return { from, to, values: NO_VALUES };
    return { from, to, values: dropImpossible(values, mayBeNegative, discarded) };
  });
  // A timeslice without a time may belong anywhere, so the whole metric is unknown.
  if (!read.every((each) => each !== undefined)) return [];
  // Nearly every response is summarized, with one timeslice for a metric.
  if (read.length < 2) return read;
  read.sort((a, b) => a.from - b.from);
  return read.filter(({ from }, index) => {
    const isFirst = from !== read[index - 1]?.from;
    if (!isFirst) discarded.add('value', 'metrics.timeslices');
    return isFirst;
  });
}

function parseCachedTime(text: unknown, times = new Map<string, number | undefined>()): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (!times.has(text)) times.set(text, parseTime(text));
  return times.get(text);
}

/** Removes impossible values from the parsed object itself: copies of all objects would take time. */
function dropImpossible(values: Json, mayBeNegative: boolean, discarded: Discarded): RestTimeslice['values'] {
  for (const name in values) {
    const value = values[name];
    const isNumber = typeof value === 'number' && Number.isFinite(value);
    if (isNumber && (value >= 0 || mayBeNegative || !NEVER_NEGATIVE.has(name))) continue;
    if (value !== null) discarded.add('value', 'metrics.timeslices.values');
    Reflect.deleteProperty(values, name);
  }
  return values as RestTimeslice['values'];
}
