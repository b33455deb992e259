import type { FixedTraffic } from './amendment.ts';
import type { ApplicationIdentity } from './identity.ts';
import { incidentAt } from './incident.ts';
import { fraction, hash, sequence, wholeNumber } from './random.ts';

/** What one instance did in one minute; every metric of that minute is derived from it. Times are seconds. */
export interface InstanceMinute {
  readonly requests: number;
  readonly responseSeconds: number;
  readonly errors: number;
  readonly queueSeconds: number;
  readonly background: number;
  readonly backgroundSeconds: number;
  readonly pageViews: number;
  readonly pageSeconds: number;
  readonly cpuSeconds: number;
  readonly memoryMegabytes: number;
  /** Where the further chance of this minute comes from. */
  readonly entropy: number;
}

const MINUTES_PER_DAY = 1440;
const MINUTES_PER_WEEK = 7 * MINUTES_PER_DAY;

/** Traffic of an hour of the week against its peak: quiet nights, busy afternoons, calmer weekends. */
function rhythm(minute: number, phase: number): number {
  const day = (minute + phase) / MINUTES_PER_DAY;
  const wave = 0.5 - 0.5 * Math.cos(2 * Math.PI * (day - Math.floor(day) - 3 / 24));
  // 1970 began on a Thursday, so days 2 and 3 of each such week are Saturday and Sunday.
  const dayOfWeek = Math.floor((minute % MINUTES_PER_WEEK) / MINUTES_PER_DAY);
  const weekend = dayOfWeek === 2 || dayOfWeek === 3 ? 0.6 : 1;
  return (0.25 + 0.75 * wave) * weekend;
}

/** How many of `total` the instance at this place gets, so that all of them together get exactly `total`. */
function shareOf(total: number, ordinal: number, instances: number): number {
  return Math.floor(total / instances) + (ordinal < total % instances ? 1 : 0);
}

/** Whether the application reported anything in this minute. */
export function reportsIn(application: ApplicationIdentity, minute: number): boolean {
  const { silentFromMinute } = application.amendment;
  return application.archetype.reporting && (silentFromMinute === undefined || minute < silentFromMinute);
}

function fixedMinute(
  fixed: FixedTraffic,
  ordinal: number,
  instances: number,
): Pick<InstanceMinute, 'requests' | 'responseSeconds' | 'errors' | 'background'> {
  return {
    requests: shareOf(fixed.requestsPerMinute, ordinal, instances),
    responseSeconds: fixed.responseSeconds,
    errors: shareOf(fixed.errorsPerMinute, ordinal, instances),
    background: shareOf(fixed.backgroundPerMinute, ordinal, instances),
  };
}

/** What all instances of an application share in a minute, as they share the load balancer. */
export interface ApplicationMinute {
  readonly minute: number;
  /** Traffic against the peak. */
  readonly shape: number;
  readonly slowness: number;
  readonly errorRatio: number;
}

export function applicationMinute(seed: number, application: ApplicationIdentity, minute: number): ApplicationMinute {
  const { archetype, amendment, index } = application;
  const incident = incidentAt(seed, index, minute, amendment.incidents ?? []);
  const swing = 0.9 + 0.2 * fraction(seed, index, minute, 2);
  const isByHand = incident !== undefined && amendment.incidents?.includes(incident) === true;
  // An application that is to show the absence of errors has none but those ordered by hand.
  const mayFail = archetype.errorRatio > 0 || isByHand;
  return {
    minute,
    shape: rhythm(minute, 90 * fraction(seed, index, 1)) * swing,
    slowness: swing * (incident?.responseFactor ?? 1),
    errorRatio: mayFail ? Math.max(archetype.errorRatio, incident?.errorRatio ?? 0) : 0,
  };
}

/**
 * The minute of one instance: a function of seed, application, place of the instance and minute alone.
 * `ordinal` is its place among the `instances` of the application.
 */
export function instanceMinute(
  seed: number,
  application: ApplicationIdentity,
  ordinal: number,
  instances: number,
  { minute, shape, slowness, errorRatio }: ApplicationMinute,
): InstanceMinute {
  const { web, background, browser, queueSeconds } = application.archetype;
  const fixed = application.amendment.traffic;
  const start = hash(seed, application.index, ordinal, minute);
  const next = sequence(start);
  const ownShape = (shape * (0.85 + 0.3 * next())) / instances;
  const ownSlowness = slowness * (0.85 + 0.3 * next());
  const requests = wholeNumber((web?.perMinute ?? 0) * ownShape, next());
  const tasks = wholeNumber((background?.perMinute ?? 0) * ownShape, next());
  const failed = wholeNumber((requests + tasks) * errorRatio, errorRatio > 0 ? next() : 0);
  const done =
    fixed === undefined
      ? {
          requests,
          responseSeconds: (web?.seconds ?? 0) * ownSlowness,
          errors: Math.min(requests + tasks, failed),
          background: tasks,
        }
      : fixedMinute(fixed, ordinal, instances);
  const busySeconds = done.requests * done.responseSeconds + done.background * (background?.seconds ?? 0);
  return {
    requests: done.requests,
    responseSeconds: done.responseSeconds,
    errors: done.errors,
    background: done.background,
    queueSeconds: (queueSeconds ?? 0) * ownSlowness,
    backgroundSeconds: (background?.seconds ?? 0.5) * (0.8 + 0.4 * next()),
    pageViews: wholeNumber(done.requests * (browser?.viewsPerRequest ?? 0), next()),
    pageSeconds: (browser?.seconds ?? 0) * (0.9 + 0.2 * next()) + done.responseSeconds,
    cpuSeconds: 0.4 + Math.min(58, busySeconds * 0.3) * (0.9 + 0.1 * next()),
    memoryMegabytes: 180 + 240 * fraction(seed, application.index, ordinal, 3) + 40 * next(),
    entropy: start,
  };
}

/** Further chance of a minute: a number in [0, 1) for each salt. */
export function chanceOf({ entropy }: InstanceMinute, salt: number): number {
  return fraction(entropy, salt);
}
