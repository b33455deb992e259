import { type RollingSummary, isDatastore, type Timeslice, type RollingValues } from '../types.ts';
import {
  CPU,
  END_USER,
  isApdex,
  MEMORY,
  SIGN_OF_LIFE,
  ZERO_WITHOUT_ROW,
  APDEX,
  END_USER_APDEX,
  ERRORS,
  NON_WEB,
  WEB,
} from './terms.ts';
import type { Row, Rows } from './rows.ts';
import type { MetricDataAnswer } from '../reader.ts';

/** A summary of which nothing is known. */
export const NO_SUMMARY: RollingSummary = Object.freeze({
  responseTime: undefined,
  throughput: undefined,
  errorRate: undefined,
  apdexTarget: undefined,
  apdexScore: undefined,
  hostCount: undefined,
  instanceCount: undefined,
  concurrentInstanceCount: undefined,
});

/** What a row is about. */
interface About {
  readonly name: string;
  /** Of the range. */
  readonly seconds: number;
  /** Of the same application or host and range, because its memory depends on how often it reported. */
  readonly rows: Rows;
}

/** A value of a row; undefined where it is not known. */
type Formula = (row: Row, about: About) => number | undefined;

const calls: Formula = ({ count }) => count;
const callsPerMinute: Formula = ({ count }, { seconds }) => (60 * count) / seconds;

/** An average over nothing is none. */
const average: Formula = ({ count, sum }) => (count > 0 ? sum / count : undefined);

const times = (factor: number, formula: Formula): Formula => {
  return (row, about) => {
    const value = formula(row, about);
    return value === undefined ? undefined : factor * value;
  };
};

const asPercentage = times(100, average);

/** Browsers keep other times in the members: the exclusive sum is the time in front of the server, the squares are its time. */
const browserAverage = (total: (row: Row, exclusive: number) => number | undefined): Formula => {
  return (row, { name }) => {
    if (name !== END_USER || row.exclusive === undefined || row.count <= 0) return undefined;
    const sum = total(row, row.exclusive);
    return sum === undefined ? undefined : (1000 * sum) / row.count;
  };
};

/**
 * Under the names and in the units of the REST interface, from the vendor's page "Migrate from the REST API to NRQL". Stored
 * times are seconds, the REST interface has milliseconds.
 */
const TIMED: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ['call_count', calls],
  ['count', calls],
  ['error_count', calls],
  ['calls_per_minute', callsPerMinute],
  ['requests_per_minute', callsPerMinute],
  ['errors_per_minute', callsPerMinute],
  ['throughput', ({ count }, { seconds }) => count / seconds],
  ['rate', ({ sum }, { seconds }) => sum / seconds],
  ['total_call_time_per_minute', ({ sum }, { seconds }) => (60 * sum) / seconds],
  ['total_value', ({ sum }) => sum],
  ['min_value', ({ min }) => min],
  ['max_value', ({ max }) => max],
  ['min_response_time', times(1000, ({ min }) => min)],
  ['max_response_time', times(1000, ({ max }) => max)],
  ['average_response_time', times(1000, average)],
  ['average_call_time', times(1000, average)],
  ['average_value', average],
  ['as_percentage', asPercentage],
  ['percent', percent],
  ['average_exclusive_time', averageExclusive],
  ['standard_deviation', standardDeviation],
  ['used_mb_by_host', (row, about) => (about.name === MEMORY ? average(row, about) : undefined)],
  ['total_used_mb', totalMemory],
  ['average_fe_response_time', browserAverage((_, exclusive) => exclusive)],
  ['average_be_response_time', browserAverage(({ sum }, exclusive) => sum - exclusive)],
  // The page has no factor of 1,000 here, but the REST interface has milliseconds.
  [
    'average_network_time',
    browserAverage(({ sum, squares }, exclusive) => (squares === undefined ? undefined : sum - exclusive - squares)),
  ],
]);

/** The names of the values that are calculated with the sum of squares. */
export const NEED_SQUARES: ReadonlySet<string> = new Set(['standard_deviation', 'average_network_time']);

const score: Formula = ({ count: satisfied, sum: tolerating, exclusive: frustrated }) =>
  frustrated === undefined ? undefined : (satisfied + tolerating / 2) / (satisfied + tolerating + frustrated);

/** An agent sends an Apdex metric as satisfied, tolerating, frustrated, threshold, threshold. */
const VERDICTS: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ['s', calls],
  ['t', ({ sum }) => sum],
  ['f', ({ exclusive }) => exclusive],
  ['threshold', ({ max }) => max],
  ['threshold_min', ({ min }) => min],
  ['count', ({ count, sum, exclusive }) => (exclusive === undefined ? undefined : count + sum + exclusive)],
  ['score', score],
  ['value', score],
]);

/**
 * What a summarized answer of the REST interface says of an application or host, from its rows over one range.
 *
 * For what has any row, `HttpDispatcher`, `OtherTransaction/all` and `Errors/all` count 0 where they have none: the service
 * gives no row for what did not happen. Any other metric without a row is absent.
 *
 * @param names those that were asked for; datastore metrics are added by themselves
 * @param values the values that are wanted of a metric; undefined: all there are
 */
