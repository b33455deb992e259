import { METRIC, datastoreNames, type Columns, type WindowValues } from './metricInputs.ts';

// An absent result is NaN or infinite; callers skip such samples.

/**
 * Returns the response time of a web request with queueing, in seconds. That is the average call time (else the
 * average response time) plus the queueing per web request. An absent queue counts as 0; an unreadable queue leaves
 * the result absent. Absent without web requests.
 *
 * @param web `HttpDispatcher`
 */
export function responseTime(web: Columns | undefined, queue: Columns | undefined): number {
  const served = web?.callTime ?? averageTime(web);
  return served + timePerRequest(queue ?? { sum: 0 }, web?.count);
}

/** Returns the seconds per web request in the request queue or a component; absent without web requests. */
export function timePerRequest({ sum = NaN }: Columns = {}, webRequests = NaN): number {
  return webRequests > 0 ? sum / webRequests : NaN;
}

/** Returns the average time of a call in seconds; absent without calls. */
export function averageTime({ count = NaN, sum = NaN }: Columns = {}): number {
  return count > 0 ? sum / count : NaN;
}

/**
 * Returns the execution time of a web transaction outside the components, in seconds: `WebTransactionTotalTime` minus
 * the component times per web request. `HttpDispatcher` replaces a total time that is absent (some agents report
 * none) or 0. The result may be negative. Absent without web requests, and if the total time or a component is
 * unreadable: the result would be wrong.
 *
 * @param components the counting components in the response
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

/** A kind of database metrics. All kinds measure the same calls, so only one counts for an application. */
type DatabaseKind = 'datastore' | 'database' | 'active_record';

/** The database kind that counts; `none` if the application has no database metric. */
export type DatabaseChoice = DatabaseKind | 'none';

/**
 * Returns the database kind that counts for an application: the first of ActiveRecord (old ruby agents only),
 * Datastore and Database that has calls, else the first that is present. A ruby application with ActiveRecord never
 * uses Database. `override` is the setting `database_component`.
 *
 * Returns undefined while undecided: a metric without a readable call count may have calls, so no later kind is
 * considered. The caller then keeps an earlier decision.
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
 * Returns the counting metrics of the chosen kind, sorted. Of several datastore types, only those with calls or
 * unreadable calls count: a type without calls may be out of use. If none has calls, all types count.
 */
export function databaseMetrics(values: WindowValues, choice: DatabaseChoice): string[] {
  const names = namesOf(values, choice);
  const called = names.filter((name) => (values.metrics.get(name)?.count ?? Infinity) > 0);
  return called.length > 0 ? called : names;
}

/** Returns the metrics of a kind that the response has. */
function namesOf({ metrics }: WindowValues, choice: DatabaseChoice): string[] {
  if (choice === 'datastore') return datastoreNames([...metrics.keys()]);
  const names = { database: [METRIC.database], active_record: [METRIC.activeRecord], none: [] };
  return names[choice].filter((name) => metrics.has(name));
}

/** Returns calls per second: the rate that New Relic states, else from the exact count. */
export function callRate({ count = NaN, rate }: Columns = {}, seconds: number): number {
  return rate ?? count / seconds;
}

/** Error and request metrics of a window; undefined if the response lacks the metric. */
interface ErrorInputs {
  readonly scope: 'application' | 'host';
  readonly errors: Columns | undefined;
  readonly web: Columns | undefined;
  readonly nonWeb: Columns | undefined;
}

/**
 * Returns errors per request, web requests and background transactions together (the error rate of New Relic as a
 * ratio). An absent request metric counts as 0; an unreadable metric leaves the ratio absent. Absent without
 * requests.
 */
export function errorRatio(inputs: ErrorInputs): number {
  const requests = requestCount(inputs, NaN);
  return requests > 0 ? errorCount(inputs) / requests : NaN;
}

/** Returns errors per second over the window. */
export function errorsPerSecond(inputs: ErrorInputs, seconds: number): number {
  return errorCount(inputs) / seconds;
}

/**
 * Returns the errors of the window. An application without `Errors/all` but with requests had none. A host may lack
 * the metric, so its count is unknown.
 */
function errorCount(inputs: ErrorInputs): number {
  if (inputs.errors !== undefined) return inputs.errors.count ?? NaN;
  return inputs.scope === 'application' && requestCount(inputs, 0) > 0 ? 0 : NaN;
}

/** Returns the requests of the window, with `unreadable` for an unreadable number. */
function requestCount({ web, nonWeb }: ErrorInputs, unreadable: number): number {
  const countOf = (metric: Columns | undefined): number => (metric === undefined ? 0 : (metric.count ?? unreadable));
  return countOf(web) + countOf(nonWeb);
}

/** Returns the score of `Apdex` or `EndUser/Apdex`, from 0 to 1; absent without requests. */
export function apdexScore({ count = NaN, sum = NaN, exclusive = NaN, score }: Columns = {}): number {
  return score ?? (count + sum / 2) / (count + sum + exclusive);
}

/**
 * Returns the memory of all processes: the mean of a process times their number. Agents sample memory several times a
 * minute and report once: a sum of samples would count each process many times. New Relic does not document the
 * result of REST over several minutes; its own pages calculate like this.
 *
 * @param signs `SIGN_OF_LIFE`
 */
export function memoryOfAll(memory: Columns | undefined, signs: Columns | undefined, seconds: number): number {
  return memory?.memory ?? (memoryOfProcess(memory) * 60 * (signs?.count ?? NaN)) / seconds;
}

export function memoryOfProcess({ count = NaN, sum = NaN, processMemory }: Columns = {}): number {
  return processMemory ?? sum / count;
}
