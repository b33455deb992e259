import { fraction } from './traffic.ts';
import type { World } from './world.ts';
import { MINUTE } from './worldEntities.ts';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An event as New Relic stores it: a sample of an agent, a browser or a monitor, or an event of New Relic itself. */
export type StoredEvent = Attributes & {
  /** Milliseconds since 1970. */
  readonly timestamp: number;
};

/** A search for events: times in milliseconds, at most `now`; `until` is exclusive. */
export interface EventSearch {
  readonly world: World;
  readonly since: number;
  readonly until: number;
  readonly now: number;
  /** False if an event with these attributes cannot match, even with all other attributes unknown. */
  readonly mayMatch: (attributes: Attributes) => boolean;
}

/** Yields the multiples of `step`, in minutes since 1970, from the last one not after `since` up to before `until`. */
export function* minutesOf(
  { since, until }: Pick<EventSearch, 'since' | 'until'>,
  step: number,
): Generator<number, void, undefined> {
  for (let minute = Math.floor(since / MINUTE / step) * step; minute * MINUTE < until; minute += step) yield minute;
}

/** The metrics of New Relic's page "Get more detail about your data limits". The simulator stores them as events. */
export const RESOURCE_VALUES: readonly string[] = [
  'newrelic.resourceConsumption.currentValue',
  'newrelic.resourceConsumption.limitValue',
];
const RESOURCE_CONSUMPTION = 'Metric';

/** The sources of events about the limits and the usage of an account, by event type. */
export const ACCOUNT_SOURCES: Readonly<Record<string, (search: EventSearch) => Generator<StoredEvent>>> = {
  [RESOURCE_CONSUMPTION]: resourceConsumption,
  NrIntegrationError: limitIncidents,
  NrConsumption: hourlyUsage,
  NrMTDConsumption: monthlyUsage,
};

/** Limits per minute; `mean` is the mean used share. Use exceeds the last limit for some minutes of every twenty. */
const LIMITS = [
  { limitName: 'Metric API requests per minute', limit: 100_000, mean: 0.3 },
  { limitName: 'APM Agent API transaction events requests per minute', limit: 20_000, mean: 0.5 },
  { limitName: 'Trace API requests per minute', limit: 10_000, mean: 0.9 },
] as const;

/** Returns the use of a limit in a minute. It rises and falls by a fifth every twenty minutes. */
function calculateUse(seed: number, index: number, minute: number): number {
  const { limit, mean } = LIMITS[index] ?? LIMITS[0];
  const level = 1 + 0.2 * Math.sin((2 * Math.PI * minute) / 20);
  return Math.round(limit * mean * level * (0.95 + 0.1 * fraction(seed, index, minute, 8500)));
}

function* resourceConsumption(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of minutesOf(search, 1)) {
    for (const [index, { limitName, limit }] of LIMITS.entries()) {
      const common = { timestamp: minute * MINUTE, limitName, limitTimeInterval: '1 minute' };
      yield { ...common, 'newrelic.resourceConsumption.currentValue': calculateUse(seed, index, minute) };
      yield { ...common, 'newrelic.resourceConsumption.limitValue': limit };
    }
  }
}

/** Yields an event for each minute over a limit. Every ten minutes, yields one about bad data, without a limit. */
function* limitIncidents(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of minutesOf(search, 1)) {
    for (const [index, { limitName, limit }] of LIMITS.entries()) {
      if (calculateUse(seed, index, minute) <= limit) continue;
      yield { timestamp: minute * MINUTE + 30_000, category: 'RateLimit', limitName };
    }
    if (minute % 10 === 0) yield { timestamp: minute * MINUTE + 10_000, category: 'EventApiException' };
  }
}

const HOUR_MINUTES = 60;
/** New Relic knows the usage of an hour three hours after the end of the hour. */
const USAGE_KNOWN_AFTER = 4 * HOUR_MINUTES * MINUTE;

/** Yields the first minutes of the hours with known usage. */
const usageHours = ({ since, until, now }: EventSearch) =>
  minutesOf({ since, until: Math.min(until, now - USAGE_KNOWN_AFTER) }, HOUR_MINUTES);

/** Gigabytes an hour, by kind of data. */
const SOURCES = [
  ['ApmEventsBytes', 1.2],
  ['MetricsBytes', 0.5],
  ['LoggingBytes', 3.1],
] as const;
/** Units of compute an hour, by kind. Older contracts have only the last kind, newer contracts the first two. */
const COMPUTE_UNITS = [
  ['CoreCCU', 4],
  ['AdvancedCCU', 1.5],
  ['CCU', 2],
] as const;

/** Returns gigabytes of a source, or units of compute, in an hour. */
const calculateHour = (seed: number, mean: number, index: number, hour: number): number =>
  mean * (0.7 + 0.6 * fraction(seed, index, hour, 8600));

function* hourlyUsage(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of usageHours(search)) {
    const hour = minute / HOUR_MINUTES;
    const common = { timestamp: minute * MINUTE };
    for (const [index, [usageMetric, mean]] of SOURCES.entries()) {
      const GigabytesIngested = calculateHour(seed, mean, index, hour);
      yield { ...common, productLine: 'DataPlatform', metric: 'GigabytesIngested', usageMetric, GigabytesIngested };
    }
    for (const [index, [metric, mean]] of COMPUTE_UNITS.entries()) {
      yield {
        ...common,
        productLine: 'Compute',
        metric,
        consumption: calculateHour(seed, mean, SOURCES.length + index, hour),
      };
    }
  }
}

/** Yields the usage of the month so far, once an hour. */
function* monthlyUsage(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of usageHours(search)) {
    const timestamp = minute * MINUTE;
    const begin = new Date(timestamp);
    const firstHour = Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth()) / MINUTE / HOUR_MINUTES;
    let GigabytesIngested = 0;
    for (let past = firstHour; past < minute / HOUR_MINUTES; past += 1) {
      for (const [index, [, mean]] of SOURCES.entries()) GigabytesIngested += calculateHour(seed, mean, index, past);
    }
    yield { timestamp, productLine: 'DataPlatform', metric: 'GigabytesIngested', GigabytesIngested };
    const users = { timestamp, productLine: 'FullStackObservability' };
    yield { ...users, FullPlatformUsersBillable: 12, CoreUsersBillable: 30 };
    // The count of the original user model, which an organisation has before it takes core users.
    yield { ...users, FullUsersBillable: 41 };
  }
}
