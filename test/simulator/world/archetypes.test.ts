import { describe, expect, it } from 'vitest';
import { type SimulatedApplication, isReporting, MINUTE } from '../../../simulator/world/worldEntities.ts';
import { createWorld } from '../../../simulator/world/world.ts';

const NOW = Date.UTC(2026, 4, 20, 14, 7, 31);
const TO = Math.floor(NOW / MINUTE);
const world = createWorld({ seed: 3 });
const applications = world.applications();

/** Names of the metrics with data in the last half hour, and their calls. */
const reported = new Map(
  applications.map(({ id }) => {
    const scope = world.scope({ application: id })!;
    const metrics = world.metrics(scope);
    const sums = world.sum(scope, metrics, TO - 30, TO);
    const found = metrics.flatMap(({ name }, index) => (sums[index]!.reported ? [[name, sums[index]!] as const] : []));
    return [id, new Map(found)];
  }),
);

const has = (application: SimulatedApplication, name: string) => reported.get(application.id)!.has(name);
const calls = (application: SimulatedApplication, name: string) => reported.get(application.id)!.get(name)?.count ?? 0;
const isBusy = (application: SimulatedApplication) => calls(application, 'HttpDispatcher') > 0;
const named = (application: SimulatedApplication, pattern: RegExp) =>
  [...reported.get(application.id)!.keys()].filter((name) => pattern.test(name));
const datastores = (application: SimulatedApplication) => named(application, /^Datastore\/[^/]+\/allWeb$/);
const queueing = (application: SimulatedApplication) =>
  reported.get(application.id)!.get('WebFrontend/QueueTime')?.total;

/** Each case that the vendor documents, as a test for the application that shows it. */
const CASES: Readonly<Record<string, (application: SimulatedApplication) => boolean>> = {
  'several datastore types': (one) => datastores(one).length >= 2,
  'one datastore type': (one) => datastores(one).length === 1,
  'the generic database alone': (one) =>
    has(one, 'Database/allWeb') && datastores(one).length === 0 && !has(one, 'ActiveRecord/all'),
  'datastore and generic database at once': (one) => has(one, 'Database/allWeb') && datastores(one).length > 0,
  'old ruby with ActiveRecord': (one) => one.archetype.language === 'ruby' && calls(one, 'ActiveRecord/all') > 0,
  'newer ruby with datastores': (one) => one.archetype.language === 'ruby' && isBusy(one) && datastores(one).length > 0,
  'no database at all': (one) =>
    isBusy(one) && named(one, /^(Datastore\/.*|Database)\/allWeb$|^ActiveRecord/).length === 0,
  'no queue metric': (one) => isBusy(one) && !has(one, 'WebFrontend/QueueTime'),
  'queueing at zero': (one) => queueing(one) === 0,
  queueing: (one) => (queueing(one) ?? 0) > 0,
  'no total time': (one) => isBusy(one) && !has(one, 'WebTransactionTotalTime'),
  'a total time': (one) => calls(one, 'WebTransactionTotalTime') > 0,
  'components that exceed the total': (one) =>
    Object.values(one.archetype.components).reduce((sum, [, share]) => sum + share, 0) * 0.9 >
    (one.archetype.totalTimeFactor ?? Infinity),
  'browser data': (one) => calls(one, 'EndUser') > 0 && calls(one, 'EndUser/Apdex') > 0,
  'browser monitoring without data': (one) =>
    one.archetype.browserEnabled && isReporting(one, NOW) && !has(one, 'EndUser'),
  'background work without HttpDispatcher': (one) =>
    calls(one, 'OtherTransaction/all') > 0 && !has(one, 'HttpDispatcher'),
  'background work with HttpDispatcher at zero': (one) =>
    calls(one, 'OtherTransaction/all') > 0 && has(one, 'HttpDispatcher') && calls(one, 'HttpDispatcher') === 0,
  'an application that does not report': (one) => !isReporting(one, NOW) && reported.get(one.id)!.size === 0,
  'a name that is there twice': (one) => applications.filter(({ name }) => name === one.name).length === 2,
  'hosts of one name': (one) => {
    const hosts = world.hosts(one, NOW);
    return hosts.length > 1 && new Set(hosts.map(({ host }) => host)).size === 1;
  },
  'several instances on a host': (one) => world.instances(one, NOW).length > world.hosts(one, NOW).length,
  'an instance at port 0': (one) => world.instances(one, NOW)[0]?.port === 0,
  'an instance without a port': (one) => world.instances(one, NOW).some(({ port }) => port === undefined),
  'odd characters in a name': (one) =>
    ['"', '\\', '[', ']', '%', '{', 'ö', '日'].every((character) => one.name.includes(character)),
  'no Errors/all, despite traffic': (one) => isBusy(one) && !has(one, 'Errors/all'),
  'a metric that is no longer collected': (one) =>
    has(one, 'Memcache/allWeb') && calls(one, 'Memcache/allWeb') === 0 && isBusy(one),
  'a cache in use': (one) => calls(one, 'Memcache/allWeb') > 0,
  'web external calls': (one) => calls(one, 'External/allWeb') > 0,
  'custom metrics': (one) => named(one, /^Custom\/Queue\/.+\/depth$/).length > 1,
  'a metric name with brackets, bar and percent sign': (one) => named(one, /[[|%]/).length > 0,
  'no alert policy': (one) => isReporting(one, NOW) && one.alertPolicyId === undefined,
  'a name list of more than two pages': (one) => reported.get(one.id)!.size > 2000,
};

describe('the first sixteen applications', () => {
  it('cover every language with an agent', () => {
    const languages = ['ruby', 'java', 'python', 'go', 'nodejs', 'php', 'dotnet'];
    expect(new Set(applications.map(({ archetype }) => archetype.language))).toEqual(new Set(languages));
  });

  it.each(Object.entries(CASES))('include %s', (_, shows) => {
    expect(applications.filter(shows)).not.toEqual([]);
  });

  it('are at most sixteen archetypes, which a larger world repeats under other names', () => {
    expect(applications.length).toBeLessThanOrEqual(16);
    const larger = createWorld({ applications: 40 }).applications();
    expect(larger).toHaveLength(40);
    expect(larger[16]).toMatchObject({ name: 'Storefront 2', archetype: { language: 'ruby' } });
    expect(larger.slice(0, 16).map(({ name }) => name)).toEqual(applications.map(({ name }) => name));
    expect(new Set(larger.map(({ id }) => id)).size).toBe(40);
  });

  it('have key transactions that are busy, idle, silent and bare, and one of an invisible application', () => {
    const keys = world.keyTransactions();
    expect(new Set(keys.map(({ state }) => state))).toEqual(new Set(['busy', 'idle', 'silent', 'bare']));
    expect(keys.filter(({ applicationId }) => world.application(applicationId) === undefined)).toHaveLength(1);
    expect(createWorld({ applications: 450, keyTransactions: 230 }).keyTransactions()).toHaveLength(230);
  });
});
