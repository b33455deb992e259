/** Which minutes of the world a query reads, and into which bucket each falls. */
export interface TimeRange {
  /** Milliseconds: the records stamped from `since` to before `until`. */
  readonly since: number;
  readonly until: number;
  /** Whole minutes since 1970 that hold all of those records; the last is not included. */
  readonly fromMinute: number;
  readonly toMinute: number;
  /** The moments between which each bucket lies, oldest first; one bucket without TIMESERIES. */
  readonly buckets: readonly { readonly begin: number; readonly end: number }[];
  /** The bucket of a minute's record. */
  readonly bucketOf: (minute: number) => number;
}

const MINUTE = 60_000;
const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;
const HOURLY_AFTER_MINUTES = 8 * DAY_MINUTES;
const RETENTION_MINUTES = 93 * DAY_MINUTES;

/**
 * The range from `since` to before `until`. Records of a minute bear its beginning as their time; a range that begins more
 * than eight days ago finds only the records of whole hours, which bear the beginning of the hour. Buckets end with
 * the range, so the first may be shorter.
 */
export function timeRange(since: number, until: number, bucketMinutes: number | undefined, now: number): TimeRange {
  const complete = Math.floor(now / MINUTE);
  const isHourly = since < now - HOURLY_AFTER_MINUTES * MINUTE;
  const unit = isHourly ? HOUR_MINUTES : 1;
  const length = bucketMinutes === undefined ? Math.max(until - since, 1) : bucketMinutes * MINUTE;
  const count = Math.ceil((until - since) / length);
  const stampOf = (minute: number): number => (minute - (minute % unit)) * MINUTE;
  return {
    since,
    until,
    fromMinute: Math.max(Math.ceil(since / MINUTE / unit) * unit, complete - RETENTION_MINUTES),
    toMinute: Math.min(Math.ceil(until / MINUTE / unit) * unit, complete),
    buckets: Array.from({ length: count }, (_, index) => ({
      begin: Math.max(since, until - (count - index) * length),
      end: until - (count - index - 1) * length,
    })),
    bucketOf: (minute) => count - 1 - Math.floor((until - 1 - stampOf(minute)) / length),
  };
}
