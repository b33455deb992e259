import { fraction } from '../world/random.ts';
import { MINUTE } from '../world/time.ts';

/** A run of whole minutes, counted from 1970: from the first to before the second. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** The time a metric data call is about. `from` and `to` are echoed, in milliseconds; the spans are what is answered. */
export interface DataRange {
  readonly from: number;
  readonly to: number;
  readonly spans: readonly Span[];
}

export interface RangeQuery {
  /** Milliseconds; undefined when the call did not say. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Seconds. */
  readonly period: number | undefined;
  readonly summarize: boolean;
}

const DEFAULT_RANGE = 30 * MINUTE;
const LEAST_LAG = 1.5 * MINUTE;
const HOUR = 60;
const DAY = 24 * HOUR;
const HOURLY_AFTER = 8 * DAY;
const EVEN_POINTS = 10;

/** Longest range in minutes and its granule in minutes (vendor's page "Extract metric timeslice data"). */
const GRANULES: readonly (readonly [longest: number, granule: number])[] = [
  [3 * HOUR, 1],
  [6 * HOUR, 2],
  [14 * HOUR, 5],
  [DAY, 10],
  [4 * DAY, 30],
  [7 * DAY, HOUR],
  [21 * DAY, 3 * HOUR],
  [42 * DAY, 6 * HOUR],
  [63 * DAY, 12 * HOUR],
];
const LONGEST_GRANULE = 3 * DAY;
/** Ranges up to this long come as ten even points when they start more than eight days ago. */
const EVEN_POINTS_UP_TO = 4 * DAY;

/** Minutes per point of a range of this many minutes. */
export function granuleOf(minutes: number): number {
  return GRANULES.find(([longest]) => minutes <= longest)?.[1] ?? LONGEST_GRANULE;
}

/** Where the data of a range without bounds end: one and a half to three and a half minutes ago, as the service has it. */
export function defaultEnd(now: number): number {
  const minute = Math.floor((now - LEAST_LAG) / MINUTE);
  return minute - (fraction(minute, 4) < 0.5 ? 0 : 1);
}

function evenSpans(from: number, to: number, points: number): readonly Span[] {
  const edge = (index: number) => from + Math.floor(((to - from) * index) / points);
  return Array.from({ length: points }, (_, index) => ({ from: edge(index), to: edge(index + 1) })).filter(
    (span) => span.to > span.from,
  );
}

/**
 * The minutes that answer a range. Its end is cut to the minute and its length to the granule, keeping the end. What
 * starts more than eight days ago exists by the hour only, so there the length is cut to hours. A `period` makes the
 * granule coarser, to a multiple of the one the range has; a finer one has no effect.
 */
export function resolveRange(query: RangeQuery, now: number): DataRange {
  const to = query.to ?? now;
  const from = query.from ?? to - DEFAULT_RANGE;
  const isDefault = query.from === undefined && query.to === undefined;
  const end = isDefault ? defaultEnd(now) : Math.floor(to / MINUTE);
  const wanted = Math.max(1, Math.floor((to - from) / MINUTE));

  const isOld = now - from > HOURLY_AFTER * MINUTE;
  const natural = isOld && wanted >= HOUR ? Math.max(HOUR, granuleOf(wanted)) : granuleOf(wanted);
  const asked = Math.ceil((query.period ?? 0) / 60 / natural) * natural;
  const granule = Math.min(Math.max(natural, asked), wanted - (wanted % natural));
  const length = wanted - (wanted % granule);
  const whole = { from: end - length, to: end };

  if (query.summarize) return { from, to, spans: [whole] };
  const isEven = isOld && query.period === undefined && wanted <= EVEN_POINTS_UP_TO;
  return { from, to, spans: evenSpans(whole.from, whole.to, isEven ? EVEN_POINTS : length / granule) };
}
