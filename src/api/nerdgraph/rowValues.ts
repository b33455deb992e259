import { isApdex, SIGN_OF_LIFE, ZERO_WITHOUT_ROW } from './metricSelector.ts';
import type { MetricRow, MetricRows } from './rows.ts';
import { isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import type { MetricDataResult, MetricDataSubject, TimeRange } from '../upstreamReader.ts';
import type { RollingSummary, RollingValues } from '../types.ts';

/** A summary without any known value. */
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

/**
 * A value of a row; undefined where it is not known. `seconds` are those of the window that was answered; `rows` those of the
 * same application or host and window, because its memory depends on how often it reported.
 */
type Formula = (
  row: MetricRow,
  about: { readonly name: string; readonly seconds: number; readonly rows: MetricRows },
) => number | undefined;

const calls: Formula = ({ c }) => c;
const callsPerMinute: Formula = ({ c }, { seconds }) => (60 * c) / seconds;
const perSecondsOfWindow: Formula = ({ t }, { seconds }) => (100 * t) / seconds;

/** An average without data has no value. */
const average: Formula = ({ c, t }) => (c > 0 ? t / c : undefined);
const averageExclusive: Formula = ({ c, x }) => (x === undefined || c <= 0 ? undefined : x / c);
const averageSquares: Formula = ({ c, q }) => (q === undefined || c <= 0 ? undefined : q / c);

const times = (factor: number, formula: Formula): Formula => {
  return (row, about) => {
    const value = formula(row, about);
    return value === undefined ? undefined : factor * value;
  };
};

/** Browsers keep other times in the columns: the exclusive sum is the time in front of the server, the squares are its time. */
const inNetwork: Formula = ({ t, x, q }) => (x === undefined || q === undefined ? undefined : t - x - q);
const behindServer: Formula = ({ c, t, x }) => (x === undefined || c <= 0 ? undefined : (t - x) / c);

/**
 * Under the names and in the units of the REST interface, from the vendor's page "Migrate metric timeslice queries to NRQL".
 * Stored times are seconds, the REST interface has milliseconds.
 */
const TIMED: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ['call_count', calls],
  ['count', calls],
  ['error_count', calls],
  ['launch_count', calls],
  ['calls_per_minute', callsPerMinute],
  ['requests_per_minute', callsPerMinute],
  ['errors_per_minute', callsPerMinute],
  ['throughput', ({ c }, { seconds }) => c / seconds],
  ['rate', ({ t }, { seconds }) => t / seconds],
  ['total_call_time_per_minute', ({ t }, { seconds }) => (60 * t) / seconds],
  ['total_value', ({ t }) => t],
  ['total_visits', ({ t }) => t],
  ['total_time', ({ t }) => 1000 * t],
  ['min_value', ({ mn }) => mn],
  ['max_value', ({ mx }) => mx],
  ['min_response_time', times(1000, ({ mn }) => mn)],
  ['max_response_time', times(1000, ({ mx }) => mx)],
  ['average_response_time', times(1000, average)],
  ['average_call_time', times(1000, average)],
  ['average_time', times(1000, average)],
  ['average_value', average],
  ['sessions_active', average],
  ['as_percentage', times(100, average)],
  // Of the processor over several hosts this adds their shares up. That the REST interface does the same is our inference.
  ['percent', (row, about) => (about.name === METRIC.cpu ? perSecondsOfWindow : times(100, average))(row, about)],
  ['utilization', perSecondsOfWindow],
  ['time_percentage', perSecondsOfWindow],
  ['visits_percentage', perSecondsOfWindow],
  // The page averages quotients minute by minute, which differs slightly from the quotient of the sums.
  ['average_exclusive_time', times(1000, averageExclusive)],
  ['standard_deviation', standardDeviation],
  ['used_mb_by_host', average],
  ['used_bytes_by_host', times(1024 * 1024, average)],
  ['total_used_mb', totalMemory],
]);

