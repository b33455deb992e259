import { fraction } from '../world/traffic.ts';
import {
  firstIncompleteMinute,
  HOURLY_AFTER_MINUTES,
  isListed,
  MINUTE,
  RETENTION_MINUTES,
} from '../world/worldEntities.ts';
import type { WorldScope } from '../world/world.ts';
import { valuesOf, valueNames } from '../world/timesliceValues.ts';
import { roundFigures, formatTimestamp, parseTimestamp, type RestCall, isTrue, paginate } from './restCall.ts';
import { type ServiceResponse, failure, type JsonObject, NOT_FOUND, ok } from '../simulatorHttp.ts';

const DEFAULT_RANGE = 30 * MINUTE;
const MIN_LAG = 1.5 * MINUTE;
const HOUR = 60;
const DAY = 24 * HOUR;
const EVEN_POINTS = 10;

/** Longest range in minutes and its granule in minutes (New Relic's page "Extract metric timeslice data"). */
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
/** A range up to this long has ten even points if it starts more than eight days ago. */
const EVEN_POINTS_UP_TO = 4 * DAY;

/** Returns the minutes per point for a range of this many minutes. */
export function granuleOf(minutes: number): number {
  return GRANULES.find(([longest]) => minutes <= longest)?.[1] ?? LONGEST_GRANULE;
}

/** Returns the end of a range without bounds, in minutes since 1970: 1.5 to 3.5 minutes ago, as with New Relic. */
export function defaultEnd(now: number): number {
  const minute = Math.floor((now - MIN_LAG) / MINUTE);
  return minute - (fraction(minute, 4) < 0.5 ? 0 : 1);
}

/** Divides a range, in minutes since 1970, into spans of about equal length; `to` is exclusive. */
function evenSpans(from: number, to: number, points: number) {
  const edge = (index: number) => from + Math.floor(((to - from) * index) / points);
  return Array.from({ length: points }, (_, index) => ({ from: edge(index), to: edge(index + 1) })).filter(
    (span) => span.to > span.from,
  );
}

/**
 * Returns the spans of minutes for a requested range. Cuts the end to the minute, and the length to the granule.
 * The granule is at least an hour for long ranges that start more than eight days ago. A `period` makes the granule
 * coarser, to a multiple of the usual one; a finer `period` has no effect. Times are milliseconds, `period` is seconds.
 * A parameter that the call does not have is undefined. The response repeats `from` and `to` as requested.
 */
export function resolveRange(
  query: Readonly<Record<'from' | 'to' | 'period', number | undefined>> & { readonly summarize: boolean },
  now: number,
) {
  const to = query.to ?? now;
  const from = query.from ?? to - DEFAULT_RANGE;
  const isDefault = query.from === undefined && query.to === undefined;
  const end = isDefault ? defaultEnd(now) : Math.floor(to / MINUTE);
  const wanted = Math.max(1, Math.floor((to - from) / MINUTE));

  const isOld = now - from > HOURLY_AFTER_MINUTES * MINUTE;
  const natural = isOld && wanted >= HOUR ? Math.max(HOUR, granuleOf(wanted)) : granuleOf(wanted);
  const requested = Math.ceil((query.period ?? 0) / 60 / natural) * natural;
  const granule = Math.min(Math.max(natural, requested), wanted - (wanted % natural));
  const length = wanted - (wanted % granule);
  const whole = { from: end - length, to: end };

  if (query.summarize) return { from, to, spans: [whole] };
  const isEven = isOld && query.period === undefined && wanted <= EVEN_POINTS_UP_TO;
  return { from, to, spans: evenSpans(whole.from, whole.to, isEven ? EVEN_POINTS : length / granule) };
}

/** Alternative spellings of metric names. */
const OTHER_SPELLINGS: ReadonlyMap<string, string> = new Map([['EndUserApdex', 'EndUser/Apdex']]);

function findScope({ world, ids: { application, ...part } }: RestCall): WorldScope | undefined {
  return application === undefined ? undefined : world.scope({ application, ...part });
}