export function answerOf(
  rows: Rows,
  names: readonly string[],
  range: { readonly from: number; readonly to: number },
  values?: (metricName: string) => readonly string[],
): MetricDataAnswer {
  const metrics = new Map<string, Readonly<Record<string, number>>>();
  const datastores = [...rows.keys()].filter(isDatastore).sort();
  for (const name of names) {
    const row = rows.get(name) ?? (rows.size > 0 && ZERO_WITHOUT_ROW.includes(name) ? noRow(range) : undefined);
    if (row !== undefined) metrics.set(name, valuesOf(name, row, rows, values?.(name)));
  }
  for (const name of datastores) {
    const row = rows.get(name);
    if (row !== undefined && !metrics.has(name)) metrics.set(name, valuesOf(name, row, rows, values?.(name)));
  }
  const [first] = rows.keys();
  const row = first === undefined ? undefined : rows.get(first);
  return { window: row === undefined ? range : { from: row.from, to: row.to }, metrics, datastores };
}

function noRow({ from, to }: { readonly from: number; readonly to: number }): Row {
  return { from, to, count: 0, sum: 0, exclusive: 0, min: undefined, max: undefined, squares: undefined };
}

/**
 * The values of a metric, those that are wanted or all there are. Only finite numbers are values: what is not known is absent.
 *
 * @param rows of the same application or host and range
 */
export function valuesOf(name: string, row: Row, rows: Rows, wanted?: readonly string[]): Timeslice['values'] {
  const formulas = isApdex(name) ? VERDICTS : TIMED;
  const about = { name, seconds: row.to - row.from, rows };
  const values: Record<string, number> = {};
  for (const each of wanted ?? formulas.keys()) {
    const value = formulas.get(each)?.(row, about);
    if (value !== undefined && Number.isFinite(value)) values[each] = value;
  }
  return values;
}

/** Of the processor over several hosts this adds their shares up. That the REST interface does the same is our inference. */
function percent(row: Row, about: About): number | undefined {
  if (about.name === CPU) return (100 * row.sum) / about.seconds;
  return asPercentage(row, about);
}

/** The page averages quotients minute by minute, which differs slightly from the quotient of the sums. */
function averageExclusive({ count, exclusive }: Row): number | undefined {
  return exclusive === undefined || count <= 0 ? undefined : (1000 * exclusive) / count;
}

/** Rounding may leave a little below zero under the root. */
function standardDeviation({ count, sum, squares }: Row): number | undefined {
  if (squares === undefined || count <= 0) return undefined;
  return 1000 * Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2));
}

/**
 * The memory of all processes: what one uses, times how many there are. Agents sample their memory several times a minute
 * and report once, so a sum of the samples would count each process many times. What the REST interface gives over several
 * minutes is not documented; the vendor's own pages calculate like this.
 */
function totalMemory(row: Row, about: About): number | undefined {
  const used = about.name === MEMORY ? average(row, about) : undefined;
  const signs = used === undefined ? undefined : about.rows.get(SIGN_OF_LIFE);
  return used === undefined || signs === undefined ? undefined : (used * 60 * signs.count) / about.seconds;
}

/**
 * The rolling values of an application or a host from its rows over the last minutes, in the units of the REST interface.
 * Each is absent where its own denominator is 0, and only there. The Apdex target of an application comes with the list.
 */
export function rollingOf(rows: Rows, seconds: number): RollingValues {
  const reports = rows.size > 0;
  const count = (name: string): number | undefined => rows.get(name)?.count ?? (reports ? 0 : undefined);
  const web = count(WEB);
  const errors = count(ERRORS);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(1000 * (rows.get(WEB)?.sum ?? 0), web),
    throughput: perMinute(web, seconds),
    errorRate: ratio(errors, (web ?? 0) + (count(NON_WEB) ?? 0)),
    apdexScore: scoreOf(rows.get(APDEX)),
  };
  const views = rows.get(END_USER);
  const verdicts = rows.get(END_USER_APDEX);
  if (views === undefined && verdicts === undefined) return { summary, endUserSummary: undefined };
  return {
    summary,
    endUserSummary: {
      ...NO_SUMMARY,
      // Unlike all other times, the REST interface gives this one in seconds.
      responseTime: ratio(views?.sum, views?.count),
      throughput: perMinute(views?.count, seconds),
      apdexTarget: verdicts?.max,
      apdexScore: scoreOf(verdicts),
    },
  };
}

/** What the entity of a key transaction measured, and how its transaction met the Apdex target of the application. */
export interface KeyTransactionRow {
  readonly count: number;
  readonly sum: number;
  readonly errors: number | undefined;
  /** Of the range that was answered. */
  readonly seconds: number;
}

/** @param reports whether the owning application has any row: then silence means no requests */
export function keyTransactionOf(
  row: KeyTransactionRow | undefined,
  apdex: Row | undefined,
  reports: boolean,
  seconds: number,
): RollingValues {
  const count = row?.count ?? (reports ? 0 : undefined);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(1000 * (row?.sum ?? 0), count),
    throughput: perMinute(count, seconds),
    errorRate: ratio(row?.errors, row?.count),
    apdexScore: row === undefined ? undefined : scoreOf(apdex),
  };
  return { summary, endUserSummary: undefined };
}

function scoreOf(row: Row | undefined): number | undefined {
  if (row?.exclusive === undefined) return undefined;
  return ratio(row.count + row.sum / 2, row.count + row.sum + row.exclusive);
}

function perMinute(count: number | undefined, seconds: number): number | undefined {
  return ratio(count === undefined ? undefined : 60 * count, seconds);
}

/** Undefined over nothing, and for what is no finite number. */
function ratio(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined || whole <= 0) return undefined;
  const result = part / whole;
  return Number.isFinite(result) ? result : undefined;
}
