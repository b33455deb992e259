import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { ClientOptions } from '../../src/api/http/client.ts';
import type { Api, UpstreamReader } from '../../src/api/upstreamReader.ts';
import type { Clock } from '../../src/eventLoop/clock.ts';
import { Collector, type Snapshot } from '../../src/collect/collector.ts';
import { samplesIn } from '../support/expositionBlocks.ts';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import type { Simulator, SimulatorOptions } from '../../simulator/simulator.ts';
import { startReading } from '../api/support/reading.ts';
import { readNerdGraph } from '../api/nerdgraph/nerdGraphReading.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { accountConfig, collectionConfig } from './support/config.ts';

const START = Date.UTC(2026, 4, 20, 14, 0, 20);
const MINUTE = 60_000;
const SCOPE = { groups: new Set(['counters'] as const) };

/** A clock that a test advances; timers run by the clock of the machine. */
class SteppedClock implements Clock {
  #passed = 0;
  /** The time by which the wall clock is ahead of the true clock. */
  error = 0;

  now(): number {
    return START + this.#passed + this.error;
  }

  /** The true time, which the service uses. */
  trueNow(): number {
    return START + this.#passed;
  }

  monotonic(): number {
    return this.#passed;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms);
    return () => {
      clearTimeout(timer);
    };
  }

  step(ms: number): void {
    this.#passed += ms;
  }
}

/** One reading of every application: what it covered, in minutes since 1970, and when it was made. */
interface Reading {
  readonly from: number;
  readonly to: number;
  readonly now: number;
}

/** What the world says of a metric of an application in one minute, as far as it had arrived at a time. */
function worldSays({ world }: Simulator, application: number, name: string, minute: number, now: number) {
  const scope = world.scope({ application });
  const metric = scope && world.metric(scope, name);
  const none = { count: 0, total: 0, totalExclusive: 0 };
  return scope === undefined || metric === undefined
    ? none
    : (world.sum(scope, [metric], minute, minute + 1, now)[0] ?? none);
}

const SERIES = [
  ['newrelic_application_transactions_total', 'web', 'HttpDispatcher', 'count'],
  ['newrelic_application_transactions_total', 'non_web', 'OtherTransaction/all', 'count'],
  ['newrelic_application_transaction_errors_total', '', 'Errors/all', 'count'],
  ['newrelic_application_web_transaction_seconds_total', '', 'HttpDispatcher', 'total'],
  ['newrelic_application_apdex_transactions_total', 'satisfied', 'Apdex', 'count'],
  ['newrelic_application_apdex_transactions_total', 'tolerating', 'Apdex', 'total'],
  ['newrelic_application_apdex_transactions_total', 'frustrated', 'Apdex', 'totalExclusive'],
] as const;

/** The counters, and what was late, by the world's own sums: of each minute the most that any reading could see. */
function expected(simulator: Simulator, applications: readonly number[], readings: readonly Reading[]) {
  const counters = new Map<string, number>();
  let late = 0;
  const [first] = readings;
  for (const application of applications) {
    for (const [family, label, name, value] of SERIES) {
      let counted = 0;
      for (let minute = first?.from ?? 0; minute < (readings.at(-1)?.to ?? 0); minute += 1) {
        const covering = readings.filter(({ from, to }) => from <= minute && minute < to);
        const seen = covering.map(({ now }) => worldSays(simulator, application, name, minute, now)[value]);
        if (seen.length === 0) continue;
        const most = Math.max(...seen);
        const [atFirst = 0] = seen;
        counted += most - (covering[0] === first ? atFirst : 0);
        if (label === 'web' || label === 'non_web') late += most - atFirst;
      }
      counters.set(`${application} ${family} ${label}`, counted);
    }
  }
  return { counters, late };
}

function published({ blocks }: Snapshot): Map<string, number> {
  const found = new Map<string, number>();
  for (const { labels, samples } of blocks) {
    for (const { family, labels: sampleLabels = {}, value } of samplesIn(samples)) {
      found.set(
        `${labels['app_id'] ?? ''} ${family.name} ${sampleLabels['kind'] ?? sampleLabels['zone'] ?? ''}`,
        value,
      );
    }
  }
  return found;
}

type Shared = Pick<ClientOptions, 'limiter' | 'health'>;

const READERS: Readonly<Record<Api, (simulator: Simulator, clock: Clock, shared: Shared) => UpstreamReader>> = {
  rest: ({ url }, clock, shared) => {
    const now = (): number => clock.now();
    return startReading(`${url}/v2`, { key: () => DEMO_API_KEY, raw: false, now, ...shared }).reader;
  },
  nerdgraph: ({ url }, clock, shared) => {
    const now = (): number => clock.now();
    return readNerdGraph(`${url}/graphql`, { key: () => DEMO_API_KEY, now, ...shared }).reader;
  },
};

