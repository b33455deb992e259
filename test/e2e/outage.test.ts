import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import type { ParsedFamily } from '../support/exposition.ts';
import { account } from './support/config.ts';
import { Front } from './support/front.ts';
import { MovedClock } from './support/movedClock.ts';
import { startExporter, type Exporter } from './support/program.ts';
import { byAccount, entities, sumOf } from './support/states.ts';

/** How much faster than real time everything goes. */
const SPEED = 20;

// Seconds of that time.
const SCRAPE_EVERY = 15;
const SCRAPE_TIMEOUT = 10;
const MINUTE = 60;
const BEFORE = 4 * MINUTE;
const OUTAGE = 30 * MINUTE;
const AFTER = 12 * MINUTE;
/** Where scrapes stop, they stop this long after the outage began: what they asked for still waits. */
const STOPPED_AFTER = 75;
/** On a busy machine a response may come late by two seconds of real time, and by as much as one that waits for nothing. */
const LATE = 2 * SPEED;

interface Outage {
  /**
   * Seconds after which a call is given up: much less real time, in which a busy machine has to answer a healthy call. Where it
   * is not what fails, there is more of it.
   */
  readonly requestTimeout: number;
  readonly begin: (front: Front, simulator: Simulator) => Promise<void> | void;
  readonly end: (front: Front, simulator: Simulator) => Promise<void> | void;
}

const byRule = (requestTimeout: number, rule: Parameters<Simulator['faults']['add']>[0]): Outage => ({
  requestTimeout,
  begin: (_front, { faults }) => void faults.add(rule),
  end: (_front, { faults }) => faults.clear(),
});

/** How New Relic fails: an account for each. */
const OUTAGES: Readonly<Record<string, Outage>> = {
  closed: { requestTimeout: 60, begin: (front) => front.refuse(), end: (front) => front.restore() },
  slow: byRule(20, { effect: 'delay', milliseconds: 30_000 / SPEED }),
  'half-open': byRule(20, { effect: 'hang' }),
  unavailable: byRule(60, { effect: 'status', status: 503 }),
};
const NAMES = Object.keys(OUTAGES);

/** What was seen of one account; times are seconds. */
interface Seen {
  readonly outage: string;
  readonly scraped: boolean;
  /** Calls a minute, as planned and at most. */
  readonly planned: number;
  mostCalls: number;
  /** From the end of the outage until all groups with an interval of a minute were fresh, and until all were. */
  minuteGroupsFreshAfter: number;
  freshAfter: number;
  readonly log: readonly string[];
}

const seen: Seen[] = [];
const processes: {
  readonly scraped: boolean;
  unhealthy: number;
  readonly scrapes: number[];
  /** The longest time of a response that waits for nothing. */
  slowest: number;
}[] = [];
const late = (): number => LATE + Math.max(...processes.map(({ slowest }) => slowest));

const sleep = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / SPEED));

function isFresh(view: readonly ParsedFamily[], labels: Readonly<Record<string, string>> = {}): boolean {
  const [fresh, ...others] = (['fresh', 'stale', 'missing'] as const).map((state) => entities(view, state, labels));
  return (fresh ?? 0) > 0 && others.every((count) => count === 0);
}

const ofMinuteGroups = (view: readonly ParsedFamily[]): boolean =>
  ['applications', 'key_transactions', 'application_metrics', 'host_metrics'].every((group) =>
    isFresh(view, { group }),
  );

