import type { TimeRange } from '../api/upstreamReader.ts';
import { COUNTED, TRANSACTION_VALUES, type CountedMinute } from '../metrics/counterFamilies.ts';

const MINUTE = 60;
/** How far back the value of a minute can still grow. */
const KEPT_MINUTES = 60;
/** How much of what was read before is read again, because data arrive late. */
export const OVERLAP = 10 * MINUTE;
/** The most that one reading asks for. */
export const LONGEST_READING = 50 * MINUTE;
/** `reporting` turns false after 10 minutes without data (New Relic's page on the reporting status of applications). */
const SILENT_BEFORE = 10 * MINUTE;
/** How long after it was first asked for a minute may stay unreadable before it is given up. */
const BROKEN_FOR = 10 * MINUTE;

/** The minutes that New Relic answered about one application. All times are Unix seconds, whole minutes. */
export interface CounterReading {
  /** The range asked for this application: that of the batch may be longer. */
  readonly asked: TimeRange;
  /** The range that was answered for the batch. */
  readonly answered: TimeRange;
  /** By the beginning of the minute; a minute without an entry had no transactions. */
  readonly minutes: ReadonlyMap<number, CountedMinute>;
}

/** What a reading changed beside the counters. */
export interface Booking {
  /** Transactions added to minutes that an earlier reading had covered. */
  readonly late: number;
  /** Seconds that will never be counted. */
  readonly lost: number;
  /** The beginning of the first minute that cannot be read: the reading has failed, and added nothing. */
  readonly broken: number | undefined;
}

const UNSEEN = 0;
const SEEN = 1;
const LOST = 2;

/**
 * The counters of one application: each minute is counted once, with the highest value that any reading gave for it. A
 * minute is kept for an hour and grows with late data; a value that falls takes nothing away. It calculates only: times come
 * with the readings.
 */
export class CounterLedger {
  /** In the order of `COUNTED`; none of them ever falls. */
  readonly totals = new Float64Array(COUNTED.length);
  /** By minute modulo an hour: the highest values, what became of the minute, and when a reading first covered it. */
  readonly #highest = new Float64Array(KEPT_MINUTES * COUNTED.length);
  readonly #states = new Uint8Array(KEPT_MINUTES);
  readonly #firstCovered = new Float64Array(KEPT_MINUTES);
  /** The end of the newest minute that is kept. */
  #newest = -Infinity;
  /** The end of the last good reading. */
  #end: number | undefined;
  /** The beginning of the first good reading: what lies before it is never counted. */
  #start = -Infinity;
  /** Every minute before this one was counted, is lost, or lay in a silence. */
  #settled = -Infinity;
  /** Times in which the application did not report. */
  #silences: TimeRange[] = [];
  #silentSince: number | undefined;

  /** False until a reading was good: then there is nothing to publish. */
  get isStarted(): boolean {
    return this.#end !== undefined;
  }

  /** What the next reading asks for, when it ends at `to`. */
  nextRange(to: number): TimeRange {
    const last = this.#end === undefined || this.#isSetBack(to) ? to : Math.min(this.#end, to);
    return { from: Math.max(last - OVERLAP, to - LONGEST_READING), to };
  }

  /** Takes note of whether the application reports, by a list that was read at `at`. Time in which it does not is not lost. */
  reports(isReporting: boolean, at: number): void {
    if (!isReporting) this.#silentSince ??= at - SILENT_BEFORE;
    else if (this.#silentSince !== undefined) {
      this.#silences.push({ from: this.#silentSince, to: at });
      this.#silentSince = undefined;
    }
  }

