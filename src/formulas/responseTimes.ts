import {
  fallbackIfZero,
  finite,
  type TimedCalls,
  type Values,
  type WindowValues,
  METRIC,
  isDatastore,
} from './metricInputs.ts';

/**
 * Response time of a web request with queueing, in seconds: the average call time (the average response time where that is
 * absent or 0) plus the queueing per web request. An absent queue counts as 0; an unreadable one leaves the result absent. Absent
 * without web requests.
 *
 * @param web `HttpDispatcher`; times in milliseconds
 */
export function responseTime(
  web: Values<'call_count' | 'average_call_time' | 'average_response_time'> | undefined,
  queue: TimedCalls | undefined,
): number | undefined {
  if (web === undefined || !hasCalls(web.call_count)) return undefined;
  const served = fallbackIfZero(web.average_call_time, web.average_response_time);
  const queued = queue === undefined ? 0 : timePerRequest(queue, web.call_count);
  return served === undefined || queued === undefined ? undefined : finite(served / 1000 + queued);
}

/**
 * Seconds that these calls (of the request queue, or of a component) take per web request: average × calls / web requests. With
 * 0 calls no average is needed. Absent where an input is absent, and without web requests.
 */
export function timePerRequest(timed: TimedCalls | undefined, webRequests: number | undefined): number | undefined {
  const calls = timed?.call_count;
  if (!hasCalls(webRequests) || calls === undefined) return undefined;
  if (calls === 0) return 0;
  const average = timed?.average_response_time;
  return average === undefined ? undefined : finite((average * calls) / webRequests / 1000);
}

/** The average time of one call in seconds; absent with 0 calls, for which there is no average. */
export function averageTime(timed: TimedCalls | undefined): number | undefined {
  const average = timed?.average_response_time;
  return average === undefined || !hasCalls(timed?.call_count) ? undefined : average / 1000;
}

/** True when there were calls, and so an average per call. */
function hasCalls(calls: number | undefined): calls is number {
  return calls !== undefined && calls > 0;
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
  web: TimedCalls | undefined,
  total: Values<'average_response_time'> | undefined,
  components: readonly TimedCalls[],
): number | undefined {
  const webRequests = web?.call_count;
  if (!hasCalls(webRequests) || (total !== undefined && total.average_response_time === undefined)) return undefined;
  const average = fallbackIfZero(total?.average_response_time, web?.average_response_time);
  if (average === undefined) return undefined;
  let inComponents = 0;
  for (const component of components) {
    const time = timePerRequest(component, webRequests);
    if (time === undefined) return undefined;
    inComponents += time;
  }
  return finite(average / 1000 - inComponents);
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
  const kinds = candidates(values, language?.trim().toLowerCase() === 'ruby');
  for (const kind of kinds) {
    const calls = namesOf(values, kind).map((name) => callsOf(values, name));
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
  const called = names.filter((name) => (callsOf(values, name) ?? Infinity) > 0);
  return called.length > 0 ? called : names;
}

function candidates(values: WindowValues, isRuby: boolean): readonly DatabaseKind[] {
  if (!isRuby) return ['datastore', 'database'];
  return values.metrics.has(METRIC.activeRecord) ? ['active_record', 'datastore'] : ['datastore', 'database'];
}

/** The metrics of a kind that are in the response. */
function namesOf(values: WindowValues, choice: DatabaseChoice): string[] {
  switch (choice) {
    case 'datastore':
      return [...values.metrics.keys()].filter(isDatastore).sort();
    case 'database':
      return values.metrics.has(METRIC.database) ? [METRIC.database] : [];
    case 'active_record':
      return values.metrics.has(METRIC.activeRecord) ? [METRIC.activeRecord] : [];
    case 'none':
      return [];
  }
}

function callsOf(values: WindowValues, name: string): number | undefined {
  return values.metrics.get(name)?.['call_count'];
}
