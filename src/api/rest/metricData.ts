import { BOUNDS } from '../http/response.ts';
import { CallFailure } from '../upstreamError.ts';
import { isList, hasMembers, parseTime, type Json, type Discarded } from '../http/validation.ts';
import { endOf, secondsOf, type Timeslice } from '../types.ts';
import type { Columns } from '../../formulas/metricInputs.ts';
import { columnsOf, isKnown, type MetricTimeslices, type RestTimeslice } from './restColumns.ts';
import {
  oneByOne,
  sharedRange,
  type CallOptions,
  type MetricDataResult,
  type MetricDataSubject,
  type MetricSelection,
  type SeriesChunk,
  type TimeRange,
  type UpstreamReader,
} from '../upstreamReader.ts';
import { LIMITS, summarizeSeries, toSeries } from './restSeries.ts';
import { countBatches, readInBatches } from './nameSplitting.ts';
import type { RestMemory } from './restMemory.ts';
import { formatTime, metricTarget, queryOf, type RestClient, type Target } from './restClient.ts';

/** Names of values that are counts or durations, and so never negative. Custom metrics may have any value under any name. */
const NEVER_NEGATIVE = new Set([
  ...['call_count', 'count', 'error_count', 'calls_per_minute', 'requests_per_minute', 'errors_per_minute'],
  ...['s', 't', 'f', 'score', 'threshold', 'threshold_min'],
  ...['average_response_time', 'average_call_time', 'percent', 'used_mb_by_host', 'total_used_mb'],
]);
const CUSTOM = 'Custom/';

const NO_VALUES: RestTimeslice['values'] = Object.freeze({});

/**
 * The timeslices of a response, oldest first. The check is written by hand, because this is by far the most frequent
 * response. A metric without usable data has one timeslice without values over the requested range: it is unknown, not
 * missing, which would mean no errors.
 *
 * @param read what is kept of a timeslice
 */
export function parseMetricData<T>(
  body: unknown,
  range: TimeRange,
  discarded: Discarded,
  read: (metric: string, timeslice: RestTimeslice) => T,
): ReadonlyMap<string, readonly T[]> {
  const data = hasMembers(body) ? body['metric_data'] : undefined;
  if (!hasMembers(data) || !isList(data['metrics'])) {
    throw new CallFailure('invalid_response', 'the response has no "metric_data" with "metrics"');
  }
  const given = data['metrics'];
  // The timeslices of a response share a few times, so each is parsed once.
  const times = new Map<string, number | undefined>();
  const metrics = new Map<string, readonly T[]>();
  const unknown = (name: string): readonly T[] => [read(name, { ...range, values: NO_VALUES })];
  for (const metric of given) {
    const name = hasMembers(metric) ? metric['name'] : undefined;
    if (!hasMembers(metric) || typeof name !== 'string' || name === '' || metrics.has(name))
      discarded.add('record', 'metrics');
    else {
      const timeslices = timeslicesOf(name, metric['timeslices'], times, discarded);
      metrics.set(name, timeslices.length === 0 ? unknown(name) : timeslices.map((each) => read(name, each)));
    }
  }
  if (given.length > 0 && metrics.size === 0) {
    throw new CallFailure('invalid_response', `none of the ${given.length} metrics of the response can be read`);
  }
  for (const name of isList(data['metrics_found']) ? data['metrics_found'] : []) {
    if (typeof name === 'string' && !metrics.has(name)) metrics.set(name, unknown(name));
  }
  return metrics;
}

/** The whole minutes of the range that a response names. Throws a CallFailure where it cannot be read. */
function rangeOf(body: unknown): TimeRange {
  const data = hasMembers(body) ? body['metric_data'] : undefined;
  const [from = NaN, to = NaN] = hasMembers(data) ? [data['from'], data['to']].map((time) => timeOf(time)) : [];
  if (!(to > from)) throw new CallFailure('invalid_response', 'the response does not say which time it is for');
  // The end may be the last second of its minute.
  return { from: Math.ceil(from / 60) * 60, to: Math.floor((to + 1) / 60) * 60 };
}

/** The timeslices of one metric. Only the first of two with the same start is kept: otherwise both would be counted. */
function timeslicesOf(
  metric: string,
  given: unknown,
  times: Map<string, number | undefined>,
  discarded: Discarded,
): readonly RestTimeslice[] {
  const read = (isList(given) ? given : [undefined]).map((each) => {
    const values = hasMembers(each) ? each['values'] : undefined;
    const from = hasMembers(each) ? timeOf(each['from'], times) : undefined;
    const to = hasMembers(each) ? timeOf(each['to'], times) : undefined;
    const isTimed = from !== undefined && to !== undefined && to > from;
    if (!isTimed || !hasMembers(values)) discarded.add('value', 'metrics.timeslices');
    if (!isTimed) return undefined;
    // A timeslice without values is unknown, not empty.
    return { from, to, values: hasMembers(values) ? valuesOf(metric, values, discarded) : NO_VALUES };
  });
  // A timeslice without a time may belong anywhere in the range, so the whole metric is unknown.
  if (!read.every((each) => each !== undefined)) return [];
  // Nearly every response is summarized: one timeslice for a metric.
  if (read.length < 2) return read;
  read.sort((a, b) => a.from - b.from);
  return read.filter(({ from }, index) => {
    const isFirst = from !== read[index - 1]?.from;
    if (!isFirst) discarded.add('value', 'metrics.timeslices');
    return isFirst;
  });
}

function timeOf(text: unknown, times = new Map<string, number | undefined>()): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (!times.has(text)) times.set(text, parseTime(text));
  return times.get(text);
}

