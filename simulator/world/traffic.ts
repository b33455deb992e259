import type { Incident, SimulatedApplication } from './worldEntities.ts';

/** Deterministic random numbers: all chance in the world comes from hashes of the seed. */

function stir(state: number, part: number): number {
  const once = Math.imul(state ^ (part >>> 0), 0x01000193);
  const twice = Math.imul(once ^ (once >>> 15), 0x85ebca6b);
  return twice ^ (twice >>> 13);
}

/** Returns a 32-bit hash of up to four whole numbers, whose order counts. */
export function hash(first: number, second = 0, third = 0, fourth = 0): number {
  const state = stir(stir(stir(stir(0x811c9dc5, first), second), third), fourth);
  const last = Math.imul(state ^ (state >>> 16), 0xc2b2ae35);
  return (last ^ (last >>> 16)) >>> 0;
}

/** Returns a number in [0, 1) that depends only on the arguments. */
export function fraction(first: number, second = 0, third = 0, fourth = 0): number {
  return hash(first, second, third, fourth) / 4_294_967_296;
}

/** Creates a sequence of numbers in [0, 1) from one 32-bit state (mulberry32). */
export function sequence(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Rounds `mean` down or up by `chance` in [0, 1), so that many draws average to `mean`. */
const wholeNumber = (mean: number, chance: number): number => Math.floor(mean + chance);

/** In each span of this length an application has at most one generated incident. */
const SPAN_MINUTES = 8 * 60;
const SHARE_OF_SPANS = 0.4;

/** Returns the incident if it includes this minute. */
const during = (minute: number, incident: Incident | null | undefined): Incident | undefined =>
  incident && minute >= incident.fromMinute && minute < incident.toMinute ? incident : undefined;

/** Returns the generated incident of an application (by index) in the 8-hour span around `minute`, if any. */
export function incidentNear(seed: number, application: number, minute: number): Incident | undefined {
  const span = Math.floor(minute / SPAN_MINUTES);
  const chance = (salt: number) => fraction(seed, application, span, 7000 + salt);
  if (chance(0) >= SHARE_OF_SPANS) return undefined;
  const length = 6 + Math.floor(15 * chance(1));
  const fromMinute = span * SPAN_MINUTES + Math.floor(chance(2) * (SPAN_MINUTES - length));
  return {
    fromMinute,
    toMinute: fromMinute + length,
    responseFactor: 2.5 + 4 * chance(3),
    errorRatio: 0.06 + 0.25 * chance(4),
  };
}

function chanceIncidentNear(seed: number, { index, hasChanceIncidents }: SimulatedApplication, minute: number) {
  return hasChanceIncidents ? incidentNear(seed, index, minute) : undefined;
}

const HOUR_MINUTES = 60;
const HOURLY_INCIDENT_MINUTES = 30;

/** Returns the hourly incident around `minute`, if the application has one. An hour begins with its incident. */
function hourlyIncidentNear({ hourlyIncident }: SimulatedApplication, minute: number): Incident | undefined {
  if (hourlyIncident === undefined) return undefined;
  const fromMinute = hourlyIncident + HOUR_MINUTES * Math.floor((minute - hourlyIncident) / HOUR_MINUTES);
  return { fromMinute, toMinute: fromMinute + HOURLY_INCIDENT_MINUTES, responseFactor: 4, errorRatio: 0.45 };
}

/** Yields at least the generated and hourly incidents that overlap these minutes since 1970. */
export function* incidentsNear(seed: number, application: SimulatedApplication, from: number, until: number) {
  const kinds = [
    { length: HOUR_MINUTES, near: (minute: number) => hourlyIncidentNear(application, minute) },
    { length: SPAN_MINUTES, near: (minute: number) => chanceIncidentNear(seed, application, minute) },
  ];
  for (const { length, near } of kinds) {
    for (let minute = from; minute < until + length; minute += length) {
      const incident = near(minute);
      if (incident !== undefined) yield incident;
    }
  }
}

/** The work of an instance in a minute, from which all its metrics follow. Times are seconds. */
export type InstanceMinute = Readonly<ReturnType<typeof instanceMinute>>;

const MINUTES_PER_DAY = 1440;
const MINUTES_PER_WEEK = 7 * MINUTES_PER_DAY;

/** Returns traffic as a share of its weekly peak: quiet nights, busy afternoons, calmer weekends. */
function rhythm(minute: number, phase: number): number {
  const day = (minute + phase) / MINUTES_PER_DAY;
  const wave = 0.5 - 0.5 * Math.cos(2 * Math.PI * (day - Math.floor(day) - 3 / 24));
  // 1970 began on a Thursday, so days 2 and 3 of each such week are Saturday and Sunday.
  const dayOfWeek = Math.floor((minute % MINUTES_PER_WEEK) / MINUTES_PER_DAY);
  const weekend = dayOfWeek === 2 || dayOfWeek === 3 ? 0.6 : 1;
  return (0.25 + 0.75 * wave) * weekend;
}

/**
 * Returns the figures that all instances of an application share in a minute. `shape` is the traffic as a share of the
 * peak.
 */
export function applicationMinute(seed: number, application: SimulatedApplication, minute: number) {
  const { archetype, amendment, index } = application;
  // An incident started by hand replaces an hourly one, and both replace a generated one.
  const byHand = during(minute, amendment.incident);
  const hourly = during(minute, hourlyIncidentNear(application, minute));
  const incident = byHand ?? hourly ?? during(minute, chanceIncidentNear(seed, application, minute));
  const swing = 0.9 + 0.2 * fraction(seed, index, minute, 2);
  // An application without errors gets errors only from incidents started by hand.
  const mayFail = archetype.errorRatio > 0 || byHand !== undefined;
  return {
    minute,
    shape: rhythm(minute, 90 * fraction(seed, index, 1)) * swing,
    slowness: swing * (incident?.responseFactor ?? 1),
    errorRatio: mayFail ? Math.max(archetype.errorRatio, incident?.errorRatio ?? 0) : 0,
  };
}

/**
 * Calculates the minute of one instance from seed, application, place of the instance and minute alone.
 * `ordinal` is the place among the `instances` of the application.
 */
export function instanceMinute(
  seed: number,
  application: SimulatedApplication,
  ordinal: number,
  instances: number,
  { minute, shape, slowness, errorRatio }: ReturnType<typeof applicationMinute>,
) {
  const { web, background, browser, queueSeconds } = application.archetype;
  const fixed = application.amendment.traffic;
  const start = hash(seed, application.index, ordinal, minute);
  const next = sequence(start);
  const ownShape = (shape * (0.85 + 0.3 * next())) / instances;
  const ownSlowness = slowness * (0.85 + 0.3 * next());
  const requests = wholeNumber((web?.perMinute ?? 0) * ownShape, next());
  const tasks = wholeNumber((background?.perMinute ?? 0) * ownShape, next());
  const failed = wholeNumber((requests + tasks) * errorRatio, errorRatio > 0 ? next() : 0);
  // The shares of all instances add up to exactly the total.
  const share = (total: number): number => Math.floor(total / instances) + (ordinal < total % instances ? 1 : 0);
  const ownRequests = fixed ? share(fixed.requests_per_minute) : requests;
  const responseSeconds = fixed ? fixed.response_milliseconds / 1000 : (web?.seconds ?? 0) * ownSlowness;
  const ownTasks = fixed ? share(fixed.background_per_minute) : tasks;
  const busySeconds = ownRequests * responseSeconds + ownTasks * (background?.seconds ?? 0);
  return {
    requests: ownRequests,
    responseSeconds,
    errors: fixed ? share(fixed.errors_per_minute) : Math.min(requests + tasks, failed),
    background: ownTasks,
    queueSeconds: (queueSeconds ?? 0) * ownSlowness,
    backgroundSeconds: (background?.seconds ?? 0.5) * (0.8 + 0.4 * next()),
    pageViews: wholeNumber(ownRequests * (browser?.viewsPerRequest ?? 0), next()),
    pageSeconds: (browser?.seconds ?? 0) * (0.9 + 0.2 * next()) + responseSeconds,
    cpuSeconds: 0.4 + Math.min(58, busySeconds * 0.3) * (0.9 + 0.1 * next()),
    memoryMegabytes: 180 + 240 * fraction(seed, application.index, ordinal, 3) + 40 * next(),
    /** The seed for further random numbers in this minute. */
    entropy: start,
  };
}

/** Gives lateness a seed of its own, so that late data changes no traffic. */
const LATENESS = 0x1a7e;
const LATEST_MINUTES = 8;

/**
 * Returns the first minute in which the data of `minute` is available: the next minute, or, for this share of all
 * minutes, one to eight minutes later.
 */
export function arrivalMinute(
  seed: number,
  application: number,
  ordinal: number,
  minute: number,
  share: number,
): number {
  const chance = fraction(seed ^ LATENESS, application, ordinal, minute);
  return chance >= share ? minute + 1 : minute + 2 + Math.floor((LATEST_MINUTES * chance) / share);
}