/** An exporter with an account for each outage, before, during and after it. */
async function survive(scraped: boolean): Promise<void> {
  const clock = new MovedClock({ speed: SPEED, timers: true });
  const closing: (() => unknown)[] = [() => clock.close()];
  try {
    const services = new Map<string, readonly [Front, Simulator]>();
    for (const name of NAMES) {
      const simulator = await startSimulator({ applications: 3, hostsPerApplication: 1, now: clock.now });
      const front = await Front.open(simulator.port);
      services.set(name, [front, simulator]);
      closing.push(
        () => simulator.close(),
        () => front.close(),
      );
    }
    const accounts = [...services].map(([name, [front]]) =>
      account({ url: `http://127.0.0.1:${front.port}` }, name, {
        limits: { request_timeout: `${OUTAGES[name]?.requestTimeout ?? 10}s` },
      }),
    );
    const exporter = await startExporter({ ...clock.program, config: { accounts } });
    closing.push(() => exporter.stop());
    const strike = async (what: 'begin' | 'end'): Promise<void> => {
      for (const [name, service] of services) await OUTAGES[name]?.[what](...service);
    };
    await watch(exporter, scraped, strike);
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function watch(exporter: Exporter, scraped: boolean, strike: (what: 'begin' | 'end') => Promise<void>) {
  const start = Date.now();
  const now = (): number => ((Date.now() - start) * SPEED) / 1000;
  const ofProcess = { scraped, unhealthy: 0, scrapes: [] as number[], slowest: 0 };
  processes.push(ofProcess);
  const isHealthy = async (): Promise<void> => {
    const from = now();
    const { status } = await exporter.get('/-/healthy');
    ofProcess.slowest = Math.max(ofProcess.slowest, now() - from);
    if (status !== 200) ofProcess.unhealthy += 1;
  };
  const scrape = async (): Promise<readonly ParsedFamily[]> => {
    const from = now();
    const families = await exporter.scrape('/metrics', SCRAPE_TIMEOUT);
    ofProcess.scrapes.push(now() - from);
    return families;
  };

  let before = await scrape();
  while (now() < BEFORE || !NAMES.every((name) => ofMinuteGroups(byAccount(before)(name)))) {
    await sleep(SCRAPE_EVERY);
    before = await scrape();
  }
  const document = JSON.parse(await exporter.text('/api/status')) as {
    accounts: { name: string; plan: { requests_per_minute: number } }[];
  };
  const logged = exporter.output().length;
  ofProcess.scrapes.length = 0;
  await strike('begin');
  const begun = now();
  const counts: { readonly at: number; readonly calls: ReadonlyMap<string, number> }[] = [];
  const most = new Map<string, number>();
  while (now() < begun + OUTAGE) {
    await isHealthy();
    if (scraped || now() < begun + STOPPED_AFTER) await scrape();
    const at = now();
    const own = byAccount(await exporter.scrape('/metrics?collect[]=exporter'));
    counts.push({
      at,
      calls: new Map(NAMES.map((name) => [name, sumOf(own(name), 'newrelic_exporter_api_requests_total')])),
    });
    const minute = counts.filter((count) => count.at > at - MINUTE);
    for (const name of NAMES) {
      const made = (minute.at(-1)?.calls.get(name) ?? 0) - (minute.at(0)?.calls.get(name) ?? 0);
      most.set(name, Math.max(most.get(name) ?? 0, made));
    }
    await sleep(SCRAPE_EVERY - ((now() - begun) % SCRAPE_EVERY));
  }
  const lines = exporter.output().slice(logged).split('\n');
  await strike('end');
  const ended = now();
  const rows = NAMES.map((outage): Seen => {
    const planned = document.accounts.find(({ name }) => name === outage)?.plan.requests_per_minute ?? NaN;
    const log = lines.filter((line) => line.includes(`account=${outage} `) && !line.includes('level=debug'));
    const mostCalls = most.get(outage) ?? NaN;
    return { outage, scraped, planned, mostCalls, minuteGroupsFreshAfter: Infinity, freshAfter: Infinity, log };
  });
  while (now() < ended + AFTER && rows.some(({ freshAfter }) => freshAfter === Infinity)) {
    const view = byAccount(await scrape());
    for (const row of rows) {
      const after = now() - ended;
      if (ofMinuteGroups(view(row.outage))) row.minuteGroupsFreshAfter = Math.min(row.minuteGroupsFreshAfter, after);
      if (isFresh(view(row.outage))) row.freshAfter = Math.min(row.freshAfter, after);
    }
    await isHealthy();
    await sleep(SCRAPE_EVERY);
  }
  seen.push(...rows);
}

describe('an outage of 30 minutes, scraped throughout or only at its beginning', () => {
  beforeAll(async () => {
    await Promise.all([survive(true), survive(false)]);
  });

  afterAll(() => {
    if (process.env['OUTAGE_TABLE'] === undefined) return;
    const cells = seen.map((row) => [
      row.outage,
      row.scraped ? 'throughout' : 'at first',
      `${row.planned.toFixed(1)} planned, ${row.mostCalls} made`,
      `fresh after ${row.minuteGroupsFreshAfter.toFixed(0)} s, all after ${row.freshAfter.toFixed(0)} s`,
      `${row.log.length} lines`,
    ]);
    const shared = processes.map(({ scraped, unhealthy, scrapes, slowest }) => {
      const sorted = scrapes.toSorted((a, b) => a - b);
      const median = sorted[Math.floor(sorted.length / 2)]?.toFixed(1) ?? '';
      return [
        `scraped ${scraped}`,
        `${unhealthy} unhealthy`,
        `median ${median}`,
        `longest ${sorted.at(-1)?.toFixed(1)}`,
        `healthy within ${slowest.toFixed(1)}`,
      ];
    });
    process.stdout.write(`${[...cells, ...shared].map((row) => row.join(' | ')).join('\n')}\n`);
  });

  it('never makes the exporter unhealthy', () => {
    expect(processes.map(({ unhealthy }) => unhealthy)).toEqual([0, 0]);
  });

  it('holds no scrape beyond its deadline', () => {
    for (const { scrapes } of processes) {
      // A starved machine may stop everything for seconds, once: then one scrape is late, and hardly another one.
      const [longest = 0, ...others] = scrapes.toSorted((a, b) => b - a).slice(0, Math.ceil(scrapes.length / 20) + 1);
      expect(others.at(-1) ?? 0).toBeLessThan(SCRAPE_TIMEOUT + late());
      expect(longest).toBeLessThan(SCRAPE_TIMEOUT + 5 * late());
    }
  });

  it('has at most twice the calls of the plan in a minute', () => {
    expect(seen.filter(({ mostCalls, planned }) => mostCalls > Math.ceil(2 * planned))).toEqual([]);
  });

  it('leaves everything fresh within two intervals of its end', () => {
    expect(seen.filter((row) => row.minuteGroupsFreshAfter > 2 * MINUTE + late())).toEqual([]);
    expect(seen.filter((row) => row.freshAfter > 10 * MINUTE + late())).toEqual([]);
  });

  it('is in the log once for each group and reason, and never as over while it lasts', () => {
    for (const { log } of seen) {
      const failures = log.flatMap((line) => /group=\w+ .*?reason=\w+/.exec(line)?.[0] ?? []);
      expect(failures.length).toBeGreaterThan(0);
      expect(failures).toEqual([...new Set(failures)]);
      expect(log.filter((line) => /Works again|accepted again/.test(line))).toEqual([]);
    }
  });
});
