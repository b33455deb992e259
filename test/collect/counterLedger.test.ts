import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CounterLedger } from '../../src/collect/inventory/counterLedger.ts';
import { COUNTED, type CountedMinute } from '../../src/metrics/counterFamilies.ts';

const START = 1_800_000_000 - (1_800_000_000 % 3_600);
const timeOf = (minute: number): number => START + 60 * minute;
const range = (from: number, to: number) => ({ from: timeOf(from), to: timeOf(to) });
/** A minute with this many web transactions, one of them with an error, in half a second each. */
const web = (count: number): number[] => [count, 0, Math.min(count, 1), count / 2, count, 0, 0];
type Booking = ReturnType<CounterLedger['add']>;
const NOTHING: Booking = { late: 0, lost: 0, broken: undefined };

interface Reading {
  readonly to: number;
  readonly minutes?: Readonly<Record<number, CountedMinute>>;
  /** Minutes before `to` from which on the batch was read, and at which the response ended. */
  readonly batchFrom?: number;
  readonly answeredTo?: number;
  /** Minutes that the process had run since minute 0; without it, the wall clock was never set. */
  readonly running?: number;
}

/** The time at which minutes up to `to` are read, two minutes after it, and that the process has run by then. */
const moment = (to: number, running = to) => ({ wall: timeOf(to + 2), running: 60 * (running + 1_000) });

/** Reads as the exporter does: over the range that the ledger asks for. */
function read(ledger: CounterLedger, { to, minutes = {}, batchFrom, answeredTo = to, running = to }: Reading): Booking {
  const requested = ledger.nextRange(timeOf(to));
  const from = batchFrom === undefined ? requested.from : timeOf(batchFrom);
  const byStart = new Map(Object.entries(minutes).map(([minute, values]) => [timeOf(Number(minute)), values]));
  return ledger.add(requested, { from, to: timeOf(answeredTo) }, byStart, moment(to, running));
}

/** A ledger whose first reading ended at minute 0. */
function started(minutes: Reading['minutes'] = {}): CounterLedger {
  const ledger = new CounterLedger();
  expect(read(ledger, { to: 0, minutes })).toEqual(NOTHING);
  return ledger;
}

const webTotal = ({ totals }: CounterLedger): number | undefined => totals[0];

describe('the range of the next read', () => {
  it('covers the 10 minutes before the end at first', () => {
    expect(new CounterLedger().nextRange(timeOf(0))).toEqual(range(-10, 0));
  });

  it.each([
    ['a minute later covers that minute and the 10 before it', 1, range(-10, 1)],
    ['half an hour later covers that time and the 10 minutes before it', 30, range(-10, 30)],
    ['40 minutes later is the longest range without loss', 40, range(-10, 40)],
    ['70 minutes later covers only 50 minutes', 70, range(20, 70)],
    ['after the clock was set back by 5 minutes covers the 10 minutes before the end', -5, range(-15, -5)],
    ['after the clock was set back by more than an hour is that of a first read', -60, range(-70, -60)],
  ])('%s', (_, to, expected) => {
    expect(started().nextRange(timeOf(to))).toEqual(expected);
  });

  it('begins at the end of the received range, not of the requested one', () => {
    const ledger = started();
    read(ledger, { to: 5, answeredTo: 3 });
    expect(ledger.nextRange(timeOf(6))).toEqual(range(-7, 6));
  });
});

describe('a read', () => {
  it('adds the minutes of the last hour in its batch, and no older ones', () => {
    const ledger = started();
    for (let to = 1; to <= 59; to += 1) read(ledger, { to });
    read(ledger, { to: 60, batchFrom: 0, minutes: { 0: web(4) } });
    expect(webTotal(ledger)).toBe(4);
    read(ledger, { to: 61, batchFrom: 0, minutes: { 0: web(40), 1: web(2) } });
    expect(webTotal(ledger)).toBe(6);
    // The place of minute 0 now holds minute 60.
    read(ledger, { to: 62, batchFrom: 0, minutes: { 0: web(40) } });
    expect(webTotal(ledger)).toBe(6);
  });
});

