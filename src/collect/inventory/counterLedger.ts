import type { TimeRange } from '../../api/upstreamReader.ts';
import { COUNTED, TRANSACTION_VALUES, type CountedMinute } from '../../metrics/counterFamilies.ts';
import { DAY_S, MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';
import { MinuteMemory } from './minuteMemory.ts';

/** The number of minutes for which the value of a minute can still grow. */
const KEPT_MINUTES = 60;
/** The overlap of a read with the one before it, in seconds, because data arrive late. */
export const OVERLAP = 10 * MINUTE_S;
export const LONGEST_RANGE = 50 * MINUTE_S;
/** `reporting` turns false after 10 minutes without data (New Relic's page on the reporting status of applications). */
const SILENT_BEFORE = 10 * MINUTE_S;

/** The range of one read in a steady state, for counters with an interval in milliseconds: the interval plus the overlap. */
export function steadyRange(interval: number, to: number): TimeRange {
  const seconds = OVERLAP + Math.max(MINUTE_S, Math.ceil(interval / MINUTE_MS) * MINUTE_S);
  return { from: to - Math.min(LONGEST_RANGE, seconds), to };
}

/** The time after its first request for which an unreadable minute is tried again before it is lost, in seconds. */
const BROKEN_FOR = 10 * MINUTE_S;

/** Marks a minute that no request has covered; a covered minute has a smaller number in `#firstCovered`. */
const NEVER_COVERED = 255;

const UNSEEN = 0;
const SEEN = 1;
/** The minute adds nothing: it was given up, or was counted before its values were dropped. */
const CLOSED = 2;
/** The minute was read, but lay before the first read as the wall clock counted then: it is not lost. */
const EARLY = 3;

/** One moment by two clocks, in seconds: the wall clock, which may be set, and one that runs with the process and never is. */
export interface Moment {
  readonly wall: number;
  readonly running: number;
}

/** The time of the process at a wall time, as the wall clock counts now. */
function runningAt(wall: number, now: Moment): number {
  return now.running - (now.wall - wall);
}

/** The wall time of a moment as the wall clock counts now, after it was set; never later than it showed then. */
function asItCountsNow(moment: Moment, now: Moment): number {
  return Math.min(moment.wall, now.wall - (now.running - moment.running));
}

/**
 * The counters of one application: each minute is counted once, with the highest value of all reads. A minute is kept for an
 * hour and grows with late data; a lower value changes nothing. It does no I/O: times come with the reads.
 *
 * The wall clock may be set back and corrected, so minutes that were counted are remembered after their values are dropped.
 */
export class CounterLedger {
  /** In the order of `COUNTED`; no total ever falls. */
  readonly totals = new Float64Array(COUNTED.length);
  /**
   * For each kept minute, at the place that `slotOf` gives: the highest values, the state, and the minutes from its start to
   * the end of the first request that covered it. Every application has a ledger, so the arrays are small.
   */
  readonly #highest = new Float64Array(KEPT_MINUTES * COUNTED.length);
  readonly #states = new Uint8Array(KEPT_MINUTES);
  readonly #firstCovered = new Uint8Array(KEPT_MINUTES);
  /** For each kept minute, the time of the process when it was first read, in whole seconds, rounded up. */
  readonly #firstRead = new Uint32Array(KEPT_MINUTES);
  readonly #counted = new MinuteMemory();
  /** The start of the range of the first good read. */
  #beginning: Moment | undefined;
  /** The same as the wall clock counts now: what lies before it was before the program counted. */
  #earliest = -Infinity;
  /** How far the reads had come each time that the clock was set back beyond the kept minutes. */
  #formerEnds: Moment[] = [];
  #newest = -Infinity;
  #end: number | undefined;
  /** Each minute before this one was counted, is lost, lay in a silence, or was before the first good read. */
  #settled = -Infinity;
  /** Time ranges in which the application did not report; of the current one, only the start is known. */
  #silences: TimeRange[] = [];
  #silentSince: number | undefined;

  nextRange(to: number): TimeRange {
    const last = this.#end === undefined || this.#isSetBack(to) ? to : Math.min(this.#end, to);
    return { from: Math.max(last - OVERLAP, to - LONGEST_RANGE), to };
  }

  /** Records if the application reports, by a list that was read at `at`. Time in which it does not report is not lost. */
  reports(isReporting: boolean, at: number): void {
    if (!isReporting) this.#silentSince ??= at - SILENT_BEFORE;
    else if (this.#silentSince !== undefined) {
      this.#silences.push({ from: this.#silentSince, to: at });
      this.#silentSince = undefined;
    }
  }

  /**
   * Takes over the minutes of a response. All times are Unix seconds, whole minutes.
   *
   * @param requested the range requested for this application; the range of the batch may be longer
   * @param received the range of the response for the whole batch
   * @param minutes by the beginning of the minute; a minute without an entry had no transactions
   * @param now the time of the take-over
   * @returns the transactions added to minutes that an earlier read had covered, the seconds that are lost, and the start of the
   * first minute that cannot be read: then the read has failed, and added nothing
   */
  take(requested: TimeRange, received: TimeRange, minutes: ReadonlyMap<number, CountedMinute>, now: Moment) {
    if (this.#isSetBack(received.to)) this.#startAgain(received.to, now);
    const lost = this.#settle(requested.from, now);
    this.#keepUpTo(received.to, now);
    // A clock that is a little fast or slow moves no minute.
    if (this.#beginning !== undefined) this.#earliest = asItCountsNow(this.#beginning, now) - MINUTE_S / 2;
    const isFirst = this.#end === undefined;
    if (isFirst) this.#settled = requested.from;
    // Of a first read only what was requested counts, also of one that fails.
    const earliest = isFirst ? Math.max(requested.from, received.from) : received.from;
    const oldest = Math.max(earliest, this.#newest - KEPT_MINUTES * MINUTE_S);
    const broken = this.#giveUp(minutes, { from: oldest, to: received.to }, requested.to);
    const lostSeconds = lost + broken.lost;
    if (broken.first !== undefined) return { late: 0, lost: lostSeconds, broken: broken.first };
    let late = 0;
    for (let minute = oldest; minute < received.to; minute += MINUTE_S) {
      const values = minutes.get(minute);
      if (values !== 'broken') late += this.#raise(minute, values, isFirst, now);
    }
    this.#beginning ??= { wall: requested.from, running: runningAt(requested.from, now) };
    this.#end = received.to;
    return { late, lost: lostSeconds, broken: undefined };
  }

  #raise(minute: number, values: readonly number[] | undefined, isFirst: boolean, now: Moment): number {
    const slot = slotOf(minute);
    if (this.#isClosed(minute)) {
      if (this.#states[slot] === UNSEEN) this.#states[slot] = EARLY;
      return 0;
    }
    if (this.#states[slot] !== SEEN) this.#firstRead[slot] = Math.ceil(now.running);
    const hadEnded = minute + MINUTE_S <= now.wall - (now.running - (this.#firstRead[slot] ?? 0));
    const isLate = this.#states[slot] === SEEN && hadEnded;
    this.#states[slot] = SEEN;
    let late = 0;
    for (let index = 0; index < COUNTED.length; index += 1) {
      const at = slot * COUNTED.length + index;
      const growth = (values?.[index] ?? 0) - (this.#highest[at] ?? 0);
      if (growth <= 0) continue;
      this.#highest[at] = values?.[index] ?? 0;
      if (isFirst) continue;
      this.totals[index] = (this.totals[index] ?? 0) + growth;
      if (isLate && index < TRANSACTION_VALUES) late += growth;
    }
    return late;
  }

  /** Finds the first broken minute that may still be repaired, and gives up minutes that were broken for too long. */
  #giveUp(
    minutes: ReadonlyMap<number, CountedMinute>,
    { from, to }: TimeRange,
    requestedTo: number,
  ): { readonly first: number | undefined; readonly lost: number } {
    let first: number | undefined;
    let lost = 0;
    for (let minute = from; minute < to; minute += MINUTE_S) {
      const slot = slotOf(minute);
      const covered = Math.min(NEVER_COVERED - 1, (requestedTo - minute) / MINUTE_S);
      if (this.#firstCovered[slot] === NEVER_COVERED) this.#firstCovered[slot] = covered;
      if (minutes.get(minute) !== 'broken' || this.#isClosed(minute)) continue;
      if ((covered - (this.#firstCovered[slot] ?? covered)) * MINUTE_S < BROKEN_FOR) first ??= minute;
      else if (this.#states[slot] === UNSEEN) {
        this.#states[slot] = CLOSED;
        lost += MINUTE_S;
      }
    }
    return { first, lost };
  }

  /**
   * True for a minute that is closed, lies before the first read, or that no read had covered when it was settled: the longer
   * range of a batch may contain it again.
   */
  #isClosed(minute: number): boolean {
    const state = this.#states[slotOf(minute)];
    return state === CLOSED || (state !== SEEN && minute < Math.max(this.#settled, this.#earliest));
  }

  /** Settles the minutes before `until`, which later reads no longer request; gives the seconds of them that are lost. */
  #settle(until: number, now: Moment): number {
    if (this.#end === undefined || until <= this.#settled) return 0;
    // Reads had come further before the clock was set back: what they covered or missed is settled.
    const former = Math.max(this.#settled, ...this.#formerEnds.map((end) => asItCountsNow(end, now)));
    const from = Math.min(until, Math.ceil(former / MINUTE_S) * MINUTE_S);
    let lost = 0;
    const known = Math.min(until, this.#newest);
    for (let minute = from; minute < known; minute += MINUTE_S) {
      const isUnseen = this.#states[slotOf(minute)] === UNSEEN;
      if (isUnseen && this.#silenceIn(minute, minute + MINUTE_S) === 0) lost += MINUTE_S;
    }
    const unknown = Math.max(from, known);
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

  #keepUpTo(to: number, now: Moment): void {
    this.#dropBefore(to - KEPT_MINUTES * MINUTE_S, now);
    const from = Math.max(this.#newest, to - KEPT_MINUTES * MINUTE_S);
    for (let minute = from; minute < to; minute += MINUTE_S) {
      const slot = slotOf(minute);
      this.#states[slot] = this.#counted.has(minute) ? CLOSED : UNSEEN;
      this.#firstCovered[slot] = NEVER_COVERED;
    }
    this.#newest = Math.max(this.#newest, to);
  }

  /** Drops the values of the kept minutes before `until`, and remembers each minute that had one. */
  #dropBefore(until: number, now: Moment): void {
    if (this.#newest === -Infinity) return;
    const end = Math.min(until, this.#newest);
    for (let minute = this.#newest - KEPT_MINUTES * MINUTE_S; minute < end; minute += MINUTE_S) {
      const first = slotOf(minute) * COUNTED.length;
      const values = this.#highest.subarray(first, first + COUNTED.length);
      if (values.some((value) => value > 0)) this.#counted.add(minute, Math.floor(now.running));
      values.fill(0);
    }
  }

  /** True when the clock was set back so far that no known minute is left. */
  #isSetBack(to: number): boolean {
    return to <= this.#newest - KEPT_MINUTES * MINUTE_S;
  }

  #startAgain(to: number, now: Moment): void {
    this.#dropBefore(Infinity, now);
    this.#formerEnds = this.#formerEnds.filter(({ running }) => now.running - running < DAY_S);
    this.#formerEnds.push({ wall: this.#newest, running: runningAt(to, now) });
    this.#newest = -Infinity;
    this.#end = undefined;
    this.#settled = -Infinity;
    this.#silences = [];
    this.#silentSince = undefined;
  }
}

function slotOf(minute: number): number {
  return Math.round(minute / MINUTE_S) % KEPT_MINUTES;
}
