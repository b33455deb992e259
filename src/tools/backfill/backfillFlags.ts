import * as z from 'zod';
import { RESERVED_LABEL_NAMES } from '../../metrics/catalogue.ts';
import { type Labels, LABEL_NAME } from '../../metrics/family.ts';
import { parseTime } from '../../api/http/validation.ts';
import type { TimeRange } from '../../api/upstreamReader.ts';
import { windowAt } from '../../collect/inventory/window.ts';
import { parseDuration } from '../../config/duration.ts';
import { UsageError } from '../../cli/process.ts';
import { formatMinute } from '../terminal.ts';
import { MINUTE_S } from '../../formulas/units.ts';

export interface BackfillOptions {
  readonly from: string;
  readonly to?: string | undefined;
  /** Milliseconds, whole minutes; undefined: `collection.window`. */
  readonly window?: number | undefined;
  /** Ids or exact names; empty: the applications whose metric data the daemon would read. */
  readonly app: readonly string[];
  readonly account?: string;
  readonly hosts: boolean;
  readonly label: Labels;
  readonly output?: string;
  readonly force: boolean;
  readonly resume: boolean;
}

/** Labels that Prometheus adds to scraped series. A backfilled series needs them to continue a scraped series. */
const TARGET_LABELS = new Set(['job', 'instance']);

/** Adds the `name=value` of a `--label` to the labels `before`. Throws an Error with a sentence. */
export function addLabel(text: string, before: Labels): Labels {
  const [name = '', ...parts] = text.split('=');
  const value = parts.join('=');
  if (!LABEL_NAME.test(name) || name.startsWith('__') || value === '') {
    throw new Error('It must be name=value with a label name of Prometheus, such as job=newrelic-apm-exporter.');
  }
  if (RESERVED_LABEL_NAMES.has(name) && !TARGET_LABELS.has(name))
    throw new Error(`The exporter itself sets the label "${name}".`);
  if (Object.hasOwn(before, name)) throw new Error(`"${name}" is given twice.`);
  return { ...before, [name]: value };
}

/** Parses an ISO 8601 time with zone, `now`, or a span before now (`7d`, `-7d`), to Unix seconds. Throws an Error. */
export function parseMoment(text: string, now: number): number {
  if (text === 'now') return now;
  const ago = parseDuration(text.replace(/^-/, ''));
  if (ago !== undefined) return now - ago / 1000;
  const time = parseTime(text);
  // parseTime would read 31 February as a day in March.
  if (time === undefined || !z.iso.date().safeParse(text.slice(0, 10)).success) {
    throw new Error('It must be a time with its zone such as 2026-11-20T08:00:00Z, how long ago such as 7d, or now.');
  }
  return time;
}

/**
 * Returns the range of the samples in whole minutes, without `from`. It ends no later than the newest window of a
 * scrape: later minutes are incomplete. `now` and `delay` are in milliseconds. Throws a UsageError.
 */
export function resolveRange(flags: Pick<BackfillOptions, 'from' | 'to'>, now: number, delay: number): TimeRange {
  const seconds = now / 1000;
  const newest = windowAt(now, { window: 0, delay }).to;
  const parseMinute = (text: string): number => Math.floor(parseMoment(text, seconds) / MINUTE_S) * MINUTE_S;
  const from = parseMinute(flags.from);
  const to = flags.to === undefined ? newest : parseMinute(flags.to);
  for (const [flag, time] of Object.entries({ '--from': from, '--to': to })) {
    if (time > seconds) throw new UsageError(`${flag} is in the future: ${formatMinute(time)}`);
  }
  const end = Math.min(to, newest);
  if (from >= end) throw new UsageError(`--from (${formatMinute(from)}) must be before --to (${formatMinute(end)})`);
  return { from, to: end };
}
