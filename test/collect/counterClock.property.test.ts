import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CounterLedger } from '../../src/collect/inventory/counterLedger.ts';
import { MinuteMemory } from '../../src/collect/inventory/minuteMemory.ts';

/** All times here are minutes; 0 is this one, in Unix seconds, and the process starts at 0 by the true clock. */
const START = 1_800_000_000 - (1_800_000_000 % 3_600);
const seconds = (minute: number): number => START + 60 * minute;
const web = (count: number): number[] => [count, 0, 0, 0, 0, 0, 0];

/** The transactions that the service has of a minute at a true time: none of a third of the minutes, and the last ones come late. */
function serviceOf(seed: number, latest: number) {
  const final = (minute: number): number => {
    const mixed = Math.imul((minute + 100_000) ^ seed, 2_654_435_761) >>> 8;
    return mixed % 3 === 0 ? 0 : mixed % 97;
  };
  return (minute: number, trueNow: number): number => {
    const age = trueNow - minute - 1;
    return age < 0 ? 0 : Math.floor(final(minute) * Math.min(1, (age + 1) / (latest + 1)));
  };
}

type Service = ReturnType<typeof serviceOf>;

interface Covered {
  highest: number;
  readonly baseline: number;
  /** The number of times that the clock had been set back beyond an hour. */
  readonly era: number;
  /** The true time of the first read, and its error of the wall clock. */
  readonly firstRead: number;
}

/** The same rules by a memory that forgets nothing. */
class Oracle {
  readonly #covered = new Map<number, Covered>();
  /** The true time for which each minute was last read or missed. */
  readonly #passedAt = new Map<number, number>();
  /** The first minute of the first read since the clock was set back beyond an hour. */
  #start = 0;
  #era = 0;
  #isFirst = true;
  #newest = -Infinity;
  #settled = -Infinity;
  #beginning: { readonly minute: number; readonly error: number } | undefined;
  late = 0;
  /** The minutes that at some time lay behind the ranges of the reads, and that none had covered. */
  missed = 0;

