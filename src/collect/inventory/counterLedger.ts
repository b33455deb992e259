import type { TimeRange } from '../../api/upstreamReader.ts';
import { COUNTED, TRANSACTION_VALUES, type CountedMinute } from '../../metrics/counterFamilies.ts';
import { DAY_S, MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';
import { MinuteMemory } from './minuteMemory.ts';

/** The number of newest minutes whose values can still grow. */
const OPEN_MINUTES = 60;
/** The overlap of two reads in a row, in seconds: it catches late data. */
export const OVERLAP = 10 * MINUTE_S;
export const LONGEST_RANGE = 50 * MINUTE_S;
/** `reporting` turns false after 10 minutes without data (New Relic's page on the reporting status of applications). */
const SILENT_BEFORE = 10 * MINUTE_S;

/** Returns the range of one read in a steady state: the interval (milliseconds) plus the overlap. */
export function steadyRange(interval: number, to: number): TimeRange {
  const seconds = OVERLAP + Math.max(MINUTE_S, Math.ceil(interval / MINUTE_MS) * MINUTE_S);
  return { from: to - Math.min(LONGEST_RANGE, seconds), to };
}

/**
 * The time for which the exporter retries an unreadable minute before the minute is lost; seconds since its first
 * request.
 */
const BROKEN_FOR = 10 * MINUTE_S;

/** Marks a minute that no request has covered. `#firstCovered` has a smaller number for a covered minute. */
const NEVER_COVERED = 255;

const UNSEEN = 0;
const SEEN = 1;
/** The minute adds nothing more: the ledger gave it up, or counted it and dropped its values. */
const CLOSED = 2;
/** A read covered the minute, but the minute lies before the first read. It adds nothing and is not lost. */
const EARLY = 3;

/** A moment by two clocks, in seconds: the wall clock, which can be set, and the monotonic clock of the process. */
export interface Moment {
  readonly wall: number;
  readonly running: number;
}

/** Converts a wall time to the clock of the process, by the difference of the two clocks now. */
function toRunning(wall: number, now: Moment): number {
  return now.running - (now.wall - wall);
}

/**
 * Converts a moment to the wall clock as it is set now. Never returns a later time than the clock showed at the
 * moment.
 */
function toCurrentWall(moment: Moment, now: Moment): number {
  return Math.min(moment.wall, now.wall - (now.running - moment.running));
}

/**
 * The counters of one application. Counts each minute once, with the highest value of all reads. A minute can grow
 * with late data for an hour; a lower value changes nothing. Does no I/O: the reads bring the times.
 *
 * The wall clock may be set back, so the ledger remembers counted minutes after it drops their values.
 */
export class CounterLedger {
  /** In the order of `COUNTED`. No total ever falls. */
  readonly totals = new Float64Array(COUNTED.length);
  /** The highest values of each open minute. `slotOf` gives the index of a minute in all four arrays. */
  readonly #highest = new Float64Array(OPEN_MINUTES * COUNTED.length);
  readonly #states = new Uint8Array(OPEN_MINUTES);
  /** The minutes from the start of each open minute to the end of the first request that covered it. */
  readonly #firstCovered = new Uint8Array(OPEN_MINUTES);
  /** The time of the process at the first read of each open minute, in whole seconds, rounded up. */
  readonly #firstRead = new Uint32Array(OPEN_MINUTES);
  readonly #counted = new MinuteMemory();
  /** The start of the range of the first successful read. */
  #beginning: Moment | undefined;
  /** `#beginning` by the wall clock as it is set now, minus half a minute. Earlier minutes do not count. */
  #earliest = -Infinity;
  /** The ends of the reads at each time when the clock was set back beyond the open minutes. */
  #formerEnds: Moment[] = [];
  #newest = -Infinity;
  #end: number | undefined;
  /** Earlier minutes are final: counted, lost, in a silence, or before the first successful read. */
  #closedBefore = -Infinity;
  /** Ended time ranges in which the application did not report. */
  #silences: TimeRange[] = [];
  #silentSince: number | undefined;

  nextRange(to: number): TimeRange {
    const last = this.#end === undefined || this.#isSetBack(to) ? to : Math.min(this.#end, to);
    return { from: Math.max(last - OVERLAP, to - LONGEST_RANGE), to };
  }

  /** Records whether a list shows the application as reporting at `time`. Silent time is not lost time. */
  recordReporting(isReporting: boolean, time: number): void {
    // Silences do not overlap, because each silent second is subtracted from the lost time once.
    if (!isReporting) this.#silentSince ??= Math.max(time - SILENT_BEFORE, this.#silences.at(-1)?.to ?? -Infinity);
    else if (this.#silentSince !== undefined) {
      this.#silences.push({ from: this.#silentSince, to: time });
      this.#silentSince = undefined;
    }
  }

  /**
   * Adds the minutes of a response to the totals. All times are Unix seconds, whole minutes.
   *
   * @param requested the range requested for this application; the range of the batch may be longer
   * @param received the range of the response for the whole batch
   * @param minutes by the start of the minute; a minute without an entry had no transactions
   * @param now the time of this call
   * @returns `late`: the transactions added to minutes that an earlier read covered; `lost`: the seconds lost;
   * `broken`: the start of the first unreadable minute, if any. A read with a broken minute fails and adds nothing.
   */
  add(requested: TimeRange, received: TimeRange, minutes: ReadonlyMap<number, CountedMinute>, now: Moment) {
    if (this.#isSetBack(received.to)) this.#restart(received.to, now);
    const lost = this.#closeMinutes(requested.from, now);
    this.#openMinutes(received.to, now);
    // Half a minute of tolerance: a clock that is slightly fast or slow excludes no minute.
    if (this.#beginning !== undefined) this.#earliest = toCurrentWall(this.#beginning, now) - MINUTE_S / 2;
    const isFirst = this.#end === undefined;
    if (isFirst) this.#closedBefore = requested.from;
    // In a first read, even a failed one, only the requested range counts.
    const earliest = isFirst ? Math.max(requested.from, received.from) : received.from;
    const oldest = Math.max(earliest, this.#newest - OPEN_MINUTES * MINUTE_S);
    const broken = this.#giveUp(minutes, { from: oldest, to: received.to }, requested.to);
    const lostSeconds = lost + broken.lost;
    if (broken.first !== undefined) return { late: 0, lost: lostSeconds, broken: broken.first };
    let late = 0;
    for (let minute = oldest; minute < received.to; minute += MINUTE_S) {
      const values = minutes.get(minute);
      if (values !== 'broken') late += this.#addMinute(minute, values, isFirst, now);
    }
    this.#beginning ??= { wall: requested.from, running: toRunning(requested.from, now) };
    this.#end = received.to;
    return { late, lost: lostSeconds, broken: undefined };
  }

  /** Adds the growth of a minute to the totals. Returns the late transactions. A first read only sets the base. */
  #addMinute(minute: number, values: readonly number[] | undefined, isFirst: boolean, now: Moment): number {
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
      const place = slot * COUNTED.length + index;
      const growth = (values?.[index] ?? 0) - (this.#highest[place] ?? 0);
      if (growth <= 0) continue;
      this.#highest[place] = values?.[index] ?? 0;
      if (isFirst) continue;
      this.totals[index] = (this.totals[index] ?? 0) + growth;
      if (isLate && index < TRANSACTION_VALUES) late += growth;
    }
    return late;
  }

  /** Gives up minutes that were broken for too long. Returns the first broken minute that is still worth a retry. */
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
   * True for a minute that must not grow: it is closed, or no read covered it in time. The longer range of a batch
   * may contain such a minute again.
   */
  #isClosed(minute: number): boolean {
    const state = this.#states[slotOf(minute)];
    return state === CLOSED || (state !== SEEN && minute < Math.max(this.#closedBefore, this.#earliest));
  }

  /** Closes all minutes before `until`: no later read requests them. Returns the seconds lost. */
  #closeMinutes(until: number, now: Moment): number {
    if (this.#end === undefined || until <= this.#closedBefore) return 0;
    // Reads before the clock was set back have closed these minutes, too.
    const former = Math.max(this.#closedBefore, ...this.#formerEnds.map((end) => toCurrentWall(end, now)));
    const from = Math.min(until, Math.ceil(former / MINUTE_S) * MINUTE_S);
    let lost = 0;
    const known = Math.min(until, this.#newest);
    for (let minute = from; minute < known; minute += MINUTE_S) {
      const isUnseen = this.#states[slotOf(minute)] === UNSEEN;
      if (isUnseen && this.#sumSilence(minute, minute + MINUTE_S) === 0) lost += MINUTE_S;
    }
    const unknown = Math.max(from, known);
    lost += until - unknown - this.#sumSilence(unknown, until);
    this.#closedBefore = until;
    this.#silences = this.#silences.filter(({ to }) => to > until);
    return lost;
  }

  /** Returns the silent seconds between two times. */
  #sumSilence(from: number, to: number): number {
    return this.#silences.reduce(
      (all, each) => all + Math.max(0, Math.min(to, each.to) - Math.max(from, each.from)),
      0,
    );
  }

  /** Opens the minutes up to `to`, in the slots of older minutes. */
  #openMinutes(to: number, now: Moment): void {
    this.#dropBefore(to - OPEN_MINUTES * MINUTE_S, now);
    const from = Math.max(this.#newest, to - OPEN_MINUTES * MINUTE_S);
    for (let minute = from; minute < to; minute += MINUTE_S) {
      const slot = slotOf(minute);
      this.#states[slot] = this.#counted.has(minute) ? CLOSED : UNSEEN;
      this.#firstCovered[slot] = NEVER_COVERED;
    }
    this.#newest = Math.max(this.#newest, to);
  }

  /** Drops the values of the open minutes before `until`. Remembers each minute that had a value. */
  #dropBefore(until: number, now: Moment): void {
    if (this.#newest === -Infinity) return;
    const end = Math.min(until, this.#newest);
    for (let minute = this.#newest - OPEN_MINUTES * MINUTE_S; minute < end; minute += MINUTE_S) {
      const first = slotOf(minute) * COUNTED.length;
      const values = this.#highest.subarray(first, first + COUNTED.length);
      if (values.some((value) => value > 0)) this.#counted.add(minute, Math.floor(now.running));
      values.fill(0);
    }
  }

  /** True when the clock was set back so far that all open minutes are in the future. */
  #isSetBack(to: number): boolean {
    return to <= this.#newest - OPEN_MINUTES * MINUTE_S;
  }

  #restart(to: number, now: Moment): void {
    this.#dropBefore(Infinity, now);
    this.#formerEnds = this.#formerEnds.filter(({ running }) => now.running - running < DAY_S);
    this.#formerEnds.push({ wall: this.#newest, running: toRunning(to, now) });
    this.#newest = -Infinity;
    this.#end = undefined;
    this.#closedBefore = -Infinity;
    this.#silences = [];
    this.#silentSince = undefined;
  }
}

function slotOf(minute: number): number {
  return Math.round(minute / MINUTE_S) % OPEN_MINUTES;
}
