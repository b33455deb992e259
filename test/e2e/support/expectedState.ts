import {
  health,
  keyTransactionReports,
  keyTransactionSummary,
  rollingSummary,
} from '../../../simulator/world/rollingFigures.ts';
import type { SimulatedKeyTransaction } from '../../../simulator/world/worldEntities.ts';
import type { WorldScope, World } from '../../../simulator/world/world.ts';
import type { SeriesMap } from './expectedSeries.ts';
import { reported, score, type Labels, type Minutes } from './expectedWindow.ts';

const STATUSES = ['green', 'orange', 'red', 'gray', 'unknown'];

/** Health of an application, a host or an instance, as New Relic gives it and the exporter publishes it. */
export function healthOf(world: World, scope: WorldScope, now: number): string {
  const { reporting, alertPolicy } = scope.application.archetype;
  return health(reporting, alertPolicy, rollingSummary(world, scope, now));
}

/** Health of a key transaction, as New Relic gives it. */
export function keyTransactionHealth(world: World, key: SimulatedKeyTransaction, now: number): string {
  const { alertPolicy } = key.source.application.archetype;
  return health(keyTransactionReports(key, now), alertPolicy, keyTransactionSummary(world, key, now));
}

/** One series per known status, 1 for the current one. */
export function expectHealth(series: SeriesMap, prefix: string, labels: Labels, current: string): void {
  for (const status of STATUSES) {
    series.add(`${prefix}_health_status`, { ...labels, status }, status === current ? 1 : 0);
  }
}

/** The metrics of which a rolling summary is calculated. */
interface Sources {
  readonly calls: string;
  readonly errors: string;
  readonly apdex: string;
}

export const WEB: Sources = { calls: 'HttpDispatcher', errors: 'Errors/allWeb', apdex: 'Apdex' };

/** The rolling families of `application_summary`; without calls, averages are absent. */
export function expectRolling(
  series: SeriesMap,
  world: World,
  scope: WorldScope,
  prefix: string,
  labels: Labels,
  minutes: Minutes,
  sources: Sources,
): void {
  const calls = reported(world, scope, sources.calls, minutes);
  const errors = reported(world, scope, sources.errors, minutes)?.count ?? 0;
  const count = calls?.count ?? 0;
  const add = (suffix: string, value: number | undefined): void => series.add(prefix + suffix, labels, value);
  add('_rolling_requests_per_second', count / (minutes.to - minutes.from) / 60);
  if (count === 0 || calls === undefined) return;
  add('_rolling_response_time_seconds', calls.total / count);
  add('_rolling_error_ratio', errors / count);
  add('_rolling_apdex_score', score(reported(world, scope, sources.apdex, minutes)));
}

/** The rolling families of `end_user_summary`, where there is browser data. */
export function expectBrowser(
  series: SeriesMap,
  world: World,
  scope: WorldScope,
  prefix: string,
  labels: Labels,
  minutes: Minutes,
  suffix: string,
  target: number,
): void {
  if (world.metric(scope, `EndUser${suffix}`) === undefined) return;
  const views = reported(world, scope, `EndUser${suffix}`, minutes);
  const count = views?.count ?? 0;
  const add = (name: string, value: number | undefined): void =>
    series.add(`${prefix}_end_user_rolling_${name}`, labels, value);
  add('page_views_per_second', count / (minutes.to - minutes.from) / 60);
  add('apdex_target_seconds', target);
  if (count === 0 || views === undefined) return;
  add('response_time_seconds', views.total / count);
  add('apdex_score', score(reported(world, scope, `EndUser/Apdex${suffix}`, minutes)));
}

/** The labels of a key transaction. */
export function keyLabels(world: World, key: SimulatedKeyTransaction): Labels {
  return {
    account: 'default',
    app: world.application(key.applicationId)?.name ?? '',
    app_id: String(key.applicationId),
    key_transaction: key.name,
    key_transaction_id: String(key.id),
  };
}

/** All families of one key transaction. */
export function expectKeyTransaction(series: SeriesMap, world: World, key: SimulatedKeyTransaction, now: number): void {
  const minute = Math.floor(now / 60_000);
  const minutes = { from: minute - 10, to: minute };
  const prefix = 'newrelic_key_transaction';
  const labels = keyLabels(world, key);
  series.add(`${prefix}_info`, { ...labels, transaction_name: key.transactionName }, 1);
  const reports = key.state !== 'silent';
  if (key.state !== 'bare') {
    series.add(`${prefix}_reporting`, labels, reports ? 1 : 0);
    series.add(`${prefix}_last_reported_timestamp_seconds`, labels, reports ? minute * 60 : undefined);
    expectHealth(series, prefix, labels, keyTransactionHealth(world, key, now));
  }
  const scope = world.scope({ application: key.source.application.id });
  if (scope === undefined || !reports) return;
  series.add(`${prefix}_rolling_apdex_target_seconds`, labels, key.apdexTarget);
  if (key.state === 'idle') {
    series.add(`${prefix}_rolling_requests_per_second`, labels, 0);
    return;
  }
  const { transaction } = key.source;
  const sources = {
    calls: `WebTransaction/${transaction}`,
    errors: `Errors/WebTransaction/${transaction}`,
    apdex: `Apdex/${transaction}`,
  };
  expectRolling(series, world, scope, prefix, labels, minutes, sources);
  const target = scope.application.archetype.endUserApdexTarget;
  expectBrowser(series, world, scope, prefix, labels, minutes, `/${transaction}`, target);
}
