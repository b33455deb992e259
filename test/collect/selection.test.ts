import { describe, expect, it } from 'vitest';
import { enabledGroups } from '../../src/collect/inventory/accountContext.ts';
import {
  effectiveSettings,
  onlyIds,
  readsMetricData,
  selectKeyTransactions,
  selects,
  unmatched,
} from '../../src/collect/inventory/selection.ts';
import { findNeededGroups } from '../../src/collect/schedule/demand.ts';
import type { AccountConfig } from '../../src/config/config.ts';
import { GROUPS, type Group } from '../../src/reads/reads.ts';
import { application, keyTransaction } from './support/bodies.ts';
import { accountConfig, customMetric } from './support/config.ts';
import { FakeReader } from './support/fakeReader.ts';
import { VirtualClock } from './support/virtualClock.ts';
import { NERDGRAPH } from './support/world.ts';

const DEPTH = customMetric({ match: 'Custom/Queue/{queue}/depth' });
const reader = new FakeReader(new VirtualClock());
const shop = application(7, { name: 'shop-eu' });

describe('the selection of applications', () => {
  it.each([
    ['includes everything by default', undefined, [], true],
    ['leaves out other names', [{ name: 'shop' }], [], false],
    ['leaves out an excluded application although it is included', [{ id: 7 }], [{ name: '*-eu' }], false],
  ])('%s', (_, include, exclude, chosen) => {
    expect(selects({ include, exclude }, shop)).toBe(chosen);
  });

  it('requests only ids when nothing else is included', () => {
    expect(onlyIds({ include: [{ id: 7 }, { id: 8 }, { id: 7 }], exclude: [] })).toEqual([7, 8]);
    expect(onlyIds({ include: [{ id: 7 }, { name: 'a' }], exclude: [] })).toBeUndefined();
    expect(onlyIds({ include: undefined, exclude: [{ id: 7 }] })).toBeUndefined();
  });

  it('names the include patterns without a match', () => {
    const include = [{ id: 7 }, { id: 9 }, { name: 'shop-*' }, { name: 'x*' }];
    expect(unmatched(include, [shop])).toEqual([{ id: 9 }, { name: 'x*' }]);
    for (const listed of [undefined, []]) expect(unmatched(include, listed)).toEqual([]);
  });

  it('applies the first matching settings before those of the account', () => {
    const settings = [
      { match: { name: 'shop-*' }, database_component: 'database' as const, hosts: false },
      { match: { id: 7 }, database_component: 'datastore' as const, hosts: true },
    ];
    expect(effectiveSettings(accountConfig({ applications: { settings } }), shop)).toEqual({
      database: 'database',
      hosts: false,
    });
    expect(effectiveSettings(accountConfig(), shop)).toEqual({ database: 'auto', hosts: true });
  });

  it('reads metric data of applications that report, may report, or are wanted anyway', () => {
    const account = accountConfig();
    expect(readsMetricData(account, shop)).toBe(true);
    expect(readsMetricData(account, { ...shop, reporting: undefined })).toBe(true);
    expect(readsMetricData(account, { ...shop, reporting: false })).toBe(false);
    const all = accountConfig({ applications: { reporting_only: false } });
    expect(readsMetricData(all, { ...shop, reporting: false })).toBe(true);
  });
});

describe('the selection of key transactions', () => {
  const all = [keyTransaction(1, 7), keyTransaction(2, 8), keyTransaction(3, 0, { applicationId: undefined })];
  const served = (id: number): boolean => id === 7;
  const ids = (account: ReturnType<typeof accountConfig>) =>
    selectKeyTransactions(account, all, served).map(({ id }) => id);

  it.each([
    ['all', accountConfig(), [1, 2, 3]],
    ['none', accountConfig({ key_transactions: false }), []],
    ['the key transactions of exported applications', accountConfig({ applications: { include: [{ id: 7 }] } }), [1]],
    [
      'what the configuration selects',
      accountConfig({ key_transactions: { include: [{ name: 'key-*' }], exclude: [{ id: 1 }] } }),
      [2, 3],
    ],
  ])('is %s', (_, account, expected) => {
    expect(ids(account)).toEqual(expected);
  });
});

describe('a scope', () => {
  const needs = (groups: readonly Group[], account = accountConfig(), read = reader) =>
    findNeededGroups({ groups: new Set(groups) }, { account, enabled: enabledGroups(account, read) });

  it('needs the lists of its groups, and once the lists that decide how they are read', () => {
    expect(needs([]).always).toEqual(new Set());
    expect(needs(['hosts']).always).toEqual(new Set(['hosts', 'applications']));
    const hosts = needs(['host_metrics']);
    expect(hosts.always).toEqual(new Set(['host_metrics', 'applications', 'metric_names', 'hosts']));
    expect(hosts.once).toEqual(new Set(['application_metrics', 'custom_metrics']));
    const ofNoApplication: readonly Group[] = ['queries', 'entities', 'golden_metrics'];
    for (const group of GROUPS.filter((each) => !ofNoApplication.includes(each)))
      expect(needs([group]).always).toContain('applications');
  });

  it('needs no list of datastores on an interface without such a list', () => {
    const nerdgraph = new FakeReader(new VirtualClock(), NERDGRAPH);
    expect(needs(['metric_names'], accountConfig(), nerdgraph).always).toEqual(new Set());
  });

  it('needs for custom metrics only the data of the applications or hosts of these metrics', () => {
    const ofScopes = (...scopes: AccountConfig['custom_metrics'][number]['scope'][]) => {
      const custom_metrics = scopes.map((scope, index) => ({ ...DEPTH, name: `depth_${index}`, scope }));
      return needs(['custom_metrics'], accountConfig({ custom_metrics }));
    };
    const ofApplications = ['custom_metrics', 'applications', 'metric_names', 'application_metrics'];
    const ofHosts = ['custom_metrics', 'applications', 'metric_names', 'hosts', 'host_metrics'];
    expect(ofScopes().always).toEqual(new Set(['custom_metrics', 'applications']));
    expect(ofScopes('application').always).toEqual(new Set(ofApplications));
    expect(ofScopes('host').always).toEqual(new Set(ofHosts));
    expect(ofScopes('host').once).toContain('application_metrics');
    expect(ofScopes('host', 'application').always).toEqual(new Set([...ofApplications, ...ofHosts]));
  });

  it.each([
    ['key_transactions', accountConfig({ key_transactions: false }), false],
    ['instances', accountConfig(), false],
    ['instances', accountConfig({ instances: true }), true],
    ['hosts', accountConfig({ hosts: false }), false],
    [
      'host_metrics',
      accountConfig({
        hosts: false,
        applications: { settings: [{ match: { id: 1 }, database_component: 'auto', hosts: true }] },
      }),
      true,
    ],
    ['custom_metrics', accountConfig(), false],
    ['applications', accountConfig(), true],
  ] as const)('reads %s as the account configures', (group, account, on) => {
    expect(enabledGroups(account, reader).has(group)).toBe(on);
  });
});
