import { describe, expect, it } from 'vitest';
import * as endpoints from '../../../src/api/rest/endpoints.ts';

const QUERY = {
  applicationId: 7,
  hostKey: undefined,
  range: { from: 1_795_226_400, to: 1_795_228_200 },
  summarize: true,
  raw: false,
};

describe('targets', () => {
  it.each([
    [endpoints.applicationList(undefined), '/applications.json', '/applications.json'],
    [endpoints.applicationList([1, 2]), '/applications.json', '/applications.json?filter%5Bids%5D=1%2C2'],
    [endpoints.application(7), '/applications/{id}.json', '/applications/7.json'],
    [endpoints.keyTransactionList([3]), '/key_transactions.json', '/key_transactions.json?filter%5Bids%5D=3'],
    [endpoints.keyTransaction(3), '/key_transactions/{id}.json', '/key_transactions/3.json'],
    [endpoints.hostList(7), '/applications/{id}/hosts.json', '/applications/7/hosts.json'],
    [endpoints.instanceList(7), '/applications/{id}/instances.json', '/applications/7/instances.json'],
    [
      endpoints.metricNames({ applicationId: 7, name: '/allWeb' }),
      '/applications/{id}/metrics.json',
      '/applications/7/metrics.json?name=%2FallWeb',
    ],
    [
      endpoints.metricNames({ applicationId: 7, hostKey: '8' }),
      '/applications/{id}/hosts/{host_id}/metrics.json',
      '/applications/7/hosts/8/metrics.json',
    ],
    [
      endpoints.metricData({ ...QUERY, names: ['Apdex'] }),
      '/applications/{id}/metrics/data.json',
      '/applications/7/metrics/data.json?names%5B%5D=Apdex&from=2026-11-21T02%3A00%3A00Z&to=2026-11-21T02%3A30%3A00Z&summarize=true',
    ],
    [
      endpoints.metricData({ ...QUERY, hostKey: '8', names: ['Apdex'], summarize: false, raw: true }),
      '/applications/{id}/hosts/{host_id}/metrics/data.json',
      '/applications/7/hosts/8/metrics/data.json?names%5B%5D=Apdex&from=2026-11-21T02%3A00%3A00Z&to=2026-11-21T02%3A30%3A00Z&raw=true',
    ],
  ])('%# has its template and its address', ({ endpoint, path }, template, expected) => {
    expect(endpoint).toBe(template);
    expect(path).toBe(expected);
  });

  it('encodes every name so that it is read back as it was', () => {
    const names = ['CPU/User Time', 'Component/Memory/RSS[bytes]', 'a|b%c&d=e#f+g?h', 'Größe/日本', "it's (ok)!*"];
    const { path } = endpoints.metricData({ ...QUERY, names });
    expect(new URL(path, 'https://api.example').searchParams.getAll('names[]')).toEqual(names);
    expect(path).toMatch(/^[\w/.?&=%~'()!*-]+$/);
  });

  it('encodes half a surrogate pair as the character for broken text', () => {
    const { path } = endpoints.metricNames({ applicationId: 7, name: 'a\ud800b' });
    expect(path).toBe('/applications/7/metrics.json?name=a%EF%BF%BDb');
  });
});
