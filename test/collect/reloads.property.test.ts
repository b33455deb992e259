import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Group } from '../../src/reads/reads.ts';
import type { AccountConfig, Config } from '../../src/config/config.ts';
import type { MetricDataSubject, QuerySubject } from '../../src/api/upstreamReader.ts';
import { application, host, TRAFFIC } from './support/bodies.ts';
import { accountConfig, collectionConfig, customMetric, query } from './support/config.ts';
import { FakeReader, type Call, type Fault, type Likeness } from './support/fakeReader.ts';
import { EVERYTHING, NERDGRAPH, REST, World } from './support/world.ts';

const RUNS = Number(process.env['RELOAD_RUNS'] ?? 2);
const SEED = Number(process.env['RELOAD_SEED'] ?? 20_260_101);
const MINUTE = 60_000;

const IDS = [1, 2, 3, 4, 5, 6];
const HOSTS = 2;
const QUERIES = ['one', 'two', 'three'];
/** Custom metrics: one of applications, and one of hosts. */
const CUSTOM = ['depth', 'wait'] as const;

/** What a configuration file says of an account in this test. */
interface Choice {
  readonly hosts: boolean;
  readonly excluded: readonly number[];
  readonly queries: readonly string[];
  readonly custom: readonly (typeof CUSTOM)[number][];
  readonly perMinute: number;
  readonly atOnce: number;
  readonly dataEvery: number;
  readonly hostsEvery: number;
  readonly key: string;
  readonly team: string;
  readonly other: boolean;
}

const choice = fc.record<Choice>({
  hosts: fc.boolean(),
  excluded: fc.subarray(IDS, { maxLength: 3 }),
  queries: fc.subarray(QUERIES),
  custom: fc.subarray([...CUSTOM]),
  perMinute: fc.constantFrom(15, 40, 200),
  atOnce: fc.constantFrom(1, 4, 25),
  dataEvery: fc.constantFrom(MINUTE, 90_000, 20 * MINUTE),
  hostsEvery: fc.constantFrom(5 * MINUTE, 30 * MINUTE),
  key: fc.constantFrom('a', 'b'),
  team: fc.constantFrom('blue', 'red'),
  other: fc.boolean(),
});

const FAULTS: readonly Fault[] = [
  { reason: 'server', status: 500 },
  { reason: 'timeout', latency: 10_000 },
  { reason: 'network', latency: 0 },
  { reason: 'rate_limited', status: 429, retryAfter: 10 },
];

const step = fc.record({
  reload: fc.option(choice, { freq: 2 }),
  /** Turns of the event loop between the start of a scrape and the reload. */
  turns: fc.integer({ min: 0, max: 40 }),
  pass: fc.constantFrom(0, 1_000, 15_000, 60_000, 900_000),
  /** The fault of one call in three during the first scrape of the step. */
  fault: fc.option(fc.constantFrom(...FAULTS), { freq: 4 }),
  latency: fc.constantFrom(0, 50, 2_000),
});

/** A custom metric, as it is configured, and the name of its metric in New Relic. */
function custom(name: (typeof CUSTOM)[number]): AccountConfig['custom_metrics'][number] {
  const scope = name === 'depth' ? 'application' : 'host';
  const match = `Custom/${name}/{queue}`;
  return customMetric({ name: `custom_${name}`, help: name, match, scope });
}

const metricOf = (name: string): string => `Custom/${name}/mail`;

function configOf(now: Choice, { api }: Likeness): Config {
  const account = (name: string): AccountConfig =>
    accountConfig({
      name,
      api,
      account_id: 7,
      hosts: now.hosts,
      labels: { team: now.team },
      queries: now.queries.map((name) => query(name)),
      custom_metrics: now.custom.map(custom),
      applications: { exclude: now.excluded.map((id) => ({ id })) },
      limits: { requests_per_minute: now.perMinute, max_concurrent_requests: now.atOnce },
    });
  const intervals = { application_metrics: now.dataEvery, host_metrics: now.dataEvery, hosts: now.hostsEvery };
  return {
    accounts: now.other ? [account('main'), account('other')] : [account('main')],
    collection: collectionConfig({ intervals }),
  };
}

const WATCHED: ReadonlySet<Group> = new Set<Group>([
  ...(['application_metrics', 'host_metrics', 'queries', 'custom_metrics'] as const),
]);

/** Everything that may have series under a configuration, by account, group and subject. */
function belonging(now: Choice): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const account of now.other ? ['main', 'other'] : ['main']) {
    for (const name of now.queries) keys.add(`${account} queries rows_of_${name}`);
    for (const id of IDS.filter((each) => !now.excluded.includes(each))) {
      keys.add(`${account} application_metrics ${id}`);
      if (now.custom.includes('depth')) keys.add(`${account} custom_depth ${id}`);
      for (let index = 0; now.hosts && index < HOSTS; index += 1) {
        keys.add(`${account} host_metrics ${id}00${index}`);
        if (now.custom.includes('wait')) keys.add(`${account} custom_wait ${id}00${index}`);
      }
    }
  }
  return keys;
}