/** Counters of a simulator's applications, read whenever `read` is called, on a clock that the test sets on. */
async function startCounting(api: Api, options: SimulatorOptions) {
  const clock = new SteppedClock();
  const simulator = await simulatorForTest({ ...options, now: () => clock.trueNow() });
  const account = accountConfig({ api, counters: true, limits: { requests_per_minute: 10_000 } });
  const collector = new Collector(
    { accounts: [account], collection: collectionConfig() },
    {
      clock,
      log: pino({ level: 'silent' }),
      openReader: (_account, _config, limiter) => ({
        reader: READERS[api](simulator, clock, { limiter, health: limiter.health }),
        keyMark: () => 'key',
      }),
    },
  );
  const read = async (): Promise<Snapshot> => {
    await collector.refresh(SCOPE, Infinity);
    return collector.snapshot(SCOPE, clock.monotonic());
  };
  return { clock, simulator, collector, read };
}

describe.each(['rest', 'nerdgraph'] as const)('the newest minute over %s', (api) => {
  it('is late with all its transactions if New Relic has no row for it at first', async () => {
    const { clock, simulator, collector, read } = await startCounting(api, { applications: 1 });
    await read();
    clock.step(MINUTE);
    simulator.faults.add({ effect: 'series', fault: 'newest-missing' });
    expect(new Set(published(await read()).values())).toEqual(new Set([0]));
    simulator.faults.clear();
    clock.step(MINUTE);
    const missed = Math.floor((clock.now() - 120_000) / MINUTE) - 2;
    const [application] = simulator.world.applications();
    const late = ['HttpDispatcher', 'OtherTransaction/all'].reduce(
      (sum, name) => sum + worldSays(simulator, application?.id ?? 0, name, missed, clock.now()).count,
      0,
    );
    await read();
    expect(late).toBeGreaterThan(0);
    expect(collector.status()[0]?.counters).toEqual({ lostSeconds: 0, lateTransactions: late });
  });
});

describe.each(['rest', 'nerdgraph'] as const)('an hour of the simulator with late data over %s', (api) => {
  it('counts every transaction, also over pauses of 5, 30 and 70 minutes, and the late and lost ones', async () => {
    const {
      clock,
      simulator,
      collector,
      read: readOnce,
    } = await startCounting(api, { applications: 5, lateData: 0.3 });
    const readings: Reading[] = [];
    let end = 0;
    let response: Snapshot | undefined;
    const read = async (): Promise<void> => {
      response = await readOnce();
      const to = Math.floor((clock.now() - 120_000) / MINUTE);
      readings.push({ from: Math.max((end === 0 ? to : end) - 10, to - 50), to, now: clock.now() });
      end = to;
    };
    await read();
    expect(new Set(published(response ?? (await collector.snapshot(SCOPE, 0))).values())).toEqual(new Set([0]));
    for (const minutes of [...Array.from({ length: 60 }, () => 1), 5, 30, 70, 1, 1]) {
      clock.step(minutes * MINUTE);
      await read();
    }
    if (response === undefined) throw new Error('no response');
    const applications = simulator.world.applications().map(({ id }) => id);
    const { counters, late } = expected(simulator, applications, readings);
    const found = published(response);
    expect([...found.keys()].sort()).toEqual([...counters.keys()].sort());
    for (const [series, value] of counters) {
      // Sums of fractions differ in their last digits.
      if (series.includes('_seconds_')) expect(found.get(series)).toBeCloseTo(value, 6);
      else expect([series, found.get(series)]).toEqual([series, value]);
    }
    const [status] = collector.status();
    expect(late).toBeGreaterThan(1_000);
    expect(status?.counters).toEqual({ lostSeconds: 60 * 20 * applications.length, lateTransactions: late });
    const calls = simulator.requests.all().filter(({ path }) => path.endsWith('/metrics/data.json'));
    for (const { query } of calls) expect(query).toContain('raw=true');
  });
});

describe.each(['rest', 'nerdgraph'] as const)('a wall clock that is set and corrected over %s', (api) => {
  it.each([
    ['back by 90 minutes', -90],
    ['on by 30 minutes', 30],
  ])('%s counts each minute once, and nothing is lost or late', async (_, error) => {
    const { clock, simulator, collector, read } = await startCounting(api, { applications: 2 });
    const to = (): number => Math.floor((clock.now() - 120_000) / MINUTE);
    const readFor = async (minutes: number): Promise<Snapshot> => {
      let response = await read();
      for (let minute = 0; minute < minutes; minute += 1) {
        clock.step(MINUTE);
        response = await read();
      }
      return response;
    };
    const first: Reading = { from: to() - 10, to: to(), now: clock.now() };
    // What the clock is set back by was counted before.
    await readFor(15 + Math.abs(error));
    clock.error = error * MINUTE;
    await readFor(5);
    clock.error = 0;
    const found = published(await readFor(10));
    const applications = simulator.world.applications().map(({ id }) => id);
    const last: Reading = { from: first.to, to: to(), now: clock.now() };
    const { counters } = expected(simulator, applications, [first, last]);
    for (const [series, value] of counters)
      expect([series, found.get(series)]).toEqual([series, expect.closeTo(value, 6)]);
    expect(collector.status()[0]?.counters).toEqual({ lostSeconds: 0, lateTransactions: 0 });
  });
});
