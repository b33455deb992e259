import { METRIC, isDatastore, type Columns, type WindowValues } from './metricInputs.ts';

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
  return values.metrics.get(name)?.count;
}