async function served(world: World): Promise<ReadonlySet<string>> {
  const { blocks } = await world.collector.snapshot(EVERYTHING);
  return new Set(
    blocks
      .filter(({ group }) => WATCHED.has(group))
      .flatMap(({ group, labels, samples }) => {
        const families = samples.columns.map(({ family }) => family.name);
        const subject = labels.host_id ?? labels.app_id ?? families[0] ?? '';
        const kinds = group === 'custom_metrics' ? families : [group];
        return kinds.map((kind) => `${labels['account'] ?? ''} ${kind} ${subject}`);
      }),
  );
}

/** The keys that a call read, for each subject, in the form of `served`. Custom metrics come last. */
function readBy(account: string, { kind, subjects }: Call): readonly (readonly string[])[] {
  return subjects.map((subject) => {
    const about = subject as Partial<MetricDataSubject & QuerySubject>;
    if (kind === 'queries') return [`${account} queries rows_of_${about.nrql?.split(' ').at(-1) ?? ''}`];
    if (kind !== 'metric_data') return [];
    const group = about.hostKey === undefined ? 'application_metrics' : 'host_metrics';
    const requested = CUSTOM.filter((name) => about.metrics?.names.includes(metricOf(name)));
    const kinds = [group, ...requested.map((name) => `custom_${name}`)];
    return kinds.map((each) => `${account} ${each} ${about.hostKey ?? about.applicationId ?? ''}`);
  });
}

/** The keys of the newest read of each subject. */
function newestReads(seen: ReadonlyMap<string, readonly Call[]>): Iterable<readonly string[]> {
  const newest = new Map<string | undefined, readonly string[]>();
  for (const [account, calls] of seen) {
    const good = calls.filter(({ outcome }) => outcome === 'ok').sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0));
    for (const keys of good.flatMap((call) => readBy(account, call))) newest.set(keys[0], keys);
  }
  return newest.values();
}

/** A world in which each reload opens new readers of the same service, as the program does. */
class ReloadingWorld extends World {
  /** Calls of all readers of an account, in their order. */
  readonly seen = new Map<string, Call[]>();
  fault: (call: Call) => Fault | undefined = () => undefined;
  latency = 0;
  /** The readers of the current configuration, by account. */
  #current: ReadonlyMap<string, FakeReader>;

  constructor({ accounts, collection }: Config, likeness: Likeness) {
    super(accounts, collection, likeness);
    this.#current = new Map(this.readers);
  }

  open(name: string): FakeReader {
    const reader = new FakeReader(this.clock, this.likeness);
    reader.applications = IDS.map((id) => application(id));
    for (const id of IDS)
      reader.hostsOf.set(
        id,
        Array.from({ length: HOSTS }, (_, index) => host(id * 1_000 + index)),
      );
    for (const id of IDS) reader.names.set(id, ['Datastore/MySQL/allWeb', ...CUSTOM.map(metricOf)]);
    const values = Object.fromEntries(CUSTOM.map((name) => [metricOf(name), { average_value: 3 }]));
    reader.values = () => ({ ...TRAFFIC, ...values });
    for (const each of QUERIES) reader.rows.set(query(each).nrql, [{ facet: 'eu', count: 1 }]);
    const calls = this.seen.get(name) ?? [];
    this.seen.set(name, calls);
    reader.seen = (call) => void calls.push(call);
    reader.fault = (call) => this.fault(call);
    reader.latency = () => this.latency;
    this.readers.set(name, reader);
    return reader;
  }

  reload(now: Choice): void {
    const { accounts } = configOf(now, this.likeness);
    const before = this.#current;
    // An account that the file left out returns as a new one, with a new budget.
    for (const name of before.keys()) if (!accounts.some((account) => account.name === name)) this.seen.delete(name);
    this.#current = new Map(accounts.map(({ name }) => [name, this.open(name)]));
    this.keyOf = () => now.key;
    this.collector.reconfigure(configOf(now, this.likeness));
    for (const [name, reader] of this.#current) expect(this.memories.get(reader)).toBe(before.get(name)?.memory);
  }
}

/** The most calls of any minute beyond the highest limit that was in force in it. */
function beyondLimits(
  calls: readonly Call[],
  limits: readonly { readonly since: number; readonly perMinute: number }[],
) {
  return calls.filter(({ monotonicAt }) => {
    const inMinute = calls.filter((call) => call.monotonicAt <= monotonicAt && call.monotonicAt > monotonicAt - MINUTE);
    const inForce = limits.filter(
      ({ since }, index) => since <= monotonicAt && (limits[index + 1]?.since ?? Infinity) > monotonicAt - MINUTE,
    );
    return inMinute.length > Math.max(...inForce.map(({ perMinute }) => perMinute));
  });
}

const rejections: unknown[] = [];
const onRejection = (error: unknown): void => void rejections.push(error);

beforeEach(() => {
  process.on('unhandledRejection', onRejection);
  // Every second step seems so long that other work gets a turn after it.
  let time = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (time += 2.1));
});

