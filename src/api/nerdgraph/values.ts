import { CPU, END_USER, isApdex, isDatastore, MEMORY, SIGN_OF_LIFE, ZERO_WITHOUT_ROW } from './metricNames.ts';
import type { Row, Rows } from './row.ts';
import type { MetricDataAnswer } from '../reader.ts';
import type { Timeslice } from '../types.ts';

type ValueName =
  | 'call_count'
  | 'count'
  | 'error_count'
  | 'calls_per_minute'
  | 'requests_per_minute'
  | 'errors_per_minute'
  | 'throughput'
  | 'rate'
  | 'total_call_time_per_minute'
  | 'total_value'
  | 'min_value'
  | 'min_response_time'
  | 'max_value'
  | 'max_response_time'
  | 'average_response_time'
  | 'average_call_time'
  | 'average_value'
  | 'as_percentage'
  | 'percent'
  | 'average_exclusive_time'
  | 'standard_deviation'
  | 'used_mb_by_host'
  | 'total_used_mb'
  | 'average_fe_response_time'
  | 'average_be_response_time'
  | 'average_network_time';

type TimedValues = Partial<Record<ValueName, number>>;

type ApdexValues = Partial<
  Record<'s' | 't' | 'f' | 'threshold' | 'threshold_min' | 'count' | 'score' | 'value', number>
>;

/**
 * What a summarized answer of the REST interface says of an application or host, from its rows over one range.
 *
 * For what has any row, `HttpDispatcher`, `OtherTransaction/all` and `Errors/all` count 0 where they have none: the service
 * gives no row for what did not happen. Any other metric without a row is absent.
 *
 * @param names those that were asked for; datastore metrics are added by themselves
 */
export function answerOf(
  rows: Rows,
  names: readonly string[],
  range: { readonly from: number; readonly to: number },
): MetricDataAnswer {
  const data = new Map<string, readonly Timeslice[]>();
  const datastores = [...rows.keys()].filter(isDatastore).sort();
  for (const name of names) {
    const row = rows.get(name) ?? (rows.size > 0 && ZERO_WITHOUT_ROW.includes(name) ? noRow(range) : undefined);
    if (row !== undefined) data.set(name, [timeslice(name, row, rows)]);
  }
  for (const name of datastores) {
    const row = rows.get(name);
    if (row !== undefined && !data.has(name)) data.set(name, [timeslice(name, row, rows)]);
  }
  return { data, datastores };
}

function noRow({ from, to }: { readonly from: number; readonly to: number }): Row {
  return { from, to, count: 0, sum: 0, exclusive: 0, min: undefined, max: undefined, squares: undefined };
}

function timeslice(name: string, row: Row, rows: Rows): Timeslice {
  return { from: row.from, to: row.to, values: valuesOf(name, row, rows) };
}

/**
 * All values of a metric under the names and in the units of the REST interface, from the vendor's page "Migrate from the
 * REST API to NRQL". Stored times are seconds, the REST interface has milliseconds.
 *
 * @param rows of the same application or host and range, because its memory depends on how often it reported
 */
export function valuesOf(name: string, row: Row, rows: Rows): Timeslice['values'] {
  return isApdex(name) ? apdexValues(row) : timedValues(name, row, rows);
}

/** An agent sends an Apdex metric as satisfied, tolerating, frustrated, threshold, threshold. */
function apdexValues({ count: satisfied, sum: tolerating, exclusive: frustrated, min, max }: Row): Timeslice['values'] {
  const values: ApdexValues = { s: satisfied, t: tolerating };
  if (frustrated !== undefined) values.f = frustrated;
  if (max !== undefined) values.threshold = max;
  if (min !== undefined) values.threshold_min = min;
  if (frustrated !== undefined) {
    const all = satisfied + tolerating + frustrated;
    const score = (satisfied + tolerating / 2) / all;
    values.count = all;
    values.score = score;
    values.value = score;
  }
  return finiteOnly(values);
}

/**
 * Written out member by member: there are a hundred thousand of these a refresh, and V8 makes objects that all get their
 * members in the same order far more quickly than those that are filled by name.
 */
function timedValues(name: string, row: Row, rows: Rows): Timeslice['values'] {
  const { count, sum, exclusive, min, max, squares } = row;
  const seconds = row.to - row.from;
  const perMinute = (60 * count) / seconds;
  const values: TimedValues = {
    call_count: count,
    count,
    error_count: count,
    calls_per_minute: perMinute,
    requests_per_minute: perMinute,
    errors_per_minute: perMinute,
    throughput: count / seconds,
    rate: sum / seconds,
    total_call_time_per_minute: (60 * sum) / seconds,
    total_value: sum,
  };
  if (min !== undefined) {
    values.min_value = min;
    values.min_response_time = 1000 * min;
  }
  if (max !== undefined) {
    values.max_value = max;
    values.max_response_time = 1000 * max;
  }
  if (count > 0) {
    const average = sum / count;
    values.average_response_time = 1000 * average;
    values.average_call_time = 1000 * average;
    values.average_value = average;
    values.as_percentage = 100 * average;
    values.percent = 100 * average;
    // The page averages quotients minute by minute, which differs slightly from the quotient of the sums.
    if (exclusive !== undefined) values.average_exclusive_time = (1000 * exclusive) / count;
    // Rounding may leave a little below zero.
    if (squares !== undefined) {
      values.standard_deviation = 1000 * Math.sqrt(Math.max(0, squares / count - average ** 2));
    }
    if (name === MEMORY) addMemory(values, average, rows.get(SIGN_OF_LIFE), seconds);
    else if (name === END_USER) addBrowserAverages(values, row);
  }
  // Over several hosts this adds their shares up. That the REST interface does the same is our inference.
  if (name === CPU) values.percent = (100 * sum) / seconds;
  return finiteOnly(values);
}
/** Browsers keep other times in the members: the exclusive sum is the time in front of the server, the squares are its time. */
function addBrowserAverages(values: TimedValues, { count, sum, exclusive, squares }: Row): void {
  if (exclusive === undefined) return;
  values.average_fe_response_time = (1000 * exclusive) / count;
  values.average_be_response_time = (1000 * (sum - exclusive)) / count;
  // The page has no factor of 1,000 here, but the REST interface has milliseconds.
  if (squares !== undefined) values.average_network_time = (1000 * (sum - exclusive - squares)) / count;
}

/**
 * The memory of all processes: what one uses, times how many there are. Agents sample their memory several times a minute
 * and report once, so a sum of the samples would count each process many times. What the REST interface gives over several
 * minutes is not documented; the vendor's own pages calculate like this.
 */
function addMemory(values: TimedValues, average: number, signs: Row | undefined, seconds: number): void {
  values.used_mb_by_host = average;
  if (signs !== undefined) values.total_used_mb = (average * 60 * signs.count) / seconds;
}

/** Only finite numbers are values: what is not known is absent. */
function finiteOnly(values: Timeslice['values']): Timeslice['values'] {
  for (const name in values) {
    if (!Number.isFinite(values[name])) {
      return Object.fromEntries(Object.entries(values).filter(([, value]) => Number.isFinite(value)));
    }
  }
  return values;
}