/** Lists the metric names of an application, host or instance that contain `name`, in any case. */
export function metricNames(call: RestCall): ServiceResponse {
  const scope = findScope(call);
  if (scope === undefined) return NOT_FOUND;
  const part = (call.query.get('name') ?? '').toLowerCase();
  const found = isListed(scope.application, call.now)
    ? call.world.metrics(scope).filter(({ name }) => name.toLowerCase().includes(part))
    : [];
  const page = paginate(found, call, 1000, true);
  return ok({ metrics: page.items.map(({ name, kind }) => ({ name, values: [...valueNames(kind)] })) }, page.link);
}

/** Reads the time in a parameter: undefined if absent, `bad` if malformed. */
function readTimestamp(query: URLSearchParams, name: string): number | 'bad' | undefined {
  const text = query.get(name);
  return text === null || text === '' ? undefined : (parseTimestamp(text) ?? 'bad');
}

/** Returns metric timeslices of an application, host or instance. */
export function metricTimeslices(call: RestCall): ServiceResponse {
  const scope = findScope(call);
  if (scope === undefined) return NOT_FOUND;
  const { query, now } = call;
  const names = query.getAll('names[]').filter((name) => name !== '');
  if (names.length === 0) return failure(400, 'Bad Request', ['names[] is required']);
  const from = readTimestamp(query, 'from');
  const to = readTimestamp(query, 'to');
  if (from === 'bad' || to === 'bad') {
    return failure(400, 'Bad Request', [`${from === 'bad' ? 'from' : 'to'} must be an ISO 8601 timestamp`]);
  }
  const period = query.get('period');
  if (period !== null && !/^[1-9]\d{0,8}$/.test(period)) {
    return failure(422, 'Invalid parameters', ['period must be a whole number of seconds']);
  }
  const range = resolveRange(
    { from, to, period: period === null ? undefined : Number(period), summarize: isTrue(query, 'summarize') },
    now,
  );
  if (range.to - range.from < MINUTE) {
    return failure(422, 'Invalid time range', ['The time range must be at least one minute']);
  }
  return ok({ metric_data: metricData(call, scope, names, range) });
}

/**
 * Finds a metric if it has any record in the range. Its timeslices without a record are zeros. Incomplete minutes and
 * minutes older than three months have no data; omits timeslices that consist of such minutes.
 */
function metricData(
  { world, query, now, settings }: RestCall,
  scope: WorldScope,
  wanted: readonly string[],
  range: ReturnType<typeof resolveRange>,
): JsonObject {
  const names = [...new Set(wanted.map((name) => OTHER_SPELLINGS.get(name) ?? name))];
  const metrics = names.map((name) => world.metric(scope, name)).filter((metric) => metric !== undefined);
  const rounded = settings.rounding && !isTrue(query, 'raw');
  const end = firstIncompleteMinute(now);
  const spans = range.spans.flatMap((span) => {
    const from = Math.max(span.from, end - RETENTION_MINUTES);
    const to = Math.min(span.to, end);
    return to <= from ? [] : [{ span, minutes: to - from, sums: world.sum(scope, metrics, from, to, now) }];
  });
  const found = metrics
    .map((metric, index) => ({ metric, index }))
    .filter(({ index }) => spans.some(({ sums }) => sums[index]?.reported === true));
  const foundNames = new Set(found.map(({ metric }) => metric.name));
  return {
    from: formatTimestamp(range.from),
    to: formatTimestamp(range.to),
    ...(settings.metricsFound
      ? { metrics_not_found: names.filter((name) => !foundNames.has(name)), metrics_found: [...foundNames] }
      : {}),
    metrics: [
      ...found.map(({ metric, index }) => ({
        name: metric.name,
        timeslices: spans.flatMap(({ span, minutes, sums }) => {
          const sum = sums[index];
          if (sum === undefined) return [];
          const values = valuesOf(metric.kind, sum, minutes, query.getAll('values[]'));
          return [
            {
              from: formatTimestamp(span.from * MINUTE),
              // A timeslice ends with its last second (`inclusiveTo`), or with the beginning of the next one.
              to: formatTimestamp(span.to * MINUTE - (settings.inclusiveTo ? 1000 : 0)),
              values: rounded ? roundFigures(values) : values,
            },
          ];
        }),
      })),
    ],
  };
}
