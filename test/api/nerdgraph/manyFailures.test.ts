import { describe, expect, it } from 'vitest';
import type { GoldenResult, Outcome } from '../../../src/api/upstreamReader.ts';
import { servicesOf } from './goldenSubjects.ts';
import { metricDataOf, RANGE } from './nerdGraphReading.ts';
import { say, startBetween, where, type Between } from './proxy.ts';
import { readAll } from '../support/reading.ts';

const MINUTE = 60_000;
const REFUSED = say('Unknown function x()');

/** Reads once a minute, and counts the failed subjects and the queries of each read. */
function everyMinute<S>(
  between: Between,
  clock: { now: number },
  read: () => Promise<readonly S[]>,
  isFailed: (each: S) => boolean,
) {
  return async () => {
    clock.now += MINUTE;
    const before = between.asked.length;
    const outcomes = await read();
    return { failed: outcomes.filter(isFailed).length, queries: between.asked.length - before, outcomes };
  };
}

describe('400 applications', () => {
  const IDS = Array.from({ length: 400 }, (_, index) => 1_000_001 + index);
  const idsIn = (nrql: string): number[] => (nrql.match(/\b1000\d\d\d\b/g) ?? []).map(Number);

  async function start() {
    const clock = { now: 0 };
    const world = { applications: 400, hostsPerApplication: 0, keyTransactions: 0 };
    const between = await startBetween(world, { maxRetries: 2, monotonic: () => clock.now });
    await between.reader.listApplications({}, between.call);
    const read = () => readAll(between.reader.metricData, metricDataOf(IDS), RANGE, between.call);
    const next = everyMinute(between, clock, read, (outcome) => 'error' in outcome);
    const { queries: healthy } = await next();
    return { between, next, healthy };
  }

  it('lose only two bad ones in different halves of a batch', async () => {
    const { between, next, healthy } = await start();
    const bad = [IDS[3]!, IDS[397]!];
    between.fault = where((nrql) => idsIn(nrql).some((id) => bad.includes(id)), REFUSED);
    const first = await next();
    expect(first.failed).toBe(2);
    // Two queries for each step down to each bad application.
    expect(first.queries).toBeLessThanOrEqual(healthy + 2 * 2 * 9);
    const second = await next();
    expect([second.failed, second.queries]).toEqual([2, healthy + 2]);
  });

  it.each([
    [10, 0],
    [11, 1],
  ])('of which %i are apart, are read with %i queries for several of these', async (count, together) => {
    const { between, next, healthy } = await start();
    const bad = IDS.slice(0, count);
    between.fault = where((nrql) => idsIn(nrql).some((id) => bad.includes(id)), REFUSED);
    for (let minute = 0; minute < 5; minute += 1) await next();
    const before = between.asked.length;
    const last = await next();
    expect(last).toMatchObject({ failed: count, queries: healthy + count + together });
    const errors = last.outcomes.flatMap((outcome) => ('error' in outcome ? outcome.error.failure : []));
    expect(errors.map(({ isSetApart }) => isSetApart)).toEqual(bad.map(() => true));
    const sizes = between.asked.slice(before).map(({ nrql }) => idsIn(nrql).filter((id) => bad.includes(id)).length);
    expect(sizes.filter((size) => size > 1)).toEqual(Array.from({ length: together }, () => count));
  });

  it.each([10, 50, 100])(
    'lose only every second read to %i bad ones in a row, which end every split',
    async (count) => {
      const { between, next } = await start();
      const bad = IDS.slice(0, count);
      between.fault = where((nrql) => idsIn(nrql).some((id) => bad.includes(id)), REFUSED);
      let missed = new Set<number>();
      for (let minute = 0; minute < 12; minute += 1) {
        const { outcomes } = await next();
        const failed = IDS.filter((id, index) => !bad.includes(id) && 'error' in outcomes[index]!);
        expect(failed.filter((id) => missed.has(id))).toEqual([]);
        missed = new Set(failed);
      }
    },
  );

  it.each([
    ['side by side', (id: number) => id <= 1_000_200],
    ['one in two', (id: number) => id % 2 === 0],
  ])(
    'recover within two intervals when 200 of them, %s, were refused for two minutes, with the same calls',
    async (_, isBad) => {
      const { between, next, healthy } = await start();
      between.fault = where((nrql) => idsIn(nrql).some(isBad), REFUSED);
      for (let minute = 0; minute < 2; minute += 1) {
        const { failed } = await next();
        expect(failed).toBeGreaterThanOrEqual(200);
      }
      between.fault = undefined;
      await next();
      expect((await next()).failed).toBe(0);
      // Subjects that broke a batch twice need three good reads.
      for (let minute = 0; minute < 3; minute += 1) expect((await next()).failed).toBe(0);
      expect((await next()).queries).toBe(healthy);
    },
  );
});

describe('1,000 entities', () => {
  const guidOf = (index: number): string =>
    Buffer.from(`7|EXT|SERVICE|${9_000_000_000_000_000_000n + BigInt(index)}`)
      .toString('base64')
      .replaceAll('=', '');

  async function start() {
    const clock = { now: 0 };
    const between = await startBetween(
      { applications: 2, hostsPerApplication: 0, keyTransactions: 0 },
      { maxRetries: 2, monotonic: () => clock.now },
    );
    const [service] = await servicesOf(between);
    const subjects = Array.from({ length: 1_000 }, (_, index) => ({ ...service!, guid: guidOf(index) }));
    const read = () => readAll(between.reader.entities!.goldenMetrics, subjects, RANGE, between.call);
    const failuresOf = (outcome: Outcome<GoldenResult>): number =>
      'error' in outcome ? service!.columns.length : outcome.value.failures.length;
    const next = everyMinute(between, clock, read, (outcome) => failuresOf(outcome) > 0);
    const { queries: healthy } = await next();
    return { between, next, healthy, columns: service!.columns, failuresOf };
  }

  it('with one refused column keep their other columns, for a few calls more', async () => {
    const { between, next, healthy, columns, failuresOf } = await start();
    between.fault = where((nrql) => nrql.includes(columns[0]!.select), REFUSED);
    for (const more of [60, 8]) {
      const { outcomes, queries } = await next();
      expect(new Set(outcomes.map(failuresOf))).toEqual(new Set([1]));
      expect(queries).toBeLessThanOrEqual(healthy + more);
    }
    between.fault = undefined;
    // Four queries of the column in a minute do not reach all entities.
    await next();
    const { failed, queries } = await next();
    expect([failed, queries]).toEqual([0, healthy]);
  });

  it('take twelve queries for each batch while every query times out, and recover as soon as that ends', async () => {
    const { between, next, healthy } = await start();
    between.fault = say('slow', 'TIMEOUT');
    for (let minute = 0; minute < 3; minute += 1) {
      const { failed, queries } = await next();
      expect(failed).toBe(1_000);
      expect(queries).toBeLessThanOrEqual(healthy * 13);
    }
    between.fault = undefined;
    const { failed, queries } = await next();
    expect([failed, queries]).toEqual([0, healthy]);
  });
});
