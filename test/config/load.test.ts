import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { redactConfig } from '../../src/config/schema/file.ts';
import { configOf, faultsOf, withAccount } from './reading.ts';

const DEFAULTS = {
  accounts: [
    {
      name: 'default',
      region: 'us',
      api: 'nerdgraph',
      account_id: undefined,
      base_url: 'https://api.newrelic.com/graphql',
      api_key: 'abcd',
      api_key_file: undefined,
      api_key_header: 'Api-Key',
      labels: {},
      tls: { ca_file: undefined, server_name: undefined },
      applications: { read: true, include: undefined, exclude: [], reporting_only: true, settings: [], tags: [] },
      hosts: true,
      counters: false,
      instances: false,
      key_transactions: true,
      custom_metrics: [],
      entities: [],
      queries: [],
      query_files: [],
      query_packs: [],
      limits: { max_concurrent_requests: 5, requests_per_minute: 600, request_timeout: 30_000, max_retries: 2 },
    },
  ],
  collection: {
    window: 300_000,
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
      counters: 60_000,
      entities: 300_000,
      accounts: 600_000,
    },
    max_series: 500_000,
  },
};

const EVERY_KEY = `
accounts:
  - name: production
    api: rest
    account_id: 1234567
    base_url: https://proxy.example:8443/newrelic/v2
    api_key_file: /run/secrets/key
    api_key_header: Api-Key
    labels: {team: payments}
    tls: {ca_file: /etc/ssl/corp.pem, server_name: api.example}
    applications:
      include: [{name: "checkout-*"}, {id: 1234567}]
      exclude: [{name: "*-staging"}]
      reporting_only: false
      settings:
        - match: {name: "legacy-*"}
          database_component: active_record
          hosts: false
        - match: {id: 7}
    hosts: false
    counters: true
    instances: true
    key_transactions: {include: [{name: "Pay *"}], exclude: [{id: 3}]}
    custom_metrics:
      - name: newrelic_custom_queue_depth
        help: Jobs waiting in each queue
        match: Custom/Queue/{queue}/depth
        value: average_value
        scale: 0.001
        scope: host
        max_series: 7
      - {name: other, match: Custom/Other, value: call_count}
    limits: {max_concurrent_requests: 3, requests_per_minute: 90, request_timeout: 2s500ms, max_retries: 0}
  - {name: europe, region: eu, api_key: abcd, applications: false}
collection:
  window: 1h30m
  delay: 0s
  scrape_timeout_offset: 0s
  default_scrape_timeout: 1m
  max_age: 1d
  raw_values: true
  background: true
  intervals: {applications: 1s, key_transactions: 2s, application_metrics: 3s, host_metrics: 4s, hosts: 5s, instances: 6s, metric_names: 7s, counters: 30m, entities: 8s, accounts: 9s}
  max_series: 1
`;

