import { pino } from 'pino';
import { onTestFinished, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/collect/clock.ts';
import { Collector } from '../../src/collect/collector.ts';
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { readNerdGraph } from '../api/nerdgraph/nerdGraphReading.ts';
import { accountConfig, collectionConfig } from './support/config.ts';

const QUERIES = Array.from({ length: 40 }, (_, index) => ({
  name: `q${index}`,
  nrql: `SELECT count(*) FROM Deployment -- ${index}`,
  metrics: [{ name: `m${index}`, help: 'Deployments', scale: 1 }],
  interval: 60_000,
  max_series: 10,
}));

/** Two accounts, each with a key of its own, read all of their queries once; gives what the service saw. */
async function readTwice(options: SimulatorOptions) {
  const simulator = await startSimulator({ applications: 1, apiKeys: ['one', 'two'], latencyMs: 500, ...options });
  onTestFinished(() => simulator.close());
  const calls = new Map<string, number>();
  const limits = { max_concurrent_requests: 20 };
  const accounts = ['one', 'two'].map((name) =>
    accountConfig({ name, api: 'nerdgraph', applications: { read: false }, queries: QUERIES, limits }),
  );
  let running = 0;
  let most = 0;
  const collector = new Collector(
    { accounts, collection: collectionConfig() },
    {
      clock: systemClock,
      log: pino({ level: 'silent' }),
      openReader: ({ name }) => {
        const { reader } = readNerdGraph(`${simulator.url}/graphql`, {
          ...{ key: () => name, now: Date.now, maxConcurrent: 20 },
          observer: {
            started: () => (most = Math.max(most, (running += 1))),
            ended: (_, code) => {
              running -= 1;
              calls.set(String(code), (calls.get(String(code)) ?? 0) + 1);
            },
            ...{
              failed: () => undefined,
              retried: () => undefined,
              split: () => undefined,
              serviceMessage: () => undefined,
            },
          },
        });
        return { reader, keyMark: () => name };
      },
    },
  );
  onTestFinished(() => collector.stop());
  await collector.refreshNow({ groups: new Set(['queries']) }, 30_000);
  return { most, codes: Object.fromEntries(calls), users: simulator.requests.count('graphql_user') };
}

describe('accounts with keys of their own', () => {
  it('share the calls at once of the user whom both keys belong to, who is asked for once of each key', async () => {
    const { most, codes, users } = await readTwice({});
    expect([codes, users]).toEqual([{ 200: 2 * QUERIES.length + 2 }, 2]);
    expect(most).toBeGreaterThan(20);
    expect(most).toBeLessThanOrEqual(25);
  });

  it('have calls at once of their own where the keys belong to two users', async () => {
    const { most, codes } = await readTwice({ users: { two: 2 } });
    expect(codes).toEqual({ 200: 2 * QUERIES.length + 2 });
    expect(most).toBeGreaterThan(25);
  });

  it('have them by key where the service does not tell the user', async () => {
    const { most } = await readTwice({
      users: { two: 2 },
      faults: [{ effect: 'graphql-error', class: 'ACCESS_DENIED', on: 'graphql_user' }],
    });
    expect(most).toBeGreaterThan(25);
  });
});
