import type { WorldScope, World } from '../../../simulator/world/world.ts';
import type { TimesliceSum } from '../../../simulator/world/timesliceValues.ts';
import type { SeriesMap } from './expectedSeries.ts';

export type Labels = Readonly<Record<string, string>>;

/** A run of whole minutes since 1970: from the first to before the second. */
export interface Minutes {
  readonly from: number;
  readonly to: number;
}

/** What the agents of a scope reported of one metric in these minutes; undefined when nothing was. */
export function reported(
  world: World,
  scope: WorldScope,
  name: string,
  { from, to }: Minutes,
): TimesliceSum | undefined {
  const metric = world.metric(scope, name);
  const sum = metric === undefined ? undefined : world.sum(scope, [metric], from, to)[0];
  return sum?.reported === true ? sum : undefined;
}

/** In the simulator's world the first three numbers of an Apdex timeslice are the zones. */
export function score(zones: TimesliceSum | undefined): number | undefined {
  if (zones === undefined) return undefined;
  const { count: satisfied, total: tolerating, totalExclusive: frustrated } = zones;
  const all = satisfied + tolerating + frustrated;
  return all === 0 ? undefined : (satisfied + tolerating / 2) / all;
}

const MEBIBYTE = 1024 * 1024;
const CACHE_AND_EXTERNAL = { Memcache: 'Memcache/allWeb', External: 'External/allWeb' };

/** The metric a component's figures come from. */
function metricOf(component: string): string {
  return component === 'ActiveRecord' ? 'ActiveRecord/all' : `${component}/allWeb`;
}

/** What an interface tells of an application or host over a window. */
export interface WindowFigures {
  readonly level: 'application' | 'host';
  /** Seconds and counts of a metric; undefined when the interface has no data of it. */
  readonly get: (name: string) => TimesliceSum | undefined;
  readonly memoryMegabytes: number | undefined;
  /** Errors where the interface has no data of them, by the number of requests and background transactions. */
  readonly errorsWithoutData: (requests: number) => number | undefined;
}

/** What the REST interface tells of a scope. */
export function restFigures(world: World, scope: WorldScope, minutes: Minutes): WindowFigures {
  const level = scope.level === 'host' ? 'host' : 'application';
  const memory = reported(world, scope, 'Memory/Physical', minutes);
  const divisor = level === 'host' ? memory?.count : minutes.to - minutes.from;
  return {
    level,
    get: (name) => reported(world, scope, name, minutes),
    memoryMegabytes: memory && divisor ? memory.total / divisor : undefined,
    // Without any record, an application with traffic has no errors; of a host it is not known.
    errorsWithoutData: (requests) => (level === 'application' && requests > 0 ? 0 : undefined),
  };
}

/**
 * The families about a window (docs/metrics.md) for one application or host, from seconds and counts as the agents
 * reported them.
 *
 * @param databases components of the database kind that counts
 */
export function expectWindow(
  series: SeriesMap,
  { level, get, memoryMegabytes, errorsWithoutData }: WindowFigures,
  labels: Labels,
  minutes: Minutes,
  databases: readonly string[],
): void {
  const add = (suffix: string, value: number | undefined, more: Labels = {}): void =>
    series.add(`newrelic_${level}_${suffix}`, { ...labels, ...more }, value);
  const seconds = (minutes.to - minutes.from) * 60;

  const web = get('HttpDispatcher');
  const background = get('OtherTransaction/all');
  const requests = web?.count ?? 0;
  const perRequest = (total: number | undefined): number | undefined =>
    total === undefined || requests === 0 ? undefined : total / requests;
  const queue = get('WebFrontend/QueueTime');
  add('response_time_seconds', perRequest(web === undefined ? undefined : web.total + (queue?.total ?? 0)));
  add('web_transaction_time_seconds', perRequest(web?.total));
  add('queue_time_seconds', perRequest(queue?.total));

  let inComponents = 0;
  for (const component of [...databases, ...Object.keys(CACHE_AND_EXTERNAL)]) {
    const part = get(metricOf(component));
    inComponents += perRequest(part?.total) ?? 0;
    add('component_time_seconds', perRequest(part?.total), { component });
    add('component_calls_per_second', part === undefined ? undefined : part.count / seconds, { component });
  }
  const whole = get('WebTransactionTotalTime');
  const wholeTime = whole === undefined ? perRequest(web?.total) : perRequest(whole.total);
  add('total_time_seconds', wholeTime === undefined ? undefined : wholeTime - inComponents);

  add('web_requests_per_second', web === undefined ? undefined : web.count / seconds);
  add('non_web_requests_per_second', background === undefined ? undefined : background.count / seconds);
  const all = requests + (background?.count ?? 0);
  const errors = get('Errors/all')?.count ?? errorsWithoutData(all);
  add('error_ratio', errors === undefined || all === 0 ? undefined : errors / all);
  add('errors_per_second', errors === undefined ? undefined : errors / seconds);

  expectApdex('apdex', get('Apdex'));
  const browser = get('EndUser');
  add('end_user_response_time_seconds', browser && browser.count > 0 ? browser.total / browser.count : undefined);
  add('end_user_page_views_per_second', browser === undefined ? undefined : browser.count / seconds);
  expectApdex('end_user_apdex', get('EndUser/Apdex'));

  add('memory_used_bytes', memoryMegabytes === undefined ? undefined : memoryMegabytes * MEBIBYTE);
  const cpu = get('CPU/User Time');
  add('cpu_usage_ratio', cpu === undefined ? undefined : cpu.total / seconds);

  function expectApdex(prefix: string, slice: TimesliceSum | undefined): void {
    if (slice === undefined) return;
    const zones = { satisfied: slice.count, tolerating: slice.total, frustrated: slice.totalExclusive };
    add(`${prefix}_score`, score(slice));
    add(`${prefix}_threshold_seconds`, slice.max);
    for (const [zone, value] of Object.entries(zones)) add(`${prefix}_requests`, value, { zone });
  }
}
