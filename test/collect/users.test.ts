import { pino } from 'pino';
import { onTestFinished, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/eventLoop/clock.ts';
import { Collector } from '../../src/collect/collector.ts';
import type { SimulatorOptions } from '../../simulator/simulator.ts';
import { readNerdGraph } from '../api/nerdgraph/nerdGraphReading.ts';
import { SILENT } from '../api/support/silent.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { accountConfig, collectionConfig, query } from './support/config.ts';
import { application } from './support/bodies.ts';
import type { FakeReader } from './support/fakeReader.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

const QUERIES = Array.from({ length: 40 }, (_, index) =>
  query(`q${index}`, { nrql: `SELECT count(*) FROM Deployment -- ${index}` }),
);

/** Two accounts with different keys that read all of their queries once, and what the service sees. */
async function twoAccounts(options: SimulatorOptions) {
  const simulator = await simulatorForTest({ applications: 1, apiKeys: ['one', 'two'], latencyMs: 200, ...options });
  const calls = new Map<string, number>();
  const limits = { max_concurrent_requests: 20 };
  const accounts = ['one', 'two'].map((name) =>
    accountConfig({ name, api: 'nerdgraph', applications: { read: false }, queries: QUERIES, limits }),
  );
  const atOnce = { now: 0, most: 0 };
  const collector = new Collector(
    { accounts, collection: collectionConfig() },
    {
      clock: systemClock,
      log: pino({ level: 'silent' }),
      openReader: ({ name }, _config, limiter) => {
        const { reader } = readNerdGraph(`${simulator.url}/graphql`, {
          ...{ key: () => name, now: Date.now, maxConcurrent: 20, limiter, health: limiter.health },
          observer: {
            ...SILENT,
            started: () => (atOnce.most = Math.max(atOnce.most, (atOnce.now += 1))),
            ended: (_, code) => {
              atOnce.now -= 1;
              calls.set(String(code), (calls.get(String(code)) ?? 0) + 1);
            },
          },
        });
        return { reader, keyMark: () => name };
      },
    },
  );
  onTestFinished(() => collector.stop());
  const refresh = () => collector.refresh({ groups: new Set(['queries']) }, 30_000);
  return { simulator, refresh, atOnce, calls };
}

describe('accounts with different keys', () => {
  it('share the calls at once of one user where both keys belong to one user, looked up once per key', async () => {
    const { simulator, refresh, atOnce, calls } = await twoAccounts({});
    await refresh();
    expect(Object.fromEntries(calls)).toEqual({ 200: 2 * QUERIES.length + 2 });
    expect(simulator.requests.count('graphql_user')).toBe(2);
    expect(atOnce.most).toBeLessThanOrEqual(25);
  });

  const noUser = { effect: 'graphql-error', class: 'ACCESS_DENIED', on: 'graphql_user' } as const;
  it.each<[calls: number, where: string, simulated: SimulatorOptions]>([
    [25, 'where both keys are of one user', {}],
    [40, 'where the keys are of two users', { users: { two: 2 } }],
    [40, 'where the service does not tell the user of a key', { users: { two: 2 }, faults: [noUser] }],
  ])('make %i calls at once %s', async (slots, _, { faults = [], ...simulated }) => {
    // No query ends, so each account takes all of its places.
    const hang = { effect: 'hang', on: 'graphql_nrql' } as const;
    const { refresh, atOnce } = await twoAccounts({ ...simulated, faults: [...faults, hang] });
    void refresh();
    await expect.poll(() => atOnce.now).toBe(slots);
  });

  it('plan with equal shares of the places of one user, also after a reload', async () => {
    const limits = { max_concurrent_requests: 40 };
    const accounts = ['one', 'two', 'three'].map((name) => accountConfig({ name, api: 'nerdgraph', limits }));
    const world = new World(accounts, collectionConfig(), NERDGRAPH);
    world.reader.latency = () => 100;
    await world.scrape();
    const places = (): number => (world.collector.collectors()[0]?.limiter.concurrencyCapacity ?? 0) / 600;
    expect(places()).toBeCloseTo(25 / 3);
    world.collector.reconfigure({ accounts: accounts.slice(1).reverse(), collection: collectionConfig() });
    expect(places()).toBeCloseTo(25 / 2);
    Object.assign(world.readers.get('three')!, { api: 'rest', queries: undefined });
    world.collector.reconfigure({ accounts: accounts.slice(1).reverse(), collection: collectionConfig() });
    expect(places()).toBeCloseTo(40);
  });

  it('stop waiting for places of another key once the keys differ', async () => {
    const limits = { max_concurrent_requests: 25 };
    const accounts = ['one', 'two'].map((name) => accountConfig({ name, api: 'nerdgraph', hosts: false, limits }));
    const world = new World(accounts, collectionConfig(), { api: 'nerdgraph', perCall: 1 });
    const [one, two] = [...world.readers.values()] as [FakeReader, FakeReader];
    one.applications = Array.from({ length: 30 }, (_, index) => application(index + 1));
    one.latency = ({ kind }) => (kind === 'metric_data' ? 30_000 : 100);
    void world.collector.refresh({ ...EVERYTHING, account: 'one' }, 0);
    await world.clock.advance(2_000);
    void world.collector.refresh({ ...EVERYTHING, account: 'two' }, 0);
    await world.clock.advance(1_000);
    expect([one.inFlight, two.inFlight]).toEqual([25, 0]);
    world.keyOf = (account) => account;
    world.collector.reconfigure({ accounts, collection: collectionConfig() });
    await world.clock.advance(1);
    expect(two.inFlight).toBeGreaterThan(0);
  });

  it('look up the user of a key again where the account that asked was removed meanwhile', async () => {
    const accounts = ['first', 'second', 'other'].map((name) => accountConfig({ name, api: 'nerdgraph' }));
    const world = new World(accounts, collectionConfig(), NERDGRAPH);
    world.keyOf = (account) => (account === 'other' ? 'theirs' : 'ours');
    const asked: string[] = [];
    for (const [name, reader] of world.readers) {
      reader.user = () => {
        asked.push(name);
        return name === 'first' ? new Promise(() => undefined) : Promise.resolve(1);
      };
    }
    await world.scrape();
    world.collector.reconfigure({ accounts: accounts.slice(1), collection: collectionConfig() });
    await world.scrape();
    expect(asked).toEqual(['first', 'other', 'second']);
  });
});
