import { describe, expect, it } from 'vitest';
import { Found, ITSELF } from '../../../src/api/nerdgraph/found.ts';
import { UpstreamError } from '../../../src/api/errors.ts';

const WEB = 'HttpDispatcher';
const MYSQL = 'Datastore/MySQL/allWeb';
const REDIS = 'Datastore/Redis/allWeb';

function found(hosts: Readonly<Record<string, readonly string[]>>): Found {
  const result = new Found();
  for (const [host, names] of Object.entries(hosts)) {
    result.rows.set(host, new Map(names.map((name) => [name, []])));
  }
  return result;
}

describe('the datastores of what was found of an application', () => {
  it.each([
    ['are none where it has other metrics only', { [ITSELF]: [WEB] }, 0],
    ['are counted by type', { [ITSELF]: [WEB, MYSQL, REDIS] }, 2],
    ['leave out the sum of all types', { [ITSELF]: [MYSQL, 'Datastore/allWeb', 'Datastore/MySQL/all'] }, 1],
    ['are those of the host that has most of them', { a: [MYSQL], b: [MYSQL, REDIS], c: [WEB] }, 2],
    ['are unknown where nothing was found', {}, undefined],
  ])('%s', (_, hosts, expected) => {
    expect(found(hosts).datastores()).toBe(expected);
  });

  it('are unknown where the read failed, whatever was found before', () => {
    const failed = found({ [ITSELF]: [MYSQL] });
    failed.failure = new UpstreamError('down', { reason: 'server', endpoint: 'graphql:application_metrics' });
    expect(failed.datastores()).toBeUndefined();
  });
});
