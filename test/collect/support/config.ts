import type { AccountConfig, CollectionConfig, Config } from '../../../src/config/config.ts';
import { formatDiagnostic } from '../../../src/config/diagnostic.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { QueryDefinition } from '../../../src/metrics/queryFamilies.ts';

type Deep<T> = T extends readonly unknown[] ? T : T extends object ? { readonly [K in keyof T]?: Deep<T[K]> } : T;

/** One account and a collection with every default. */
const DEFAULTS = defaults('accounts: [{name: main, api: rest, api_key: key}]');
const ACCOUNT: AccountConfig = DEFAULTS.account;
const COLLECTION: CollectionConfig = DEFAULTS.collection;

function defaults(text: string): { readonly account: AccountConfig; readonly collection: CollectionConfig } {
  const loaded = loadConfig({ path: 'config.yaml', text }, {});
  if ('diagnostics' in loaded) throw new Error(loaded.diagnostics.map(formatDiagnostic).join('; '));
  const [account] = loaded.config.accounts;
  if (account === undefined) throw new Error('the configuration has no account');
  return { account, collection: loaded.config.collection };
}

export function accountConfig(
  over: Partial<Omit<AccountConfig, 'limits' | 'applications'>> & {
    limits?: Partial<AccountConfig['limits']>;
    applications?: Partial<AccountConfig['applications']>;
  } = {},
): AccountConfig {
  return {
    ...ACCOUNT,
    ...over,
    limits: { ...ACCOUNT.limits, ...over.limits },
    applications: { ...ACCOUNT.applications, ...over.applications },
  };
}

export function collectionConfig(over: Deep<CollectionConfig> = {}): CollectionConfig {
  return { ...COLLECTION, ...over, intervals: { ...COLLECTION.intervals, ...over.intervals } };
}

export function config(account = accountConfig(), collection = collectionConfig()): Config {
  return { accounts: [account], collection };
}

/** A query that is read once a minute, and feeds one family. */
export function query(name: string, over: Partial<QueryDefinition> = {}): QueryDefinition {
  return {
    ...{ name, nrql: `SELECT count(*) FROM ${name}`, interval: 60_000, max_series: 5_000 },
    metrics: [{ name: `rows_of_${name}`, help: 'Rows', scale: 1 }],
    ...over,
  };
}

/** A custom metric of applications. */
export function customMetric(
  over: Partial<AccountConfig['custom_metrics'][number]> = {},
): AccountConfig['custom_metrics'][number] {
  return {
    ...{ name: 'custom_depth', help: 'Depth', match: 'Custom/{queue}/depth', value: 'average_value' },
    ...{ scale: 1, scope: 'application', max_series: 100 },
    ...over,
  };
}
