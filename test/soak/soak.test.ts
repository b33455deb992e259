import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Snapshot } from '../../src/collect/collector.ts';
import type { Scope } from '../../src/collect/schedule/demand.ts';
import { accountConfig, collectionConfig } from '../collect/support/config.ts';
import { EVERYTHING, World } from '../collect/support/world.ts';
import { seeded } from './random.ts';
import { RestlessUpstream } from './upstream.ts';
import { samplesIn } from '../support/expositionBlocks.ts';

const SEED = Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1e9));
const HOURS = Number(process.env['SOAK_HOURS'] ?? 24);
const SCRAPE_EVERY = 15_000;
const MAX_AGE = 300;

/** Errors of the wall clock, in milliseconds. */
const CLOCK_STEPS = [0, 0, 61_000, -61_000, 3_600_000, -3_600_000, 86_400_000, -86_400_000];

/** The scope of a scrape of some groups. */
const SUBSET: Scope = { groups: new Set(['application_metrics', 'key_transactions']) };

/** The families whose value is the time, in seconds, at which upstream sent it. */
const TIMES: ReadonlySet<string> = new Set([
  'newrelic_application_rolling_hosts',
  'newrelic_host_rolling_instances',
  'newrelic_key_transaction_last_reported_timestamp_seconds',
  'newrelic_application_memory_used_bytes',
  'newrelic_host_memory_used_bytes',
]);

const rejections: unknown[] = [];
const remember = (reason: unknown): void => void rejections.push(reason);

beforeAll(() => void process.on('unhandledRejection', remember));
afterAll(() => void process.off('unhandledRejection', remember));

/** The age in seconds of the oldest value in a snapshot, minus the interval of its group. */
function oldestOverdue(
  { blocks }: Snapshot,
  now: number,
  effectiveInterval: (account: string, group: string) => number,
): number {
  let oldest = -Infinity;
  for (const { group, labels, samples } of blocks) {
    for (const { family, value } of samplesIn(samples)) {
      if (!TIMES.has(family.name)) continue;
      oldest = Math.max(oldest, now / 1000 - value - effectiveInterval(labels['account'] ?? '', group));
    }
  }
  return oldest;
}

function heapMegabytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1_048_576;
}

describe('a day of random faults', () => {
  // The budget and the calls at once: test/collect/property.test.ts.
  it(`keeps staleness and memory within their limits (${HOURS} h, SOAK_SEED=${SEED})`, async () => {
    process.stdout.write(`SOAK_SEED=${SEED} replays this run\n`);
    const random = seeded(SEED);
    const limits = [
      { name: 'roomy', perMinute: 300, applications: 15 },
      { name: 'tight', perMinute: 40, applications: 25 },
    ];
    const accounts = limits.map(({ name, perMinute }) =>
      accountConfig({ name, limits: { requests_per_minute: perMinute } }),
    );
    const collection = collectionConfig();
    const world = new World(accounts, collection);
    const upstreams = limits.map(({ name, applications }) => {
      const reader = world.readers.get(name);
      if (reader === undefined) throw new Error(name);
      return new RestlessUpstream(reader, world.clock, random, applications);
    });
    const effective = new Map<string, number>();
    const heap: number[] = [];
    const start = world.clock.monotonic();
    let off = 0;
    let steps = 0;
    let worst = -Infinity;
    for (let time = start; time < start + HOURS * 3_600_000; time += SCRAPE_EVERY) {
      const late = time + Math.floor(random() * 5_000) - world.clock.monotonic();
      await world.clock.advance(Math.max(0, late));
      for (const upstream of upstreams) {
        upstream.tick();
        if (random() < 0.02) upstream.change();
      }
      if (random() < 0.0005) world.collector.reconfigure({ accounts, collection });
      if (random() < 0.001) world.keyOf = () => 'another key';
      if (random() < 0.002) {
        // The wall clock is set: a quarter of the errors are 0, the right time.
        const wrong = CLOCK_STEPS[Math.floor(random() * CLOCK_STEPS.length)] ?? 0;
        world.clock.step(wrong - off);
        off = wrong;
      }
      if (random() < 0.05) {
        const id = [...(upstreams[0]?.ids ?? [])][Math.floor(random() * 5)] ?? 1;
        await world.clock.run(world.collector.probe('roomy', id, Math.floor(random() * 9_500)));
      }
      const scope = random() < 0.1 ? SUBSET : EVERYTHING;
      const snapshot = await world.scrape(scope, Math.floor(random() * 9_500));
      expect(snapshot.took).toBeLessThanOrEqual(9_500);
      expect(world.collector.progressing()).toBe(true);
      expect(rejections).toEqual([]);
      for (const { name, groups } of world.collector.status()) {
        // Due times follow the current plan, which changes with the number of applications.
        for (const { group, effectiveIntervalSeconds } of groups)
          effective.set(`${name}/${group}`, effectiveIntervalSeconds);
      }
      const overdue = oldestOverdue(
        snapshot,
        world.clock.monotonic(),
        (account, group) => effective.get(`${account}/${group}`) ?? 0,
      );
      // Upstream sends a value up to a step of the scrape and the slowest call before it is stored.
      expect(overdue).toBeLessThanOrEqual(MAX_AGE + 35);
      worst = Math.max(worst, overdue);
      steps += 1;
      world.lines.length = 0;
      if (steps % 240 === 0) heap.push(heapMegabytes());
    }
    // Once upstream behaves, everything heals without a restart.
    for (const upstream of upstreams) upstream.recover();
    for (let step = 0; step < 120; step += 1) {
      for (const upstream of upstreams) upstream.tick();
      await world.scrape();
      await world.clock.advance(SCRAPE_EVERY);
    }
    for (const { name, up, groups } of world.collector.status()) {
      expect(up, name).toBe(true);
      for (const { group, success, tasks } of groups) {
        expect(success, `${name}/${group}`).toBe(true);
        expect(tasks.missing, `${name}/${group}`).toBe(0);
      }
    }
    const { blocks } = await world.collector.snapshot({ ...EVERYTHING, account: 'tight' });
    const served = new Set(blocks.map(({ labels }) => Number(labels['app_id'])));
    expect(served).toEqual(upstreams[1]?.ids);
    const quarter = Math.floor(heap.length / 4);
    const median = (values: readonly number[]): number =>
      [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
    const [early, late] = [median(heap.slice(quarter, 2 * quarter)), median(heap.slice(-quarter))];
    process.stdout.write(
      `${steps} scrapes, at most ${Math.round(worst)} s past due; heap ${early.toFixed(1)} MB, at the end ${late.toFixed(1)} MB\n`,
    );
    if (quarter > 0) expect(late).toBeLessThan(early * 1.1 + 3);
    await world.collector.stop();
  });
});
