import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccounts } from '../../../src/cli/upstream/session.ts';
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts';
import { accountConfig, config } from '../../collect/support/config.ts';
import { VirtualClock } from '../../collect/support/virtualClock.ts';
import { NOW, openSession, runOn } from './support.ts';

const MINUTE = 60_000;
const PER_MINUTE = 3;

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ nrqlSnapping: true, now: () => NOW, applications: 3, hostsPerApplication: 1 });
});
afterAll(() => simulator.close());

describe('a backfill that waits for its budget', () => {
  it('goes on at the same pace when the wall clock is set back', async () => {
    const limited = accountConfig({ limits: { requests_per_minute: PER_MINUTE } });
    const session = openSession(simulator, { config: config(limited) });
    const unlimited = await runOn(session, { from: '4h', window: MINUTE });
    const [{ reader }] = session.accounts as [(typeof session.accounts)[0]];

    const clock = new VirtualClock(NOW);
    const openReader = (): { reader: typeof reader; keyMark: () => string } => ({ reader, keyMark: () => '' });
    const accounts = openAccounts({ ...session, openReader }, clock);
    const begin = clock.monotonic();
    simulator.requests.clear();
    const state = { ended: false };
    const run = runOn({ ...session, accounts }, { from: '4h', window: MINUTE }).finally(() => (state.ended = true));
    // After the first call, while others are still to be made in the same minute.
    await waitUntil(() => simulator.requests.count() > 0);
    clock.step(-1440 * MINUTE);
    while (!state.ended && clock.monotonic() - begin < 30 * MINUTE) {
      await sleep(20);
      if (simulator.requests.running === 0) await clock.advance(MINUTE / 6);
    }
    expect(state.ended).toBe(true);
    expect((await run).document).toBe(unlimited.document);
    const calls = simulator.requests.count();
    expect(calls).toBeGreaterThan(2 * PER_MINUTE);
    expect(clock.monotonic() - begin).toBeGreaterThanOrEqual(Math.floor((calls - 1) / PER_MINUTE) * MINUTE);
    await session.close();
  });
});

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}
