import { beforeEach, describe, expect, it } from 'vitest';
import { type Simulator } from '../../../src/simulator/simulator.ts';
import { read, records, simulatorOfTest } from '../client.ts';
import { APPLICATIONS, body, KEY_TRANSACTIONS, nrql, search, V } from './client.ts';

const STOREFRONT = 1_000_001;
const KEY = 5_000_001;
const HOST = 'storefront-1-02';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await simulatorOfTest();
});

const rest = async (path: string, envelope: string): Promise<readonly Record<string, unknown>[]> =>
  records(await read(simulator, `/v2/${path}.json`), envelope);
const restNames = async () => (await rest('applications', 'applications')).map(({ name }) => name);
const names = async () => (await search(simulator, APPLICATIONS)).results.entities.map(({ name }) => name);
const hosts = async (): Promise<unknown[]> => {
  const { results } = await nrql(
    simulator,
    `SELECT count(${V}) FROM Metric WHERE appId = ${STOREFRONT} AND host IS NOT NULL FACET host`,
  );
  return results.map(({ facet }) => facet).sort();
};

describe('a change on one interface', () => {
  it('leaves out an application there alone', async () => {
    simulator.change(STOREFRONT, { on: 'nerdgraph', removed: true });
    expect([await restNames(), await names()].map((list) => list.includes('Storefront'))).toEqual([true, false]);
    simulator.restore(STOREFRONT);
    simulator.change(STOREFRONT, { on: 'rest', removed: true });
    expect([await restNames(), await names()].map((list) => list.includes('Storefront'))).toEqual([false, true]);
  });

  it('gives an application another name there alone', async () => {
    simulator.change(STOREFRONT, { on: 'rest', name: 'Shop' });
    expect([(await restNames())[0], (await names())[0]]).toEqual(['Shop', 'Storefront']);
  });

  it('hides a host there alone, while its application keeps what it did', async () => {
    const calls = `SELECT count(${V}) AS c FROM Metric WHERE appId = ${STOREFRONT} AND metricTimesliceName = 'HttpDispatcher'`;
    const before = (await nrql(simulator, calls)).results;
    simulator.change(STOREFRONT, { on: 'nerdgraph', hosts_removed: [HOST] });
    expect(await hosts()).toEqual(['storefront-1-01']);
    expect((await nrql(simulator, calls)).results).toEqual(before);
    const listed = () => rest(`applications/${STOREFRONT}/hosts`, 'application_hosts');
    expect(await listed()).toHaveLength(2);
    simulator.change(STOREFRONT, { on: 'rest', hosts_removed: [HOST] });
    expect((await listed()).map(({ host }) => host)).toEqual(['storefront-1-01']);
  });

  it('takes the settings away there alone', async () => {
    simulator.change(STOREFRONT, { on: 'nerdgraph', settings: null });
    expect((await search(simulator, APPLICATIONS)).results.entities[0]!['settings']).toBeNull();
    expect((await rest('applications', 'applications'))[0]!['settings']).toMatchObject({ app_apdex_threshold: 0.5 });
  });

  it('leaves out a key transaction, names it otherwise, or gives it to another application', async () => {
    const first = async () => (await rest('key_transactions', 'key_transactions'))[0]!;
    const count = (await search(simulator, KEY_TRANSACTIONS)).count;
    simulator.change(KEY, { on: 'rest', name: 'Paying', application: 1_000_002 });
    expect(await first()).toMatchObject({ id: KEY, name: 'Paying', links: { application: 1_000_002 } });
    simulator.change(KEY, { on: 'rest', removed: true });
    expect((await first())['id']).toBe(KEY + 1);
    expect((await search(simulator, KEY_TRANSACTIONS)).count).toBe(count);
  });
});

it('a key transaction whose threshold fails is null as a whole, because the service may not leave it out', async () => {
  simulator.change(KEY, { failing: true });
  const { entities } = (await search(simulator, KEY_TRANSACTIONS)).results;
  const guids = entities.slice(0, 2).map(({ guid }) => guid);
  const query = `query ($guids: [EntityGuid]!) { actor { entities(guids: $guids) {
    guid ... on KeyTransactionEntity { apdexTarget application { guid } } } } }`;
  const { data, errors } = await body(simulator, query, { guids });
  expect(data!.actor!['entities']).toEqual([null, expect.objectContaining({ guid: guids[1] })]);
  expect(errors).toMatchObject([
    { path: ['actor', 'entities', 0, 'apdexTarget'], message: 'An error occurred resolving this field' },
  ]);
});