/** Additional values of browser and mobile metrics. */
const OF_DEVICES: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ['average_fe_response_time', times(1000, averageExclusive)],
  ['average_be_response_time', times(1000, behindServer)],
  // The page has no factor of 1,000 here, but the REST interface has milliseconds.
  ['average_network_time', (row, about) => (row.c > 0 ? times(1000 / row.c, inNetwork)(row, about) : undefined)],
  ['total_network_time', inNetwork],
  ['network_time_percentage', (row, about) => times(1 / about.seconds, inNetwork)(row, about)],
  ['total_fe_time', ({ x }) => x],
  ['fe_time_percentage', ({ x }, { seconds }) => (x === undefined ? undefined : (100 * x) / seconds)],
  ['average_dom_content_load_time', times(1000, average)],
  ['total_dom_content_time', ({ t }) => 1000 * t],
  ['average_queue_time', times(1000, averageExclusive)],
  ['total_queue_time', ({ x }) => (x === undefined ? undefined : 1000 * x)],
  ['average_app_time', averageSquares],
  ['total_app_time', ({ q }) => q],
  ['average_sent_bytes', ({ x }) => (x === undefined ? undefined : 1000 * x)],
  ['average_received_bytes', times(1000, average)],
]);

const TIMED_OF_DEVICES: ReadonlyMap<string, Formula> = new Map([...TIMED, ...OF_DEVICES]);
const DEVICES = /^(EndUser|Browser|Mobile)(\/|$)/;

/** The names of the values that are calculated with the sum of squares. */
export const NEED_SQUARES: ReadonlySet<string> = new Set([
  ...['standard_deviation', 'average_network_time', 'total_network_time', 'network_time_percentage'],
  ...['average_app_time', 'total_app_time'],
]);

const score: Formula = ({ c: satisfied, t: tolerating, x: frustrated }) =>
  frustrated === undefined ? undefined : (satisfied + tolerating / 2) / (satisfied + tolerating + frustrated);

/** An agent sends an Apdex metric as satisfied, tolerating, frustrated, threshold, threshold. */
const VERDICTS: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ['s', calls],
  ['t', ({ t }) => t],
  ['f', ({ x }) => x],
  ['threshold', ({ mx }) => mx],
  ['threshold_min', ({ mn }) => mn],
  ['count', ({ c, t, x }) => (x === undefined ? undefined : c + t + x)],
  ['score', score],
  ['value', score],
]);

function formulasOf(name: string): ReadonlyMap<string, Formula> {
  if (isApdex(name)) return VERDICTS;
  return DEVICES.test(name) ? TIMED_OF_DEVICES : TIMED;
}

const NO_CALLS: MetricRow = { c: 0, t: 0, x: 0, mn: undefined, mx: undefined, q: undefined };

/** The metrics and values that are asked for of applications or hosts, with how each value follows from a row. */
export class ValueMapper {
  readonly #names: readonly string[];
  /** The requested values of a metric; undefined: all. */
  readonly wanted: MetricDataSubject['values'];
  readonly #formulas = new Map<string, readonly (readonly [value: string, formula: Formula])[]>();
  /** True if one of these values is calculated with the sum of squares. */
  readonly needsSquares: boolean;

  /** @param names those that are asked for; datastore metrics are added by themselves */
  constructor(names: readonly string[], wanted?: MetricDataSubject['values']) {
    this.#names = names;
    this.wanted = wanted;
    this.needsSquares = names.some((name) => this.#of(name).some(([value]) => NEED_SQUARES.has(value)));
  }

  /**
   * What a summarized response of the REST interface says of an application or host, from its rows over one window.
   *
   * For what has any row, `HttpDispatcher`, `OtherTransaction/all` and `Errors/all` count 0 where they have none: the service
   * gives no row for what did not happen. Any other metric without a row is absent.
   */
  resultOf(rows: MetricRows, window: TimeRange): MetricDataResult {
    const metrics = new Map<string, Readonly<Record<string, number>>>();
    const seconds = window.to - window.from;
    for (const name of this.#names) {
      const row = rows.get(name) ?? (rows.size > 0 && ZERO_WITHOUT_ROW.includes(name) ? NO_CALLS : undefined);
      if (row !== undefined) metrics.set(name, this.valuesOf(name, row, rows, seconds));
    }
    const datastores: string[] = [];
    for (const [name, row] of rows) {
      if (!isDatastore(name)) continue;
      datastores.push(name);
      if (!metrics.has(name)) metrics.set(name, this.valuesOf(name, row, rows, seconds));
    }
    return { window, metrics, datastores: datastores.sort() };
  }

  /** The requested values of a metric. Only finite numbers are values; unknown values are absent. */
  valuesOf(name: string, row: MetricRow, rows: MetricRows, seconds: number): Readonly<Record<string, number>> {
    const about = { name, seconds, rows };
    const values: Record<string, number> = {};
    for (const [each, formula] of this.#of(name)) {
      const value = formula(row, about);
      if (value !== undefined && Number.isFinite(value)) values[each] = value;
    }
    return values;
  }

  #of(name: string): readonly (readonly [value: string, formula: Formula])[] {
    let list = this.#formulas.get(name);
    if (list === undefined) {
      const formulas = formulasOf(name);
      list = (this.wanted?.(name) ?? [...formulas.keys()]).flatMap((value) => {
        const formula = formulas.get(value);
        return formula === undefined ? [] : [[value, formula] as const];
      });
      this.#formulas.set(name, list);
    }
    return list;
  }
}

