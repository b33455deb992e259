import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountConfig } from './support/config.ts';
import type { Fault } from './support/fakeReader.ts';
import { EVERYTHING, World } from './support/world.ts';

const START = Date.UTC(2026, 0, 1);
const INTERVAL = 60_000;

const FAULTS: readonly (Fault | undefined)[] = [
  undefined,
  undefined,
  undefined,
  { reason: 'server', status: 500 },
  { reason: 'timeout', latency: 10_000 },
  { reason: 'rate_limited', status: 429 },
  { reason: 'rate_limited', status: 429, retryAfter: 20 },
  { reason: 'network', latency: 0 },
  { reason: 'not_found', status: 404 },
];

const step = fc.record({
  pass: fc.constantFrom(0, 500, 5_000, 15_000, 15_000, 60_000),
  /** The faults of the calls until the next step, taken in turn. */
  faults: fc.array(fc.constantFrom(...FAULTS), { minLength: 1, maxLength: 5 }),
  latency: fc.constantFrom(0, 50, 800, 9_000),
  deadline: fc.constantFrom(0, 4_500, 9_500),
});

const fleet = fc.record({
  applications: fc.integer({ min: 1, max: 12 }),
  hosts: fc.integer({ min: 0, max: 3 }),
  perMinute: fc.integer({ min: 3, max: 60 }),
  atOnce: fc.integer({ min: 1, max: 5 }),
});

type Size = Readonly<Record<'applications' | 'hosts' | 'perMinute' | 'atOnce', number>>;

function worldOf({ applications, hosts, perMinute, atOnce }: Size): World {
  const limits = { requests_per_minute: perMinute, max_concurrent_requests: atOnce };
  return World.create(applications, hosts, [accountConfig({ limits })]);
}

describe('for any sequence of faults and time steps', () => {
  it('calls never exceed the budget or the calls at once, and no refresh outlasts its deadline', async () => {
    await fc.assert(
      fc.asyncProperty(fleet, fc.array(step, { maxLength: 60 }), async (size, steps) => {
        const world = worldOf(size);
        let turn = 0;
        for (const { pass, faults, latency, deadline } of steps) {
          world.reader.latency = () => latency;
          world.reader.fault = () => faults[(turn += 1) % faults.length];
          const asked = world.clock.now();
          await world.clock.run(world.collector.refresh(EVERYTHING, deadline));
          expect(world.clock.now() - asked).toBeLessThanOrEqual(deadline);
          expect(world.collector.progressing()).toBe(true);
          await world.clock.advance(pass);
        }
        expect(world.reader.mostPerMinute()).toBeLessThanOrEqual(size.perMinute);
        expect(world.reader.mostInFlight).toBeLessThanOrEqual(size.atOnce);
      }),
      { numRuns: 15 },
    );
  });

  it('no entity waits longer than its fair share plus one interval once upstream answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fleet,
        fc.array(step, { maxLength: 15 }),
        fc.constantFrom(15_000, 60_000),
        async (size, steps, every) => {
          const world = worldOf(size);
          let turn = 0;
          for (const { pass, faults, latency } of steps) {
            world.reader.latency = () => latency;
            world.reader.fault = () => faults[(turn += 1) % faults.length];
            void world.collector.refresh(EVERYTHING, 0);
            await world.clock.advance(pass);
          }
          world.reader.latency = () => 50;
          world.reader.fault = () => undefined;
          const scrapeUntil = async (time: number): Promise<void> => {
            while (world.clock.now() < time) {
              void world.collector.refresh(EVERYTHING, 0);
              await world.clock.advance(every);
            }
          };
          // Pauses, the recovery of the rate and the first read of everything end.
          const units = 2 + size.applications * (3 + size.hosts);
          const firstReading = (2 * 60_000 * units) / size.perMinute;
          await scrapeUntil(world.clock.now() + 600_000 + firstReading);
          const from = world.clock.now();
          world.reader.calls.length = 0;
          // The fair share: everything is read once before anything is read twice.
          const fairShare = Math.max(INTERVAL, (60_000 * units) / size.perMinute);
          await scrapeUntil(from + 6 * (fairShare + INTERVAL));
          const reads = new Map<string, number>();
          let longest = 0;
          for (const { kind, applicationId, hostKey, startedAt: calledAt } of world.reader.calls) {
            if (kind !== 'metric_data') continue;
            const key = `${String(applicationId)}/${String(hostKey)}`;
            longest = Math.max(longest, calledAt - (reads.get(key) ?? from));
            reads.set(key, calledAt);
          }
          // A scrape may come up to one scrape interval after the due time of an entity.
          expect(longest).toBeLessThanOrEqual(fairShare + INTERVAL + every);
          expect(reads.size).toBe(size.applications * (1 + size.hosts));
        },
      ),
      { numRuns: 8 },
    );
  });

  it('everything is fresh within minutes after the last fault, where the budget carries the fleet', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const world = worldOf({ applications: 4, hosts: 1, perMinute: 60, atOnce: 4 });
        let turn = 0;
        for (const { pass, faults, latency, deadline } of steps) {
          world.reader.latency = () => latency;
          world.reader.fault = () => faults[(turn += 1) % faults.length];
          await world.clock.run(world.collector.refresh(EVERYTHING, deadline));
          await world.clock.advance(pass);
        }
        world.reader.latency = () => 50;
        world.reader.fault = () => undefined;
        const end = world.clock.now() + 420_000;
        while (world.clock.now() < end) {
          await world.scrape();
          await world.clock.advance(15_000);
        }
        expect(await world.nextScrape()).toMatchObject({ complete: true });
        expect(world.clock.now()).toBeGreaterThan(START);
      }),
      { numRuns: 10 },
    );
  });
});
