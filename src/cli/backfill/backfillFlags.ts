import { RESERVED_LABEL_NAMES } from '../../metrics/labelNames.ts';
import type { Labels } from '../../metrics/sample.ts';
import { parseTime } from '../../api/http/readRecords.ts';
import type { TimeRange } from '../../api/reader.ts';
import { windowAt } from '../../collect/due.ts';
import { parseDuration } from '../../config/duration.ts';
import { UsageError } from '../process.ts';
import { formatMinute } from '../terminal.ts';

/** What Prometheus adds when it scrapes: the labels that make a backfilled series the scraped one. */
const TARGET_LABELS = new Set(['job', 'instance']);

/** Adds a `name=value` of `--label` to those before it. Throws an Error whose message is a sentence. */
export function addLabel(text: string, before: Labels): Labels {
  const place = text.indexOf('=');
  const name = text.slice(0, Math.max(0, place));
  const value = text.slice(place + 1);
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) || name.startsWith('__') || value === '') {
    throw new Error('It must be name=value with a label name of Prometheus, such as job=newrelic-apm-exporter.');
  }
  if (RESERVED_LABEL_NAMES.has(name) && !TARGET_LABELS.has(name)) throw new Error(`"${name}" is a label of our own.`);
  if (Object.hasOwn(before, name)) throw new Error(`"${name}" is given twice.`);
  return { ...before, [name]: value };
}

const MINUTE = 60;

/** A time as it is given on the command line, in seconds: since 1970, or before now. */
type Moment = { readonly at: number } | { readonly ago: number };

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
 * The range of the samples, in whole minutes: at times after `from`, up to and including `to`. It ends no later than the newest window of a scrape at `now`, because the minutes after that
 * are not complete upstream. Throws a UsageError for what is empty or in the future.
 *
 * @param now Unix milliseconds
 * @param delay `collection.delay` in milliseconds
 */
export function resolveRange(
  given: { readonly from: Moment; readonly to: Moment | undefined },
  { now, delay }: { readonly now: number; readonly delay: number },
): TimeRange {
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