/** Rounding may leave a little below zero under the root. */
function standardDeviation({ c, t, q }: MetricRow): number | undefined {
  if (q === undefined || c <= 0) return undefined;
  return 1000 * Math.sqrt(Math.max(0, q / c - (t / c) ** 2));
}

/**
 * The memory of all processes: what one uses, times how many there are. Agents sample their memory several times a minute
 * and report once, so a sum of the samples would count each process many times. What the REST interface gives over several
 * minutes is not documented; the vendor's own pages calculate like this.
 */
function totalMemory(row: MetricRow, about: Parameters<Formula>[1]): number | undefined {
  const used = about.name.startsWith('Memory/') ? average(row, about) : undefined;
  const signs = used === undefined ? undefined : about.rows.get(SIGN_OF_LIFE);
  return used === undefined || signs === undefined ? undefined : (used * 60 * signs.c) / about.seconds;
}

/**
 * The rolling values of an application or a host from its rows over the last minutes, in the units of the REST interface.
 * Each is absent where its own denominator is 0, and only there. The Apdex target of an application comes with the list.
 */
export function rollingOf(rows: MetricRows, seconds: number): RollingValues {
  const reports = rows.size > 0;
  const count = (name: string): number | undefined => rows.get(name)?.c ?? (reports ? 0 : undefined);
  const web = count(METRIC.web);
  const errors = count(METRIC.errors);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(1000 * (rows.get(METRIC.web)?.t ?? 0), web),
    throughput: perMinute(web, seconds),
    errorRate: ratio(errors, (web ?? 0) + (count(METRIC.nonWeb) ?? 0)),
    apdexScore: scoreOf(rows.get(METRIC.apdex)),
  };
  const views = rows.get(METRIC.endUser);
  const verdicts = rows.get(METRIC.endUserApdex);
  if (views === undefined && verdicts === undefined) return { summary, endUserSummary: undefined };
  return {
    summary,
    endUserSummary: {
      ...NO_SUMMARY,
      // Unlike all other times, the REST interface gives this one in seconds.
      responseTime: ratio(views?.t, views?.c),
      throughput: perMinute(views?.c, seconds),
      apdexTarget: verdicts?.mx,
      apdexScore: scoreOf(verdicts),
    },
  };
}

/**
 * The rolling values of a key transaction, from what its entity measured and how its transaction met the Apdex target of the
 * owning application.
 *
 * @param reports whether the owning application has any row: then silence means no requests
 */
export function keyTransactionOf(
  row: MetricRow | undefined,
  apdex: MetricRow | undefined,
  reports: boolean,
  seconds: number,
): RollingValues {
  const count = row?.c ?? (reports ? 0 : undefined);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(1000 * (row?.t ?? 0), count),
    throughput: perMinute(count, seconds),
    errorRate: ratio(row?.x, row?.c),
    apdexScore: row === undefined ? undefined : scoreOf(apdex),
  };
  return { summary, endUserSummary: undefined };
}

function scoreOf(row: MetricRow | undefined): number | undefined {
  if (row?.x === undefined) return undefined;
  return ratio(row.c + row.t / 2, row.c + row.t + row.x);
}

function perMinute(count: number | undefined, seconds: number): number | undefined {
  return ratio(count === undefined ? undefined : 60 * count, seconds);
}

/** Undefined without data, and for a result that is not finite. */
function ratio(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined || whole <= 0) return undefined;
  const result = part / whole;
  return Number.isFinite(result) ? result : undefined;
}