describe('a valid configuration', () => {
  it('needs only one account with a key; everything else has defaults', () => {
    expect(configOf(withAccount())).toEqual(DEFAULTS);
  });

  it('can select applications by tag and publish tags, with NerdGraph', () => {
    const applications =
      'applications: {include: [{tag: team, value: "pay*"}, {name: a, tag: b}], settings: [{match: {tag: c}}], tags: [team]}';
    expect(configOf(withAccount(`api: nerdgraph, ${applications}`)).accounts[0]?.applications).toMatchObject({
      include: [
        { tag: 'team', value: 'pay*' },
        { name: 'a', tag: 'b' },
      ],
      settings: [{ match: { tag: 'c' } }],
      tags: ['team'],
    });
  });

  it('can set every key', () => {
    const config = configOf(EVERY_KEY);
    expect(parse(redactConfig(config))).toMatchObject(parse(EVERY_KEY.replace('abcd', '<secret>')) as object);
    const { accounts, collection } = config;
    const defaults = DEFAULTS.accounts[0]!;
    expect(accounts[1]).toEqual({
      ...defaults,
      applications: { ...defaults.applications, read: false },
      name: 'europe',
      region: 'eu',
      base_url: 'https://api.eu.newrelic.com/graphql',
    });
    expect(accounts[0]).toMatchObject({
      ...{ region: undefined, base_url: 'https://proxy.example:8443/newrelic/v2' },
      limits: { request_timeout: 2_500 },
    });
    const keysOf = (value: object): string[] => Object.keys(value).toSorted();
    expect(keysOf(collection)).toEqual(keysOf(DEFAULTS.collection));
    expect(Object.values(collection.intervals)).toEqual([1, 2, 3, 4, 5, 6, 7, 1_800, 8, 9].map((s) => s * 1_000));
  });

  const addressOf = (api: string, place: string) =>
    configOf(withAccount(`api: ${api}, ${place}`)).accounts[0]?.base_url;

  it.each([
    ['us', 'https://api.newrelic.com'],
    ['eu', 'https://api.eu.newrelic.com'],
    ['gov', 'https://gov-api.newrelic.com'],
    ['jp', 'https://api.jp.newrelic.com'],
  ])('resolves region %s to %s for REST and NerdGraph', (region, address) => {
    expect(addressOf('rest', `region: ${region}`)).toBe(`${address}/v2`);
    expect(addressOf('nerdgraph', `region: ${region}`)).toBe(`${address}/graphql`);
  });

  it.each([
    ['rest', 'https://api.newrelic.com', 'https://api.newrelic.com/v2'],
    ['rest', 'https://api.newrelic.com/', 'https://api.newrelic.com/v2'],
    ['rest', 'https://api.newrelic.com/v2', 'https://api.newrelic.com/v2'],
    ['rest', 'HTTPS://API.NewRelic.com/v2//', 'https://api.newrelic.com/v2'],
    ['rest', 'https://proxy.example/a/b', 'https://proxy.example/a/b/v2'],
    ['rest', 'http://localhost:8080', 'http://localhost:8080/v2'],
    ['rest', 'http://127.0.0.1:8080/v2', 'http://127.0.0.1:8080/v2'],
    ['rest', 'http://127.8.9.10', 'http://127.8.9.10/v2'],
    ['rest', 'http://[::1]:8080', 'http://[::1]:8080/v2'],
    ['nerdgraph', 'https://api.newrelic.com/graphql', 'https://api.newrelic.com/graphql'],
    ['nerdgraph', 'https://proxy.example/a/graphql/', 'https://proxy.example/a/graphql'],
    ['nerdgraph', 'http://127.0.0.1:8080/graphql', 'http://127.0.0.1:8080/graphql'],
  ])('resolves, with %s, the base address %s to %s', (api, written, used) => {
    expect(addressOf(api, `base_url: "${written}"`)).toBe(used);
  });

  it('has other defaults for REST, and takes the name of the interface in any case', () => {
    const account = DEFAULTS.accounts[0]!;
    expect(configOf(withAccount('api: REST, region: US, account_id: 77')).accounts[0]).toEqual({
      ...account,
      api: 'rest',
      account_id: 77,
      base_url: 'https://api.newrelic.com/v2',
      api_key_header: 'X-Api-Key',
      limits: { ...account.limits, max_concurrent_requests: 8, request_timeout: 10_000 },
    });
  });

  it.each([
    ['Custom/Queue/{queue}', 'average_value'],
    ['Apdex/{transaction}', 'score'],
    ['EndUser/Apdex/**', 'threshold'],
    ['EndUser/ApdexByBrowser/{x}', 'f'],
    ['EndUser', 'average_network_time'],
    ['Memory/Physical', 'used_mb_by_host'],
    ['{x}/Physical', 'total_used_mb'],
  ])('may read from NerdGraph, for %s, the value %s', (match, value) => {
    const text = withAccount(`api: nerdgraph, custom_metrics: [{name: a, match: "${match}", value: ${value}}]`);
    expect(faultsOf(text)).toEqual([]);
  });

  it.each([
    'http://localhost.example',
    'http://127.0.0.1.example',
    'http://0.0.0.0',
    'http://[::2]',
    'http://10.0.0.1',
  ])('must not use %s without TLS, because it is not a loopback address', (address) => {
    expect(faultsOf(withAccount(`base_url: "${address}"`))).toEqual([expect.stringContaining('must begin with https')]);
  });

  it('takes a key without surrounding white space', () => {
    expect(configOf('accounts: [{api_key: "${KEY}"}]', { KEY: ' abcd\n' }).accounts[0]?.api_key).toBe('abcd');
  });

  it('resolves paths of files relative to its own folder', () => {
    const first = '{name: a, api_key_file: keys/a, tls: {ca_file: ../ca.pem}}';
    const text = `accounts: [${first}, {name: b, api_key_file: /keys/b}]`;
    const result = loadConfig({ path: '/etc/exporter/config.yaml', text }, {});
    expect(result).toMatchObject({
      config: {
        accounts: [
          { api_key_file: '/etc/exporter/keys/a', tls: { ca_file: '/etc/ca.pem' } },
          { api_key_file: '/keys/b', tls: { ca_file: undefined } },
        ],
      },
    });
  });

  it('may have more than ten thousand values', () => {
    const excluded = Array.from({ length: 11_000 }, (_, index) => `        - {id: ${index + 1}}\n`).join('');
    const text = `accounts:\n  - api_key: abcd\n    applications:\n      exclude:\n${excluded}`;
    expect(configOf(text).accounts[0]?.applications.exclude).toHaveLength(11_000);
  });

  it('may use the tags of the core schema, Windows line ends and a byte order mark', () => {
    const text = '\uFEFFaccounts:\r\n  - api_key: !!str 1234\r\n    limits: !!map {max_retries: !!int "4"}\r\n';
    expect(configOf(text).accounts[0]).toMatchObject({ api_key: '1234', limits: { max_retries: 4 } });
  });

  it('may feed one family from two templates with the same labels, scope and help', () => {
    const metric = (match: string): string => `{name: q, help: h, value: count, scope: host, match: "${match}"}`;
    const text = withAccount(`custom_metrics: [${metric('Custom/{a}/{b}')}, ${metric('Other/{b}/{a}')}]`);
    expect(configOf(text).accounts[0]?.custom_metrics).toHaveLength(2);
  });
});
