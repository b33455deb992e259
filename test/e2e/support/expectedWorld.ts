import type { Archetype } from '../../../simulator/world/archetypes.ts';
import type { SimulatedApplication } from '../../../simulator/world/worldEntities.ts';
import type { World } from '../../../simulator/world/world.ts';
import { SeriesMap } from './expectedSeries.ts';
import { expectBrowser, expectHealth, expectKeyTransaction, expectRolling, healthOf, WEB } from './expectedState.ts';
import { expectWindow, restFigures, type Labels, type Minutes } from './expectedWindow.ts';

/**
 * The database components that count, by language and name of the application: the documented cases decided by
 * hand, so that the rule itself is tested.
 */
const DATABASES: Readonly<Record<string, readonly string[]>> = {
  'ruby Storefront': ['Datastore/MySQL'],
  'java Checkout API': ['Datastore/Postgres', 'Datastore/MongoDB', 'Datastore/Redis'],
  'java Legacy ERP': ['Database'],
  'java Reports': ['Datastore/JDBC'],
  'ruby Forum': ['ActiveRecord'],
  'python Search': ['Datastore/Elasticsearch'],
  'go Gateway': [],
  'nodejs Chat': ['Datastore/MongoDB', 'Datastore/Redis'],
  'php Blog': ['Datastore/MySQL'],
  'dotnet Billing': ['Datastore/MSSQL'],
  'python Nightly jobs': [],
  'ruby Mail worker': ['Datastore/Postgres'],
  'go Checkout API': ['Datastore/Postgres'],
  'nodejs Quote " back\\slash {brace} [bracket] 100% & <tag> Übergröße 日本': ['Datastore/Odd [store] 50%'],
  'dotnet Admin panel': ['Datastore/MSSQL'],
};

/** The database components that count for applications of this kind. */
export function databasesOf({ language, name }: Archetype): readonly string[] {
  const databases = DATABASES[`${language} ${name}`];
  if (databases === undefined) throw new Error(`which database counts for ${language} ${name}?`);
  return databases;
}

/** When the upstream was asked, and what for. */
export interface Asked {
  /** Milliseconds since 1970 by the simulator's clock, which stands still. */
  readonly now: number;
  readonly window: Minutes;
}

/** Every series about a whole account named `default` that is read through the REST interface, instances too. */
export function expectWorld(world: World, asked: Asked): SeriesMap {
  const series = new SeriesMap();
  for (const application of world.applications()) expectApplication(series, world, application, asked);
  for (const key of world.keyTransactions()) expectKeyTransaction(series, world, key, asked.now);
  return series;
}

/** The complete minutes among the last four. */
function rollingMinutes(now: number): Minutes {
  return { from: Math.ceil(now / 60_000) - 4, to: Math.floor(now / 60_000) };
}

function expectApplication(series: SeriesMap, world: World, application: SimulatedApplication, asked: Asked): void {
  const kind = application.archetype;
  const labels = { account: 'default', app: application.name, app_id: String(application.id) };
  const prefix = 'newrelic_application';
  const add = (suffix: string, value: number | undefined, more: Labels = {}): void =>
    series.add(`${prefix}_${suffix}`, { ...labels, ...more }, value);
  const hosts = world.hosts(application, asked.now);
  const instances = world.instances(application, asked.now);
  add('info', 1, { language: kind.language, alert_policy_id: String(application.alertPolicyId ?? '') });
  add('reporting', kind.reporting ? 1 : 0);
  expectHealth(series, prefix, labels, healthOf(world, world.whole(application), asked.now));
  add('hosts', hosts.length);
  add('instances', instances.length);
  add('settings_apdex_threshold_seconds', kind.apdexTarget);
  add('settings_end_user_apdex_threshold_seconds', kind.endUserApdexTarget);
  add('real_user_monitoring_enabled', kind.browserEnabled ? 1 : 0);
  add('server_side_config_enabled', kind.serverSideConfig ? 1 : 0);
  const scope = world.scope({ application: application.id });
  if (!kind.reporting || scope === undefined) return;

  const rolling = rollingMinutes(asked.now);
  add('last_reported_timestamp_seconds', rolling.to * 60);
  expectRolling(series, world, scope, prefix, labels, rolling, WEB);
  expectBrowser(series, world, scope, prefix, labels, rolling, '', kind.endUserApdexTarget);
  add('rolling_apdex_target_seconds', kind.apdexTarget);
  if (kind.summaryCounts !== 'none') {
    add('rolling_hosts', hosts.length);
    add('rolling_instances', instances.length);
  }
  if (kind.summaryCounts === 'all') add('rolling_concurrent_instances', instances.length);

  const databases = databasesOf(kind);
  expectWindow(series, restFigures(world, scope, asked.window), labels, asked.window, databases);
  for (const host of hosts) {
    const part = world.scope({ application: application.id, host: host.id });
    if (part === undefined) throw new Error(`no host ${host.id}`);
    const hostLabels = { ...labels, host: host.host, host_id: String(host.id) };
    expectPart(series, world, part, 'newrelic_host', hostLabels, asked.now);
    if (kind.summaryCounts !== 'none') {
      series.add('newrelic_host_rolling_instances', hostLabels, part.instances.length);
    }
    expectWindow(series, restFigures(world, part, asked.window), hostLabels, asked.window, databases);
  }
  for (const { id, host, hostId, port } of instances) {
    const part = world.scope({ application: application.id, instance: id });
    if (part === undefined) throw new Error(`no instance ${id}`);
    const ofHost = { ...labels, host, host_id: String(hostId) };
    const instanceLabels = { ...ofHost, instance_id: String(id), port: String(port ?? '') };
    expectPart(series, world, part, 'newrelic_instance', instanceLabels, asked.now);
  }
}

/** State and rolling summary of a host or an instance. */
function expectPart(
  series: SeriesMap,
  world: World,
  scope: NonNullable<ReturnType<World['scope']>>,
  prefix: string,
  labels: Labels,
  now: number,
): void {
  series.add(`${prefix}_info`, { ...labels, language: scope.application.archetype.language }, 1);
  expectHealth(series, prefix, labels, healthOf(world, scope, now));
  expectRolling(series, world, scope, prefix, labels, rollingMinutes(now), WEB);
}
