import type { SimulatedApplication, SimulatedKeyTransaction } from '../../../simulator/world/worldEntities.ts';
import type { World } from '../../../simulator/world/world.ts';
import { SeriesMap } from './expectedSeries.ts';
import { expectHealth, healthOf, keyLabels, keyTransactionHealth } from './expectedState.ts';
import { expectWindow, score, type Labels, type Minutes } from './expectedWindow.ts';
import { databasesOf, type Asked } from './expectedWorld.ts';
import { NerdGraphRows } from './nerdGraphRows.ts';

/**
 * Every series about a whole account named `default` that is read through NerdGraph, by the rules of docs/nerdgraph.md and
 * docs/metrics.md, from what the agents of the world stored.
 */
export function expectNerdGraph(world: World, asked: Asked): SeriesMap {
  const series = new SeriesMap();
  for (const application of world.applications()) expectApplication(series, world, application, asked);
  for (const key of world.keyTransactions()) expectKeyTransaction(series, world, key, asked);
  return series;
}

const before = ({ to }: Minutes, minutes: number): Minutes => ({ from: to - minutes, to });

function expectApplication(series: SeriesMap, world: World, application: SimulatedApplication, asked: Asked): void {
  const { window, now } = asked;
  const kind = application.archetype;
  const prefix = 'newrelic_application';
  const labels = { account: 'default', app: application.name, app_id: String(application.id) };
  const add = (suffix: string, value: number | undefined, more: Labels = {}): void =>
    series.add(`${prefix}_${suffix}`, { ...labels, ...more }, value);
  add('info', 1, { language: kind.language });
  add('reporting', kind.reporting ? 1 : 0);
  expectHealth(series, prefix, labels, healthOf(world, world.whole(application), now));
  add('settings_apdex_threshold_seconds', kind.apdexTarget);
  add('rolling_apdex_target_seconds', kind.apdexTarget);
  add('server_side_config_enabled', kind.serverSideConfig ? 1 : 0);
  if (!kind.reporting) return;

  const [hosts, instances] = [world.hosts(application, now), world.instances(application, now)];
  for (const name of ['hosts', 'rolling_hosts']) add(name, hosts.length);
  for (const name of ['instances', 'rolling_instances']) add(name, instances.length);
  const recent = new NerdGraphRows(world, application, before(window, 4));
  expectRolling(series, recent, prefix, labels);
  expectBrowser(series, recent, labels);
  const databases = databasesOf(kind);
  const rows = new NerdGraphRows(world, application, window);
  expectWindow(series, rows.figures('application'), labels, window, databases);
  for (const host of new Set(hosts.map(({ host: name }) => name))) {
    const hostLabels = { ...labels, host, host_id: host };
    series.add('newrelic_host_info', { ...hostLabels, language: kind.language }, 1);
    expectRolling(series, new NerdGraphRows(world, application, before(window, 4), host), 'newrelic_host', hostLabels);
    const ofHost = new NerdGraphRows(world, application, window, host);
    expectWindow(series, ofHost.figures('host'), hostLabels, window, databases);
  }
}

/** Sums of the last 4 minutes; an average over nothing is absent. */
function expectRolling(series: SeriesMap, rows: NerdGraphRows, prefix: string, labels: Labels): void {
  const add = (suffix: string, value: number | undefined): void =>
    series.add(`${prefix}_rolling_${suffix}`, labels, value);
  const web = rows.counted('HttpDispatcher');
  const all = (web?.count ?? 0) + (rows.row('OtherTransaction/all')?.count ?? 0);
  add('requests_per_second', web === undefined ? undefined : web.count / 240);
  add('response_time_seconds', web === undefined || web.count === 0 ? undefined : web.total / web.count);
  add('error_ratio', all === 0 ? undefined : (rows.row('Errors/all')?.count ?? 0) / all);
  add('apdex_score', score(rows.row('Apdex')));
}

function expectBrowser(series: SeriesMap, rows: NerdGraphRows, labels: Labels): void {
  const add = (suffix: string, value: number | undefined): void =>
    series.add(`newrelic_application_end_user_rolling_${suffix}`, labels, value);
  const [views, verdicts] = [rows.row('EndUser'), rows.row('EndUser/Apdex')];
  add('page_views_per_second', views === undefined ? undefined : views.count / 240);
  add('response_time_seconds', views === undefined ? undefined : views.total / views.count);
  add('apdex_target_seconds', verdicts?.max);
  add('apdex_score', score(verdicts));
}

function expectKeyTransaction(series: SeriesMap, world: World, key: SimulatedKeyTransaction, asked: Asked): void {
  const owner = world.application(key.applicationId);
  const labels = keyLabels(world, key);
  const prefix = 'newrelic_key_transaction';
  const add = (suffix: string, value: number | undefined, more: Labels = {}): void =>
    series.add(`${prefix}_${suffix}`, { ...labels, ...more }, value);
  add('info', 1, { transaction_name: key.transactionName });
  // Whether the bare one reports is not known, which counts as yes.
  add('reporting', key.state === 'silent' ? 0 : 1);
  if (key.state !== 'bare') expectHealth(series, prefix, labels, keyTransactionHealth(world, key, asked.now));
  add('rolling_apdex_target_seconds', key.apdexTarget);

  const minutes = before(asked.window, 10);
  const source = world.application(key.source.application.id);
  const measured =
    source === undefined || key.state === 'idle' || key.state === 'silent'
      ? undefined
      : new NerdGraphRows(world, source, minutes);
  const ofOwner = owner === undefined ? undefined : new NerdGraphRows(world, owner, minutes);
  const transaction = key.transactionName.replace('WebTransaction/', '');
  const calls = measured?.row(`WebTransaction/${transaction}`);
  if (calls === undefined) {
    add('rolling_requests_per_second', ofOwner?.reports === true ? 0 : undefined);
    return;
  }
  add('rolling_requests_per_second', calls.count / 600);
  add('rolling_response_time_seconds', calls.total / calls.count);
  add('rolling_error_ratio', (measured?.row(`Errors/WebTransaction/${transaction}`)?.count ?? 0) / calls.count);
  add('rolling_apdex_score', score(ofOwner?.row(`Apdex/${transaction}`)));
}
