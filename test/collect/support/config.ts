import type { AccountConfig, CollectionConfig, Config } from '../../../src/config/config.ts';

type Deep<T> = T extends readonly unknown[] ? T : T extends object ? { readonly [K in keyof T]?: Deep<T[K]> } : T;

const ACCOUNT: AccountConfig = {
  name: 'main',
  region: 'us',
  api: 'rest',
  account_id: undefined,
  base_url: 'https://api.newrelic.com/v2',
  api_key: 'key',
  api_key_file: undefined,
  api_key_header: 'X-Api-Key',
  labels: {},
  tls: { ca_file: undefined, server_name: undefined },
  applications: { include: undefined, exclude: [], reporting_only: true, settings: [] },
  hosts: true,
  instances: false,
  key_transactions: true,
  custom_metrics: [],
  limits: { max_concurrent_requests: 8, requests_per_minute: 600, request_timeout: 10_000, max_retries: 2 },
};

const COLLECTION: CollectionConfig = {
  window: 1_800_000,
  delay: 120_000,
  scrape_timeout_offset: 500,
  default_scrape_timeout: 10_000,
  max_age: 300_000,
  raw_values: false,
  background: false,
  intervals: {
    applications: 60_000,
    key_transactions: 60_000,
    application_metrics: 60_000,
    host_metrics: 60_000,
    hosts: 300_000,
    instances: 300_000,
    metric_names: 21_600_000,
  },
  max_series: 500_000,
};

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