afterEach(() => {
  vi.restoreAllMocks();
  process.off('unhandledRejection', onRejection);
});

let reloads = 0;

it.each<[string, Likeness]>([
  ['REST', REST],
  ['NerdGraph', NERDGRAPH],
])(
  'reloads at any moment remove nothing that belongs, bring nothing back, and cost no calls: %s',
  async (_, likeness) => {
    await fc.assert(
      fc.asyncProperty(choice, fc.array(step, { minLength: 5, maxLength: 25 }), async (first, steps) => {
        const start = configOf(first, likeness);
        const world = new ReloadingWorld(start, likeness);
        world.reload(first);
        let now = first;
        let before: ReadonlySet<string> = new Set();
        /** The keys that belonged at every moment since the last check. */
        let stayed = belonging(first);
        let lookedAt = world.clock.monotonic();
        const limits = [{ since: lookedAt, perMinute: first.perMinute }];
        const look = async (): Promise<void> => {
          const shown = await served(world);
          const belongs = belonging(now);
          expect([...shown].filter((key) => !belongs.has(key))).toEqual([]);
          expect([...before].filter((key) => stayed.has(key) && !shown.has(key))).toEqual([]);
          const read = new Set(
            [...world.seen].flatMap(([name, calls]) =>
              calls
                .filter(
                  ({ endedAt, outcome }) =>
                    outcome === 'ok' && (endedAt ?? -1) >= world.clock.now() - (world.clock.monotonic() - lookedAt),
                )
                .flatMap((call) => readBy(name, call).flat()),
            ),
          );
          // A custom metric that returns is calculated from held values, if its metric was read with them.
          for (const [data, ...metrics] of newestReads(world.seen)) {
            if (data !== undefined && before.has(data)) for (const key of metrics) read.add(key);
          }
          expect([...shown].filter((key) => !before.has(key) && !read.has(key))).toEqual([]);
          before = shown;
          stayed = belongs;
          lookedAt = world.clock.monotonic();
        };
        const scrape = async (meanwhile: () => Promise<void>): Promise<void> => {
          const asked = world.clock.monotonic();
          const scraped = world.collector.refresh(EVERYTHING, 9_500);
          await meanwhile();
          await world.clock.run(scraped);
          expect(world.clock.monotonic() - asked).toBeLessThanOrEqual(9_500);
          await look();
        };
        let turn = 0;
        for (const { reload, turns, pass, fault, latency } of steps) {
          world.latency = latency;
          world.fault = () => ((turn += 1) % 3 === 0 ? (fault ?? undefined) : undefined);
          await scrape(async () => {
            for (let each = 0; each < turns; each += 1) await new Promise((resolve) => setImmediate(resolve));
            if (reload === null) return;
            reloads += 1;
            world.reload(reload);
            now = reload;
            const belongs = belonging(now);
            stayed = new Set([...stayed].filter((key) => belongs.has(key)));
            limits.push({ since: world.clock.monotonic(), perMinute: now.perMinute });
          });
          world.fault = () => undefined;
          for (let passed = 0; passed < pass; passed += 60_000) {
            await world.clock.advance(Math.min(60_000, pass - passed));
            await scrape(() => Promise.resolve());
          }
          expect(world.collector.progressing()).toBe(true);
        }
        world.fault = () => undefined;
        world.latency = 50;
        const quietFrom = world.clock.monotonic();
        const end = quietFrom + 25 * MINUTE;
        while (world.clock.monotonic() < end) {
          await world.clock.advance(30_000);
          await scrape(() => Promise.resolve());
        }
        expect([...belonging(now)].filter((key) => !before.has(key))).toEqual([]);
        for (const status of world.collector.status()) {
          const calls = world.seen.get(status.name) ?? [];
          expect(beyondLimits(calls, limits)).toEqual([]);
          const quiet = calls.filter(({ monotonicAt }) => monotonicAt > end - 10 * MINUTE);
          const planned = Math.min(status.plan.callsPerMinute, now.perMinute);
          expect(quiet.length / 10).toBeLessThanOrEqual(planned * 1.25 + 2);
          expect(status.groups.filter(({ success }) => success !== true)).toEqual([]);
        }
        // Without waiting scrapes, at most one timer of the limits of each account is left, and one of each call under way.
        const underWay = [...world.seen.values()].flat().filter(({ endedAt }) => endedAt === undefined);
        expect(world.clock.timers).toBeLessThanOrEqual(2 + underWay.length);
        await world.collector.stop();
        expect([...world.readers.values()].filter(({ closed }) => !closed)).toEqual([]);
        expect(rejections).toEqual([]);
        expect(world.lines.filter(({ level }) => level >= 50)).toEqual([]);
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    );
  },
  300_000,
);

it('the reloads of the property above happened', () => {
  expect(reloads).toBeGreaterThan(RUNS);
});
