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
  /** False when these attributes alone say that an event is not wanted. */
  readonly mayMatch: (attributes: Attributes) => boolean;
}

/** The minutes since 1970 that are multiples of `step`, from the last one at or before `since` to `until`. */
export function* minutesOf(
  { since, until }: Pick<EventSearch, 'since' | 'until'>,
  step: number,
): Generator<number, void, undefined> {
  for (let minute = Math.floor(since / MINUTE / step) * step; minute * MINUTE < until; minute += step) yield minute;
}

/** The metrics of New Relic's page "Get more detail about your data limits"; their records are read as events of this type. */
export const RESOURCE_VALUES: readonly string[] = [
  'newrelic.resourceConsumption.currentValue',
  'newrelic.resourceConsumption.limitValue',
];
const RESOURCE_CONSUMPTION = 'Metric';

/** The sources of events of the account itself, about its limits or its usage. */
export const ACCOUNT_SOURCES: Readonly<Record<string, (search: EventSearch) => Generator<StoredEvent>>> = {
  [RESOURCE_CONSUMPTION]: resourceConsumption,
  NrIntegrationError: limitIncidents,
  NrConsumption: hourlyUsage,
  NrMTDConsumption: monthlyUsage,
};

/** Limits per minute: name, limit, and the mean share that is used; the last one is exceeded for some minutes of every twenty. */
const LIMITS = [
  { limitName: 'Metric API requests per minute', limit: 100_000, mean: 0.3 },
  { limitName: 'APM Agent API transaction events requests per minute', limit: 20_000, mean: 0.5 },
  { limitName: 'Trace API requests per minute', limit: 10_000, mean: 0.85 },
] as const;

/** The use of a limit in a minute: it rises and falls by a fifth every twenty minutes. */
function usedOf(seed: number, index: number, minute: number): number {
  const { limit, mean } = LIMITS[index] ?? LIMITS[0];
  const level = 1 + 0.2 * Math.sin((2 * Math.PI * minute) / 20);
  return Math.round(limit * mean * level * (0.95 + 0.1 * fraction(seed, index, minute, 8500)));
}

function* resourceConsumption(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of minutesOf(search, 1)) {
    for (const [index, { limitName, limit }] of LIMITS.entries()) {
      const common = { timestamp: minute * MINUTE, limitName, limitTimeInterval: '1 minute' };
      yield { ...common, 'newrelic.resourceConsumption.currentValue': usedOf(seed, index, minute) };
      yield { ...common, 'newrelic.resourceConsumption.limitValue': limit };
    }
  }
}

/** An event for each minute in which a limit was exceeded, and every ten minutes one about bad data, which names no limit. */
function* limitIncidents(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of minutesOf(search, 1)) {
    for (const [index, { limitName, limit }] of LIMITS.entries()) {
      if (usedOf(seed, index, minute) <= limit) continue;
      yield { timestamp: minute * MINUTE + 30_000, category: 'RateLimit', limitName };
    }
    if (minute % 10 === 0) yield { timestamp: minute * MINUTE + 10_000, category: 'EventApiException' };
  }
}

const HOUR_MINUTES = 60;
/** What was used in an hour is known three hours after its end. */
const USAGE_KNOWN_AFTER = 4 * HOUR_MINUTES * MINUTE;

/** The first minutes of the hours whose usage is known. */
const usageHours = ({ since, until, now }: EventSearch) =>
  minutesOf({ since, until: Math.min(until, now - USAGE_KNOWN_AFTER) }, HOUR_MINUTES);

/** Gigabytes an hour, by kind of data. */
const SOURCES = [
  ['ApmEventsBytes', 1.2],
  ['MetricsBytes', 0.5],
  ['LoggingBytes', 3.1],
] as const;
/** Units of compute an hour, by kind: older contracts have the last one only, all others the first two. */
const COMPUTE_UNITS = [
  ['CoreCCU', 4],
  ['AdvancedCCU', 1.5],
  ['CCU', 2],
] as const;

/** Gigabytes of a source, or units of compute, in an hour. */
const hourly = (seed: number, mean: number, index: number, hour: number): number =>
  mean * (0.7 + 0.6 * fraction(seed, index, hour, 8600));

function* hourlyUsage(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of usageHours(search)) {
    const hour = minute / HOUR_MINUTES;
    const common = { timestamp: minute * MINUTE };
    for (const [index, [usageMetric, mean]] of SOURCES.entries()) {
      const GigabytesIngested = hourly(seed, mean, index, hour);
      yield { ...common, productLine: 'DataPlatform', metric: 'GigabytesIngested', usageMetric, GigabytesIngested };
    }
    for (const [index, [metric, mean]] of COMPUTE_UNITS.entries()) {
      yield {
        ...common,
        productLine: 'Compute',
        metric,
        consumption: hourly(seed, mean, SOURCES.length + index, hour),
      };
    }
  }
}

/** The usage of the month so far, every hour. */
function* monthlyUsage(search: EventSearch): Generator<StoredEvent> {
  const { seed } = search.world.options;
  for (const minute of usageHours(search)) {
    const timestamp = minute * MINUTE;
    const begin = new Date(timestamp);
    const firstHour = Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth()) / MINUTE / HOUR_MINUTES;
    let GigabytesIngested = 0;
    for (let past = firstHour; past < minute / HOUR_MINUTES; past += 1) {
      for (const [index, [, mean]] of SOURCES.entries()) GigabytesIngested += hourly(seed, mean, index, past);
    }
    yield { timestamp, productLine: 'DataPlatform', metric: 'GigabytesIngested', GigabytesIngested };
    const users = { timestamp, productLine: 'FullStackObservability' };
    yield { ...users, FullPlatformUsersBillable: 12, CoreUsersBillable: 30 };
    // The count of the original user model, which an organisation has before it takes core users.
    yield { ...users, FullUsersBillable: 41 };
  }
}