/** The parsed object itself, which saves a copy, unless some values are impossible. Only own properties are values. */
function valuesOf(metric: string, values: Json, discarded: Discarded): RestTimeslice['values'] {
  const mayBeNegative = metric.startsWith(CUSTOM);
  if (allPossible(values, mayBeNegative)) return values;
  const possible: [string, number][] = [];
  for (const [name, value] of Object.entries(values)) {
    if (isPossible(name, value, mayBeNegative)) possible.push([name, value]);
    else discarded.add('value', 'metrics.timeslices.values');
  }
  return Object.fromEntries(possible);
}

function allPossible(values: Json, mayBeNegative: boolean): values is Readonly<Record<string, number>> {
  for (const name in values) if (!isPossible(name, values[name], mayBeNegative)) return false;
  return true;
}

function isPossible(name: string, value: unknown, mayBeNegative: boolean): value is number {
  return (
    typeof value === 'number' && Number.isFinite(value) && (value >= 0 || mayBeNegative || !NEVER_NEGATIVE.has(name))
  );
}

const LONGEST_NAME_SHOWN = 120;
const RAW = '&raw=true';

/** Encoded lists of names: encoding them costs more than the rest of an address. */
const encoded = new WeakMap<readonly string[], string>();

/** The part of an address for some names of a selection. */
function namesQuery(names: readonly string[], selection: MetricSelection): string {
  const query = encoded.get(names) ?? queryOf(names.map((name) => ['names[]', name]));
  if (names === selection.names) encoded.set(names, query);
  return query;
}

/**
 * The reads of metric data of applications and hosts.
 *
 * @param raw true: requests values that are not rounded to three digits
 */
export function metricDataReads(
  rest: RestClient,
  memory: RestMemory,
  { raw, refusedNamesMs }: { readonly raw: boolean; readonly refusedNamesMs: number },
): Pick<UpstreamReader, 'metricData' | 'metricSeries' | 'counters' | 'refuseCounters'> {
  /** A refused metric is added without values: it is unknown, not one that the application does not have. */
  const read = async (
    subject: MetricDataSubject,
    range: TimeRange,
    call: CallOptions,
    switches: string,
    look: (body: unknown) => void = () => undefined,
  ): Promise<MetricTimeslices> => {
    const { applicationId, hostKey, metrics } = subject;
    const times = `from=${formatTime(range.from)}&to=${formatTime(range.to)}${switches}`;
    const targetOf = (names: readonly string[]): Target =>
      metricTarget('metrics/data.json', subject, `${namesQuery(names, metrics)}&${times}`);
    const calls = {
      read: (names: readonly string[]) =>
        rest.one(targetOf(names), call, BOUNDS.metricData, (body, discarded) => {
          look(body);
          return parseMetricData(body, range, discarded, (name, slice): Timeslice => {
            return { from: slice.from, to: slice.to, columns: columnsOf(name, slice, metrics.values?.get(name)) };
          });
        }),
      refuse: (name: string) => {
        const about = hostKey === undefined ? `application ${applicationId}` : `hosts of application ${applicationId}`;
        const shown = Array.from(name).slice(0, LONGEST_NAME_SHOWN).join('');
        rest.http.reportDiscarded(
          targetOf([name]).endpoint,
          `${about}: New Relic refuses the metric name ${JSON.stringify(shown)}: what is calculated from it is missing`,
        );
      },
      isCircuitOpen: () => rest.http.isCircuitOpen(call),
    };
    const { data, refused } = await readInBatches(memory, subject, calls, refusedNamesMs);
    if (refused.length === 0) return data;
    const unknown: readonly Timeslice[] = [{ ...range, columns: {} }];
    return new Map([...data, ...refused.map((name) => [name, unknown] as const)]);
  };

  const figures = raw ? RAW : '';
  const callsOf = (subject: MetricDataSubject): number => Math.max(1, countBatches(memory, subject));
  return {
    metricData: oneByOne(
      async (subject, range, call) =>
        summarized(await read(subject, range, call, `&summarize=true${figures}`), subject.metrics, range),
      callsOf,
    ),
    metricSeries: {
      ...oneByOne(async (subject, chunk: SeriesChunk, call) => {
        const data = await read(subject, { from: chunk.readFrom, to: chunk.to }, call, figures);
        return toSeries(data, subject.metrics.names, chunk);
      }, callsOf),
      limits: LIMITS,
      summarize: summarizeSeries,
    },
    // Always raw, because rounded averages would add up to wrong seconds.
    counters: oneByOne(async (subject, range, call) => {
      let window = range;
      const metrics = await read(subject, range, call, RAW, (body) => {
        window = sharedRange(window, rangeOf(body));
      });
      return { window, metrics };
    }, callsOf),
    refuseCounters: (problem) =>
      rest.http.reportFailure('/applications/{id}/metrics/data.json', new CallFailure('invalid_response', problem)),
  };
}

/** The columns of a summarized response. A timeslice of another length than the others is unknown. */
function summarized(data: MetricTimeslices, { names }: MetricSelection, range: TimeRange): MetricDataResult {
  const metrics = new Map<string, Columns>();
  let window: TimeRange | undefined;
  for (const name of names) {
    const last = data.get(name)?.at(-1);
    if (last === undefined) continue;
    const isReported = isKnown(last);
    if (isReported) window ??= { from: last.from, to: endOf(last) };
    const fits = !isReported || window === undefined || secondsOf(last) === window.to - window.from;
    metrics.set(name, fits ? last.columns : {});
  }
  return { window: window ?? range, metrics };
}
