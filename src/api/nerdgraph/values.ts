import { CPU, END_USER, isApdex, isDatastore, MEMORY, SIGN_OF_LIFE, ZERO_WITHOUT_ROW } from './metricNames.ts';
import type { Row } from './row.ts';
import type { MetricDataAnswer } from '../reader.ts';
import type { Timeslice } from '../types.ts';

/** The rows of one application or host, by metric name; one of each. */
export type Rows = ReadonlyMap<string, Row>;

type Values = Record<string, number>;

/** Only finite numbers become values: what is not known is absent. */
function add(values: Values, name: string, value: number | undefined): void {
  if (value !== undefined && Number.isFinite(value)) values[name] = value;
}

const thousandfold = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : 1000 * value;

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
  const values: Values = { s: satisfied, t: tolerating };
  add(values, 'f', frustrated);
  add(values, 'threshold', max);
  add(values, 'threshold_min', min);
  if (frustrated === undefined) return values;
  const all = satisfied + tolerating + frustrated;
  add(values, 'count', all);
  const score = (satisfied + tolerating / 2) / all;
  add(values, 'score', score);
  add(values, 'value', score);
  return values;
}

function timedValues(name: string, row: Row, rows: Rows): Timeslice['values'] {
  const { count, sum, min, max } = row;
  const seconds = row.to - row.from;
  const perMinute = (60 * count) / seconds;
  const values: Values = { call_count: count, count, error_count: count };
  add(values, 'calls_per_minute', perMinute);
  add(values, 'requests_per_minute', perMinute);
  add(values, 'errors_per_minute', perMinute);
  add(values, 'throughput', count / seconds);
  add(values, 'rate', sum / seconds);
  add(values, 'total_call_time_per_minute', (60 * sum) / seconds);
  add(values, 'total_value', sum);
  add(values, 'min_value', min);
  add(values, 'max_value', max);
  add(values, 'min_response_time', thousandfold(min));
  add(values, 'max_response_time', thousandfold(max));
  if (count > 0) addAverages(values, row, sum / count);
  if (name === CPU) {
    // Over several hosts this adds their shares up. That the REST interface does the same is our inference.
    add(values, 'percent', (100 * sum) / seconds);
  }
  if (name === MEMORY && count > 0) {
    add(values, 'used_mb_by_host', sum / count);
    add(values, 'total_used_mb', totalMemory(sum / count, rows.get(SIGN_OF_LIFE), seconds));
  }
  if (name === END_USER && count > 0) addBrowserAverages(values, row);
  return values;
}

/** Browsers keep other times in the members: the exclusive sum is the time in front of the server, the squares are its time. */
function addBrowserAverages(values: Values, { count, sum, exclusive, squares }: Row): void {
  if (exclusive === undefined) return;
  add(values, 'average_fe_response_time', (1000 * exclusive) / count);
  add(values, 'average_be_response_time', (1000 * (sum - exclusive)) / count);
  // The page has no factor of 1,000 here, but the REST interface has milliseconds.
  if (squares !== undefined) add(values, 'average_network_time', (1000 * (sum - exclusive - squares)) / count);
}

function addAverages(values: Values, { count, exclusive, squares }: Row, average: number): void {
  add(values, 'average_response_time', 1000 * average);
  add(values, 'average_call_time', 1000 * average);
  add(values, 'average_value', average);
  add(values, 'as_percentage', 100 * average);
  add(values, 'percent', 100 * average);
  if (exclusive !== undefined) {
    // The page averages quotients minute by minute, which differs slightly from the quotient of the sums.
    add(values, 'average_exclusive_time', (1000 * exclusive) / count);
  }
  if (squares !== undefined) {
    // Rounding may leave a little below zero.
    add(values, 'standard_deviation', 1000 * Math.sqrt(Math.max(0, squares / count - average ** 2)));
  }
}

/**
 * The memory of all processes: what one uses, times how many there are. Agents sample their memory several times a minute
 * and report once, so a sum of the samples would count each process many times. What the REST interface gives over several
 * minutes is not documented; the vendor's own pages calculate like this.
 */
function totalMemory(average: number, signs: Row | undefined, seconds: number): number | undefined {
  return signs === undefined ? undefined : (average * 60 * signs.count) / seconds;
}
