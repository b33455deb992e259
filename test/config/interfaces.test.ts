import { describe, expect, it } from 'vitest';
import { switchInterface } from '../../src/config/config.ts';
import { configOf, withAccount } from './reading.ts';

const account = (keys: string) => configOf(withAccount(keys)).accounts[0]!;

describe('an account read through the other interface', () => {
  it.each([
    ['region: eu, api: rest', 'nerdgraph', 'https://api.eu.newrelic.com/graphql'],
    ['region: jp, api: nerdgraph', 'rest', 'https://api.jp.newrelic.com/v2'],
    ['api: rest, base_url: "http://127.0.0.1:8080/x"', 'nerdgraph', 'http://127.0.0.1:8080/x/graphql'],
    ['api: rest, base_url: "https://x.example/v2/"', 'nerdgraph', 'https://x.example/graphql'],
    ['api: nerdgraph, base_url: "https://x.example/a/graphql"', 'rest', 'https://x.example/a/v2'],
  ] as const)('with %s through %s has the base address %s', (keys, api, base_url) => {
    expect(switchInterface(api, account(keys))).toMatchObject({ api, base_url });
  });

  it('has the key header of that interface, the lower limits, and no instances', () => {
    expect(switchInterface('nerdgraph', account('api: rest, instances: true, account_id: 5'))).toMatchObject({
      account_id: 5,
      api_key: 'abcd',
      api_key_header: 'Api-Key',
      instances: false,
      limits: { max_concurrent_requests: 5, requests_per_minute: 600, request_timeout: 30_000 },
    });
    const limits = 'limits: {max_concurrent_requests: 2, request_timeout: 45s}';
    expect(switchInterface('rest', account(`api: nerdgraph, ${limits}`))).toMatchObject({
      api_key_header: 'X-Api-Key',
      limits: { max_concurrent_requests: 2, request_timeout: 45_000 },
    });
  });

  it('is the unchanged account where that is its interface', () => {
    const configured = account('api: nerdgraph, api_key_header: X-Api-Key');
    expect(switchInterface('nerdgraph', configured)).toBe(configured);
  });
});