describe('a pause between reads', () => {
  it('loses nothing while the application does not report', () => {
    const ledger = started();
    ledger.recordReporting(false, timeOf(1));
    ledger.recordReporting(false, timeOf(2));
    ledger.recordReporting(true, timeOf(200));
    expect(read(ledger, { to: 201, minutes: { 200: web(3) } })).toEqual(NOTHING);
    expect(webTotal(ledger)).toBe(3);
  });

  it('loses nothing of the failed read before it either while the application does not report', () => {
    const ledger = started();
    expect(read(ledger, { to: 2, minutes: { 1: 'broken' } })).toEqual({ ...NOTHING, broken: timeOf(1) });
    ledger.recordReporting(false, timeOf(10));
    ledger.recordReporting(true, timeOf(200));
    expect(read(ledger, { to: 201 })).toEqual(NOTHING);
  });

  it('loses the time before the application stopped reporting, except the 10 minutes until New Relic notices', () => {
    const ledger = started();
    ledger.recordReporting(false, timeOf(30));
    ledger.recordReporting(true, timeOf(300));
    expect(read(ledger, { to: 301 }).lost).toBe(60 * 20);
  });

  it('loses what came after the application reported again, if no read covers it', () => {
    const ledger = started();
    ledger.recordReporting(false, timeOf(0));
    ledger.recordReporting(true, timeOf(30));
    expect(read(ledger, { to: 100 }).lost).toBe(60 * (50 - 30));
  });

  it('counts a time within two silences once, so that lost seconds never fall', () => {
    const ledger = started();
    ledger.recordReporting(false, timeOf(10));
    ledger.recordReporting(true, timeOf(100));
    ledger.recordReporting(false, timeOf(101));
    ledger.recordReporting(true, timeOf(200));
    expect(read(ledger, { to: 201 })).toEqual(NOTHING);
    const changes = fc.array(fc.tuple(fc.nat(90), fc.boolean()), { maxLength: 12 });
    fc.assert(
      fc.property(changes, (steps) => {
        const random = started();
        let time = 0;
        for (const [minutes, isReporting] of steps) random.recordReporting(isReporting, timeOf((time += minutes)));
        random.recordReporting(true, timeOf(time));
        expect(read(random, { to: time + 1 }).lost).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('with the clock set back by more than an hour starts again and keeps the counters', () => {
    const ledger = started();
    read(ledger, { to: 1, minutes: { 0: web(7) } });
    expect(read(ledger, { to: -120, minutes: { [-121]: web(5) }, running: 2 })).toEqual(NOTHING);
    expect(read(ledger, { to: -119, minutes: { [-121]: web(6), [-120]: web(1) }, running: 3 }).late).toBe(1);
    expect(webTotal(ledger)).toBe(9);
  });
});

describe('a minute that cannot be read', () => {
  it('is given up 10 minutes after its own first request, not after an earlier failed read of other minutes', () => {
    const ledger = new CounterLedger();
    expect(read(ledger, { to: 0, batchFrom: -11, minutes: { [-1]: 'broken' } }).broken).toBe(timeOf(-1));
    expect(read(ledger, { to: -4 })).toEqual(NOTHING);
    expect(read(ledger, { to: 6, minutes: { [-11]: 'broken' } })).toEqual(NOTHING);
  });

  it('is lost once, also where the longest range no longer reaches it', () => {
    const ledger = started();
    let lost = 0;
    for (let to = 1; to <= 80; to += 1) {
      const minutes = Object.fromEntries(Array.from({ length: to }, (_, minute) => [minute, 'broken' as const]));
      const booking = read(ledger, { to, minutes });
      expect(booking.broken).toBeDefined();
      lost += booking.lost;
    }
    // All but the minutes that were first requested within the last 10 minutes.
    expect(lost).toBe(60 * 70);
  });
});

const value = fc.constantFrom(0, 0, 1, 2, 5, 100);
const minuteOf = fc.oneof(
  { weight: 8, arbitrary: fc.array(value, { minLength: COUNTED.length, maxLength: COUNTED.length }) },
  { weight: 1, arbitrary: fc.constant('broken' as const) },
);
const readings = fc.array(
  fc.record({
    /** Minutes since the reading before: below 0, the clock was set back. */
    pass: fc.oneof(
      { weight: 10, arbitrary: fc.integer({ min: 0, max: 6 }) },
      { weight: 2, arbitrary: fc.integer({ min: -20, max: 90 }) },
    ),
    /** How much longer the range of the batch is, and how much earlier the response ends. */
    longer: fc.integer({ min: 0, max: 40 }),
    shorter: fc.constantFrom(0, 0, 0, 1, 4),
    fails: fc.boolean(),
    minutes: fc.dictionary(fc.integer({ min: 1, max: 55 }).map(String), minuteOf, { maxKeys: 20 }),
  }),
  { maxLength: 40 },
);

/** The same by its definition: every minute is remembered for ever, and sums are taken at the end. */
class Oracle {
  readonly #highest = new Map<number, { values: number[]; baseline: readonly number[]; firstRead: number }>();
  readonly #firstCovered = new Map<number, number>();
  readonly #givenUp = new Set<number>();
  readonly booked = { lost: 0, late: 0 };
  late = 0;
  /** The newest minute, from START. */
  newest = -Infinity;
  #start = Infinity;
  #settled = -Infinity;

  take(
    requested: ReturnType<typeof range>,
    received: ReturnType<typeof range>,
    readMinutes: ReadonlyMap<number, CountedMinute>,
    { lost, late, broken }: Booking,
    now: ReturnType<typeof moment>,
  ): void {
    this.booked.lost += lost;
    this.booked.late += late;
    this.newest = Math.max(this.newest, (received.to - START) / 60);
    const isFirst = this.#start === Infinity;
    if (!isFirst) this.#settled = Math.max(this.#settled, requested.from);
    const covered: number[] = [];
    for (let minute = received.from; minute < received.to; minute += 60) {
      if (minute >= timeOf(this.newest - 60) && minute >= (isFirst ? requested.from : this.#start))
        covered.push(minute);
    }
    const unread = covered.filter((minute) => {
      const first = this.#firstCovered.get(minute) ?? requested.to;
      this.#firstCovered.set(minute, first);
      const isSettled = !this.#highest.has(minute) && minute < this.#settled;
      if (readMinutes.get(minute) !== 'broken' || this.#givenUp.has(minute) || isSettled) return false;
      if (requested.to - first < 600) return true;
      if (!this.#highest.has(minute)) this.#givenUp.add(minute);
      return false;
    });
    expect(broken).toBe(unread[0]);
    if (broken !== undefined) return;
    if (isFirst) this.#start = this.#settled = requested.from;
    for (const minute of covered) this.#raise(minute, readMinutes.get(minute) ?? web(0), isFirst, now);
  }

  #raise(minute: number, values: CountedMinute, isFirst: boolean, now: ReturnType<typeof moment>): void {
    const known = this.#highest.get(minute);
    if (values === 'broken' || this.#givenUp.has(minute) || (known === undefined && minute < this.#settled)) return;
    const raised = values.map((each, index) => Math.max(each, known?.values[index] ?? 0));
    const firstRead = known?.firstRead ?? now.running;
    if (known !== undefined && minute + 60 <= now.wall - (now.running - firstRead))
      this.late += raised.slice(0, 2).reduce((sum, each, index) => sum + each - (known.values[index] ?? 0), 0);
    this.#highest.set(minute, { values: raised, baseline: known?.baseline ?? (isFirst ? raised : web(0)), firstRead });
  }

  totals(): number[] {
    return COUNTED.map((_, index) =>
      [...this.#highest.values()].reduce(
        (sum, { values, baseline }) => sum + (values[index] ?? 0) - (baseline[index] ?? 0),
        0,
      ),
    );
  }

  /** 60 for each minute before the longest range of a read, and each given up, that no reading gave. */
  lost(): number {
    const lost = new Set(this.#givenUp);
    for (let minute = this.#start; minute < this.#settled; minute += 60)
      if (!this.#highest.has(minute)) lost.add(minute);
    return 60 * lost.size;
  }
}

describe('for any order of reads, gaps, late growth, falls and broken minutes', () => {
  it('the counter adds up the highest value of each minute, unread minutes are lost, and nothing falls', () => {
    fc.assert(
      fc.property(readings, (steps) => {
        const ledger = new CounterLedger();
        const oracle = new Oracle();
        let now = 0;
        let running = 0;
        let before = [...ledger.totals];
        for (const { pass, longer, shorter, fails, minutes } of steps) {
          now = Math.max(now + pass, oracle.newest - 50);
          running += Math.max(0, pass);
          if (fails) continue;
          const requested = ledger.nextRange(timeOf(now));
          const received = range(Math.max((requested.from - START) / 60 - longer, now - 50), now - shorter);
          const readMinutes = new Map(
            Object.entries(minutes).map(([ago, values]) => [timeOf(now - Number(ago)), values]),
          );
          const time = moment(now, running);
          oracle.take(requested, received, readMinutes, ledger.add(requested, received, readMinutes, time), time);
          const after = [...ledger.totals];
          for (const [index, total] of after.entries()) expect(total).toBeGreaterThanOrEqual(before[index] ?? 0);
          before = after;
        }
        expect(before).toEqual(oracle.totals());
        expect([oracle.booked.lost, oracle.booked.late]).toEqual([oracle.lost(), oracle.late]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('any split of the same data into reads gives the same counters', () => {
    const world = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 120, maxLength: 120 });
    const pauses = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 3, maxLength: 120 });
    fc.assert(
      fc.property(world, pauses, (counts, steps) => {
        const ledger = started(Object.fromEntries(counts.slice(0, 10).map((count, index) => [index - 10, web(count)])));
        let to = 0;
        for (const step of steps) {
          if (to + step > 110) break;
          to += step;
          const { from } = ledger.nextRange(timeOf(to));
          const minutes: Record<number, CountedMinute> = {};
          for (let minute = (from - START) / 60; minute < to; minute += 1)
            minutes[minute] = web(counts[minute + 10] ?? 0);
          expect(read(ledger, { to, minutes })).toEqual(NOTHING);
        }
        expect(webTotal(ledger)).toBe(counts.slice(10, to + 10).reduce((sum, count) => sum + count, 0));
      }),
    );
  });
});

it('a thousand ledgers hold at most 5 MB', () => {
  const before = process.memoryUsage();
  const ledgers = Array.from({ length: 1_000 }, () => started({ [-1]: web(1) }));
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  expect(ledgers.length).toBe(1_000);
  expect(arrayBuffers - before.arrayBuffers).toBeLessThan(4_500_000);
  expect(heapUsed - before.heapUsed).toBeLessThan(20_000_000);
});
