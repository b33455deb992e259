import { parseTime } from '../../api/timestamps.ts';
import { windowAt } from '../../collect/schedule/window.ts';
import { parseDuration } from '../../config/duration.ts';
import { UsageError } from '../process/usageError.ts';
import { formatMinute } from '../terminal/minute.ts';

const MINUTE = 60;

/** A time as it is given on the command line, in seconds: since 1970, or before now. */
export type Moment = { readonly at: number } | { readonly ago: number };

/** The samples that are wanted: at times after `from`, up to and including `to`; Unix seconds, whole minutes. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Reads an ISO 8601 time with its zone, `now`, or how long ago (`7d`, `-7d`). Throws an Error with a sentence. */
export function parseMoment(text: string): Moment {
  if (text === 'now') return { ago: 0 };
  const ago = parseDuration(text.replace(/^-/, ''));
  if (ago !== undefined) return { ago: ago / 1000 };
  const at = parseTime(text);
  if (at === undefined || !isCalendarDay(text.slice(0, 10))) {
    throw new Error('It must be a time with its zone such as 2026-11-20T08:00:00Z, how long ago such as 7d, or now.');
  }
  return { at };
}

/**
 * The range in whole minutes. It ends no later than the newest window of a scrape at `now`, because the minutes after that
 * are not complete upstream. Throws a UsageError for what is empty or in the future.
 *
 * @param now Unix milliseconds
 * @param delay `collection.delay` in milliseconds
 */
export function resolveRange(
  given: { readonly from: Moment; readonly to: Moment | undefined },
  { now, delay }: { readonly now: number; readonly delay: number },
): Range {
  const seconds = now / 1000;
  const newest = windowAt(now, { window: 0, delay }).to;
  const from = toMinute(given.from, seconds);
  const to = given.to === undefined ? newest : toMinute(given.to, seconds);
  for (const [flag, time] of [
    ['--from', from],
    ['--to', to],
  ] as const) {
    if (time > seconds) throw new UsageError(`${flag} is in the future: ${formatMinute(time)}`);
  }
  const end = Math.min(to, newest);
  if (from >= end) throw new UsageError(`--from (${formatMinute(from)}) must be before --to (${formatMinute(end)})`);
  return { from, to: end };
}

function toMinute(moment: Moment, now: number): number {
  const time = 'at' in moment ? moment.at : now - moment.ago;
  return Math.floor(time / MINUTE) * MINUTE;
}

/** JavaScript reads the 31st of February as a day in March. */
function isCalendarDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
