import { pino } from 'pino';
import { onTestFinished, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/eventLoop/clock.ts';
import { Collector } from '../../src/collect/collector.ts';
import type { SimulatorOptions } from '../../simulator/simulator.ts';
import { readNerdGraph } from '../api/nerdgraph/nerdGraphReading.ts';
import { SILENT } from '../api/support/silent.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { accountConfig, collectionConfig, query } from './support/config.ts';
import { NERDGRAPH, World } from './support/world.ts';

const QUERIES = Array.from({ length: 40 }, (_, index) =>
  query(`q${index}`, { nrql: `SELECT count(*) FROM Deployment -- ${index}` }),
);

/** Two accounts, each with a key of its own, which read all of their queries once; and what the service sees. */
async function twoAccounts(options: SimulatorOptions) {
  const simulator = await simulatorForTest({ applications: 1, apiKeys: ['one', 'two'], latencyMs: 500, ...options });
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
      openReader: ({ name }) => {
        const { reader } = readNerdGraph(`${simulator.url}/graphql`, {
          ...{ key: () => name, now: Date.now, maxConcurrent: 20 },
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

describe('accounts with keys of their own', () => {
  it('never make more calls at once than one user may where both keys are of one, who is asked for once of each key', async () => {
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
    // No query ends, so each account takes all the slots that it has.
    const hang = { effect: 'hang', on: 'graphql_nrql' } as const;
    const { refresh, atOnce } = await twoAccounts({ ...simulated, faults: [...faults, hang] });
    void refresh();
    await expect.poll(() => atOnce.now).toBe(slots);
  });

  it('ask for the user of a key again where the account that asked was removed meanwhile', async () => {
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
