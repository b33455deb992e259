import { METRIC, datastoreNames, type Columns, type WindowValues } from './metricInputs.ts';

// The results are NaN or infinite where they are absent: such samples are left out.

/**
 * Response time of a web request with queueing, in seconds: the average call time (the average response time where that is
 * absent or 0) plus the queueing per web request. An absent queue counts as 0; an unreadable one leaves the result absent. Absent
 * without web requests.
 *
 * @param web `HttpDispatcher`
 */
export function responseTime(web: Columns | undefined, queue: Columns | undefined): number {
  const served = web?.callTime ?? averageTime(web);
  return served + timePerRequest(queue ?? { sum: 0 }, web?.count);
}

/** Seconds that these calls (of the request queue, or of a component) take per web request; absent without web requests. */
export function timePerRequest({ sum = NaN }: Columns = {}, webRequests = NaN): number {
  return webRequests > 0 ? sum / webRequests : NaN;
}

/** The average time of one call in seconds; absent without calls. */
export function averageTime({ count = NaN, sum = NaN }: Columns = {}): number {
  return count > 0 ? sum / count : NaN;
}

/**
 * Execution time of a web transaction outside the components, in seconds: `WebTransactionTotalTime` minus the component times
 * per web request. `HttpDispatcher` replaces a total time that is absent (some agents report none) or 0. The result may be
 * negative. Absent without web requests, and where the total time or a component is unreadable: without that part the result
 * would be wrong.
 *
 * @param components the components in the response that count
 */
export function totalTime(
  web: Columns | undefined,
  total: Columns = { sum: 0 },
  components: readonly Columns[],
): number {
  const whole = total.sum === 0 ? 0 : (total.mean ?? averageTime(total));
  return components.reduce(
    (rest, component) => rest - timePerRequest(component, web?.count),
    (whole === 0 ? averageTime(web) : whole) - timePerRequest({ sum: 0 }, web?.count),
  );
}

/** A kind of database metrics. The kinds measure the same calls, so only one of them counts for an application. */
type DatabaseKind = 'datastore' | 'database' | 'active_record';

/** The database kind that counts, or `none` where the application has no database metric. */
export type DatabaseChoice = DatabaseKind | 'none';

/**
 * The database kind that counts for an application: the first of ActiveRecord (old ruby agents only), Datastore and Database that
 * has calls, else the first that is present. A ruby application that has ActiveRecord never uses Database. `override` is the
 * setting `database_component`.
 *
 * Undefined: undecided. A metric without a readable call count may have calls, so it decides nothing, and no kind after it is
 * considered. An earlier decision, from a readable response, then stays in force.
 */
export function databaseKind(
  values: WindowValues,
  language: string | undefined,
  override: 'auto' | DatabaseKind,
): DatabaseChoice | undefined {
  if (override !== 'auto') return override;
  const isOldRuby = language?.trim().toLowerCase() === 'ruby' && values.metrics.has(METRIC.activeRecord);
  const kinds = isOldRuby ? (['active_record', 'datastore'] as const) : (['datastore', 'database'] as const);
  for (const kind of kinds) {
    const calls = namesOf(values, kind).map((name) => values.metrics.get(name)?.count);
    if (calls.some((count) => count !== undefined && count > 0)) return kind;
    if (calls.includes(undefined)) return undefined;
  }
  return kinds.find((kind) => namesOf(values, kind).length > 0) ?? 'none';
}

/**
 * The metrics of the chosen kind that count, sorted. Of several datastore types these are the ones with calls (a type without
 * calls may be out of use) and the ones with unreadable calls, or all types where none has calls.
 */
export function databaseMetrics(values: WindowValues, choice: DatabaseChoice): string[] {
  const names = namesOf(values, choice);
  const called = names.filter((name) => (values.metrics.get(name)?.count ?? Infinity) > 0);
  return called.length > 0 ? called : names;
}

/** The metrics of a kind that are in the response. */
function namesOf({ metrics }: WindowValues, choice: DatabaseChoice): string[] {
  if (choice === 'datastore') return datastoreNames([...metrics.keys()]);
  const names = { database: [METRIC.database], active_record: [METRIC.activeRecord], none: [] };
  return names[choice].filter((name) => metrics.has(name));
}

// The results are NaN or infinite where they are absent: such samples are left out.

/** Calls per second; from their exact count unless New Relic states a rate. */
export function callRate({ count = NaN, rate }: Columns = {}, seconds: number): number {
  return rate ?? count / seconds;
}

/** The error and request metrics of a window; undefined: the metric is not in the response. */
interface ErrorInputs {
  readonly scope: 'application' | 'host';
  readonly errors: Columns | undefined;
  readonly web: Columns | undefined;
  readonly nonWeb: Columns | undefined;
}

/**
 * Errors per request, web requests and background transactions together (New Relic's error rate, as a ratio). An absent request
 * metric counts as 0; an unreadable one leaves the ratio absent. Absent without requests.
 */
export function errorRatio(inputs: ErrorInputs): number {
  const requests = requestCount(inputs, NaN);
  return requests > 0 ? errorCount(inputs) / requests : NaN;
}

/** Errors per second over the window. */
export function errorsPerSecond(inputs: ErrorInputs, seconds: number): number {
  return errorCount(inputs) / seconds;
}

/**
 * The errors of the window. An application without `Errors/all` recorded none while it had requests. A host may not have the
 * metric, so for a host the count is unknown.
 */
function errorCount(inputs: ErrorInputs): number {
  if (inputs.errors !== undefined) return inputs.errors.count ?? NaN;
  return inputs.scope === 'application' && requestCount(inputs, 0) > 0 ? 0 : NaN;
}

/** The requests of the window, with a number in place of an unreadable one. */
function requestCount({ web, nonWeb }: ErrorInputs, unreadable: number): number {
  const countOf = (metric: Columns | undefined): number => (metric === undefined ? 0 : (metric.count ?? unreadable));
  return countOf(web) + countOf(nonWeb);
}

/** The score of `Apdex` or `EndUser/Apdex`, from 0 to 1; absent without requests. */
export function apdexScore({ count = NaN, sum = NaN, exclusive = NaN, score }: Columns = {}): number {
  return score ?? (count + sum / 2) / (count + sum + exclusive);
}

/**
 * The memory of all processes: the mean of a process times their number. Agents sample their memory several times a minute
 * and report once, so a sum of the samples would count each process many times. The result of the REST interface over several
 * minutes is not documented; New Relic's own pages calculate like this.
 *
 * @param signs `SIGN_OF_LIFE`
 */
export function memoryOfAll(memory: Columns | undefined, signs: Columns | undefined, seconds: number): number {
  return memory?.memory ?? (memoryOfProcess(memory) * 60 * (signs?.count ?? NaN)) / seconds;
}

export function memoryOfProcess({ count = NaN, sum = NaN, processMemory }: Columns = {}): number {
  return processMemory ?? sum / count;
}