  /** Takes over what was answered. */
  take({ asked, answered, minutes }: CounterReading): Booking {
    if (this.#isSetBack(answered.to)) this.#startAgain();
    const lost = this.#settle(asked.from);
    this.#keepUpTo(answered.to);
    const isFirst = this.#end === undefined;
    const oldest = Math.max(answered.from, isFirst ? asked.from : this.#start, this.#newest - KEPT_MINUTES * MINUTE);
    const broken = this.#giveUp(minutes, { from: oldest, to: answered.to }, asked.to);
    const lostSeconds = lost + broken.lost;
    if (broken.first !== undefined) return { late: 0, lost: lostSeconds, broken: broken.first };
    if (isFirst) this.#start = this.#settled = asked.from;
    let late = 0;
    for (let minute = oldest; minute < answered.to; minute += MINUTE) {
      const values = minutes.get(minute);
      if (values !== 'broken') late += this.#raise(minute, values, isFirst);
    }
    this.#end = Math.max(this.#end ?? answered.to, answered.to);
    return { late, lost: lostSeconds, broken: undefined };
  }

  /** Raises a minute to what was read of it; gives the transactions that came late. */
  #raise(minute: number, values: readonly number[] | undefined, isFirst: boolean): number {
    const slot = slotOf(minute);
    const state = this.#states[slot];
    if (this.#isLost(minute)) return 0;
    this.#states[slot] = SEEN;
    let late = 0;
    for (let index = 0; index < COUNTED.length; index += 1) {
      const place = slot * COUNTED.length + index;
      const growth = (values?.[index] ?? 0) - (this.#highest[place] ?? 0);
      if (growth <= 0) continue;
      this.#highest[place] = values?.[index] ?? 0;
      if (isFirst) continue;
      this.totals[index] = (this.totals[index] ?? 0) + growth;
      if (state === SEEN && index < TRANSACTION_VALUES) late += growth;
    }
    return late;
  }

  /** Finds the first broken minute that may still be repaired, and gives up those that were broken for too long. */
  #giveUp(
    minutes: CounterReading['minutes'],
    { from, to }: TimeRange,
    askedTo: number,
  ): { readonly first: number | undefined; readonly lost: number } {
    let first: number | undefined;
    let lost = 0;
    for (let minute = from; minute < to; minute += MINUTE) {
      const slot = slotOf(minute);
      if (Number.isNaN(this.#firstCovered[slot])) this.#firstCovered[slot] = askedTo;
      if (minutes.get(minute) !== 'broken' || this.#isLost(minute)) continue;
      if (askedTo - (this.#firstCovered[slot] ?? askedTo) < BROKEN_FOR) first ??= minute;
      else if (this.#states[slot] === UNSEEN) {
        this.#states[slot] = LOST;
        lost += MINUTE;
      }
    }
    return { first, lost };
  }

  /** Whether a minute was given up, or was not covered when it was settled: the longer range of a batch may show it again. */
  #isLost(minute: number): boolean {
    const state = this.#states[slotOf(minute)];
    return state === LOST || (state === UNSEEN && minute < this.#settled);
  }

  /** Gives the seconds before `until` that no reading covered: none will, because readings never ask further back again. */
  #settle(until: number): number {
    if (this.#end === undefined || until <= this.#settled) return 0;
    let lost = 0;
    const known = Math.min(until, this.#newest);
    for (let minute = this.#settled; minute < known; minute += MINUTE) {
      const isUnseen = this.#states[slotOf(minute)] === UNSEEN;
      if (isUnseen && this.#silenceIn(minute, minute + MINUTE) === 0) lost += MINUTE;
    }
    const unknown = Math.max(this.#settled, known);
    lost += until - unknown - this.#silenceIn(unknown, until);
    this.#settled = until;
    this.#silences = this.#silences.filter(({ to }) => to > until);
    return lost;
  }

  #silenceIn(from: number, to: number): number {
    return this.#silences.reduce(
      (all, each) => all + Math.max(0, Math.min(to, each.to) - Math.max(from, each.from)),
      0,
    );
  }

  /** Makes room for the minutes before `to`. */
  #keepUpTo(to: number): void {
    const from = Math.max(this.#newest, to - KEPT_MINUTES * MINUTE);
    for (let minute = from; minute < to; minute += MINUTE) {
      const slot = slotOf(minute);
      this.#states[slot] = UNSEEN;
      this.#firstCovered[slot] = NaN;
      this.#highest.fill(0, slot * COUNTED.length, (slot + 1) * COUNTED.length);
    }
    this.#newest = Math.max(this.#newest, to);
  }

  /** Whether the clock was set back so far that no minute is known any more. */
  #isSetBack(to: number): boolean {
    return to <= this.#newest - KEPT_MINUTES * MINUTE;
  }

  /** The next reading is a first one; the counters stay. */
  #startAgain(): void {
    this.#newest = -Infinity;
    this.#end = undefined;
    this.#settled = -Infinity;
    this.#silences = [];
    this.#silentSince = undefined;
  }
}

function slotOf(minute: number): number {
  return Math.round(minute / MINUTE) % KEPT_MINUTES;
}