  take({ from, to }: Range, received: Range, trueNow: number, error: number, service: Service): void {
    if (received.to <= this.#newest - 60) {
      this.#era += 1;
      this.#isFirst = true;
      this.#newest = -Infinity;
    }
    this.#newest = Math.max(this.#newest, received.to);
    this.#settled = this.#isFirst ? from : Math.max(this.#settled, from);
    this.#beginning ??= { minute: from, error };
    const { minute: first, error: firstError } = this.#beginning;
    const beginning = Math.min(first, first - firstError + error);
    if (this.#isFirst) this.#start = from;
    for (let minute = this.#start; minute < from; minute += 1) {
      // As the clock counts now, a minute may have been read or missed before it happened.
      if (minute + 1 <= (this.#passedAt.get(minute) ?? -Infinity) + error) continue;
      this.#passedAt.set(minute, to - error);
      this.missed += 1;
    }
    const oldest = Math.max(this.#isFirst ? from : received.from, this.#newest - 60);
    for (let minute = oldest; minute < to; minute += 1) {
      this.#passedAt.set(minute, to - error);
      const known = this.#covered.get(minute);
      const isOfEra = known?.era === this.#era;
      if (!isOfEra && ((known?.highest ?? 0) > 0 || minute < this.#settled || minute < beginning)) continue;
      const value = service(minute, trueNow);
      if (known === undefined || !isOfEra) {
        const baseline = this.#isFirst ? value : 0;
        this.#covered.set(minute, { highest: value, baseline, era: this.#era, firstRead: trueNow });
      } else {
        const growth = Math.max(0, value - known.highest);
        if (minute + 1 <= known.firstRead + error) this.late += growth;
        known.highest += growth;
      }
    }
    this.#isFirst = false;
  }

  get total(): number {
    return [...this.#covered.values()].reduce((sum, { highest, baseline }) => sum + highest - baseline, 0);
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** A ledger that is read as the exporter reads it, two minutes behind a wall clock that the test sets. */
class Counting {
  readonly ledger = new CounterLedger();
  readonly oracle = new Oracle();
  readonly #service: Service;
  lost = 0;
  late = 0;
  trueNow = 0;
  /** The minutes that the wall clock is ahead of the true one. */
  error = 0;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Reads; the range of the batch begins earlier by some minutes. */
  read(longer = 0): void {
    const to = this.trueNow + this.error - 2;
    const range = this.ledger.nextRange(seconds(to));
    const requested = { from: (range.from - START) / 60, to };
    const received = { from: Math.max(requested.from - longer, to - 50), to };
    const minutes = new Map<number, number[]>();
    for (let minute = received.from; minute < to; minute += 1) {
      const count = this.#service(minute, this.trueNow);
      if (count > 0) minutes.set(seconds(minute), web(count));
    }
    const now = { wall: seconds(to + 2), running: 60 * this.trueNow };
    const booking = this.ledger.add(range, { from: seconds(received.from), to: seconds(to) }, minutes, now);
    this.lost += booking.lost;
    this.late += booking.late;
    this.oracle.take(requested, received, this.trueNow, this.error, this.#service);
  }

  /** Reads after each of some minutes. */
  readFor(minutes: number): void {
    for (let minute = 0; minute < minutes; minute += 1) {
      this.trueNow += 1;
      this.read();
    }
  }

  get total(): number {
    return this.ledger.totals[0] ?? 0;
  }
}

const inTime = (): number => 10;

describe('a wall clock that is set and corrected', () => {
  const SLIPS = [
    ['back by an hour', -60, 10],
    ['back by 90 minutes', -90, 20],
    ['back by two hours', -120, 10],
    ['back by three hours, for more than an hour', -180, 70],
    ['back by half an hour', -30, 10],
    ['back by two days', -2_880, 30],
  ] as const;

  it.each(SLIPS)('%s counts no minute twice, and only missed minutes are lost', (_, error, minutes) => {
    const counting = new Counting((minute, trueNow) => (minute < trueNow ? inTime() : 0));
    counting.read();
    counting.readFor(200);
    expect(counting.total).toBe(10 * 200);
    counting.error = error;
    counting.readFor(minutes);
    counting.error = 0;
    counting.readFor(100);
    // The longest range reaches back 50 minutes.
    const unread = Math.max(0, minutes + 1 - 50);
    const counted = 10 * (200 + minutes + 100 - unread);
    const before = counting.total - counted;
    // What lies before the process, as the wrong clock shows it, is no minute that was counted.
    expect(before).toBeGreaterThanOrEqual(0);
    expect(before).toBeLessThanOrEqual(error <= -180 ? 10 * minutes : 0);
    expect(counting.lost).toBe(60 * unread);
    expect(counting.late).toBe(0);
  });

  it.each([
    ['on by half an hour', 30],
    ['on by 40 minutes', 39],
  ])('%s and back makes nothing late, lost or counted twice', (_, error) => {
    const counting = new Counting((minute, trueNow) => (minute < trueNow ? inTime() : 0));
    counting.read();
    counting.readFor(20);
    counting.error = error;
    counting.readFor(5);
    counting.error = 0;
    counting.readFor(100);
    expect([counting.total, counting.late, counting.lost]).toEqual([10 * 125, 0, 0]);
  });

  it('and is not read for 20 minutes after it was set back is read from the last read on', () => {
    const counting = new Counting((minute, trueNow) => (minute < trueNow ? inTime() : 0));
    counting.read();
    counting.error = 40;
    counting.readFor(5);
    counting.error = 0;
    counting.readFor(5);
    counting.trueNow += 20;
    counting.readFor(50);
    expect([counting.total, counting.late, counting.lost]).toEqual([10 * 80, 0, 0]);
  });
});

it('exactly the minutes without a read after the clock was set back are lost', () => {
  const counting = new Counting((minute, trueNow) => (minute < trueNow ? inTime() : 0));
  counting.readFor(1);
  counting.error = -61;
  counting.readFor(1);
  // A range reaches back 50 minutes.
  counting.trueNow += 52;
  counting.readFor(1);
  expect(counting.lost).toBe(3 * 60);
});

const steps = fc.array(
  fc.record({
    passed: fc.integer({ min: 1, max: 12 }),
    jump: fc.oneof(
      { weight: 8, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.integer({ min: -180, max: 180 }) },
      { weight: 1, arbitrary: fc.constant('corrected' as const) },
    ),
    longer: fc.constantFrom(0, 0, 5, 40),
    fails: fc.integer({ min: 0, max: 9 }).map((each) => each < 2),
  }),
  { minLength: 1, maxLength: 60 },
);

type Step = (typeof steps extends fc.Arbitrary<infer T> ? T : never)[number];
const read = (passed: number, jump: Step['jump'] = 0): Step => ({ passed, jump, longer: 0, fails: false });

const EXAMPLES: Step[][] = [
  // Set back before the process began, then not read for longer than a range reaches back.
  [read(1), read(1, -61), read(53)],
  // Minutes that were read in a future, and those of the present missed later.
  [read(1), read(1, 62), read(2, 'corrected'), read(53)],
  [read(1, 8), read(4, 'corrected'), read(4), read(2, -62), read(39), read(9, 'corrected')],
  // Minutes that lay before the process began when they were read.
  [read(2, 61), read(1, 'corrected'), read(1, 12), read(10, 'corrected')],
  [read(1), read(1, -61), read(1, 12), read(9, -12)],
];

describe('a wall clock that is set any number of times, by up to three hours each time', () => {
  it('counts each minute once, with its highest value, and only missed minutes are lost', () => {
    fc.assert(
      fc.property(steps, fc.integer(), fc.integer({ min: 0, max: 8 }), (walk, seed, latest) => {
        const counting = new Counting(serviceOf(seed, latest));
        for (const { passed, jump, longer, fails } of walk) {
          counting.trueNow += passed;
          counting.error = jump === 'corrected' ? 0 : counting.error + jump;
          if (fails) continue;
          const before = counting.total;
          counting.read(longer);
          expect(counting.total).toBeGreaterThanOrEqual(before);
        }
        const { oracle } = counting;
        expect([counting.total, counting.late]).toEqual([oracle.total, oracle.late]);
        expect(counting.lost).toBeLessThanOrEqual(60 * oracle.missed);
      }),
      { numRuns: 2_000, examples: EXAMPLES.map((walk) => [walk, 0, 0]) },
    );
  });
});

describe('the memory of minutes', () => {
  it('keeps each minute for a day, in any order of reads, and no other minute', () => {
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 30_000 }), { maxLength: 300 });
    fc.assert(
      fc.property(minutes, (added) => {
        const memory = new MinuteMemory();
        for (const [index, minute] of added.entries()) memory.add(seconds(minute), index * 60);
        const found = new Set(added);
        for (const minute of added) {
          expect(memory.has(seconds(minute))).toBe(true);
          expect(memory.has(seconds(minute + 1))).toBe(found.has(minute + 1));
        }
      }),
    );
  });

  it('takes at most 600 bytes while the clock is not set', () => {
    const memories = Array.from({ length: 500 }, () => new MinuteMemory());
    const before = process.memoryUsage().arrayBuffers;
    for (const memory of memories) {
      for (let minute = 0; minute < 3 * 24 * 60; minute += 7) memory.add(seconds(minute), minute * 60);
    }
    expect((process.memoryUsage().arrayBuffers - before) / memories.length).toBeLessThan(600);
  });
});
