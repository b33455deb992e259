import {
  baselineConditions,
  type ResponseCondition,
  responseConditions,
  SILENT_MINUTES,
  silenceConditions,
  type SimulatedCondition,
  type SimulatedThreshold,
} from './alertConditions.ts';
import { fraction, incidentNear, SPAN_MINUTES } from './traffic.ts';
import { silentFrom, type Incident, type SimulatedApplication } from './worldEntities.ts';
import { EMPTY } from './timesliceValues.ts';
import type { World } from './world.ts';

const DAY_MINUTES = 1440;
/** The longest duration of an event. */
export const LONGEST_EVENT_MINUTES = 3 * DAY_MINUTES;

/** An event of a condition, open from one minute to another (whole minutes since 1970). */
interface AlertEvent extends SimulatedCondition {
  readonly priority: SimulatedThreshold['priority'];
  /** True: about the application; false: about all data of the account. */
  readonly hasEntity: boolean;
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** A range of minutes in which a threshold may be violated: incidents, with a margin on both sides. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** Minutes of the margin: the longest window and the longest duration of a threshold. */
const MARGIN = 12;

/** The events about an application that are open between these minutes, and possibly some others. */
export function* alertEvents(
  world: World,
  application: SimulatedApplication,
  from: number,
  until: number,
): Generator<AlertEvent, void, undefined> {
  const hasRequests = (application.archetype.web?.perMinute ?? 0) > 0;
  for (const stretch of hasRequests ? stretches(world, application, from, until) : []) {
    for (const { window, thresholds, ...condition } of responseConditions(application)) {
      for (const threshold of thresholds) {
        for (const open of openTimes(world, application, window, threshold, stretch)) {
          yield { ...condition, priority: threshold.priority, hasEntity: true, ...open };
        }
      }
    }
  }
  yield* silenceEvents(world, application);
  yield* baselineEvents(world, application, from, until);
}

/** The incidents with their margins; where margins meet, they are merged. */
function stretches(
  world: World,
  { index, amendment }: SimulatedApplication,
  from: number,
  until: number,
): readonly Stretch[] {
  const incidents: Incident[] = amendment.incident ? [amendment.incident] : [];
  for (let minute = from; minute < until; minute += SPAN_MINUTES) {
    incidents.push(...[incidentNear(world.options.seed, index, minute) ?? []].flat());
  }
  const merged: { from: number; to: number }[] = [];
  for (const { fromMinute, toMinute } of incidents.toSorted((a, b) => a.fromMinute - b.fromMinute)) {
    const last = merged.at(-1);
    if (last !== undefined && fromMinute - MARGIN <= last.to) last.to = Math.max(last.to, toMinute + MARGIN);
    else merged.push({ from: fromMinute - MARGIN, to: toMinute + MARGIN });
  }
  return merged;
}

/**
 * The times within a stretch in which a threshold of the response time had an open event. An event opens when all windows of
 * the duration (or one) violate the threshold, and closes after the same duration without a violation.
 */
function openTimes(
  world: World,
  application: SimulatedApplication,
  window: ResponseCondition['window'],
  { above, minutes: duration, atOnce = false }: SimulatedThreshold,
  { from, to }: Stretch,
): readonly { readonly fromMinute: number; readonly toMinute: number }[] {
  const response = responseTimes(world, application, from, to);
  const needed = atOnce ? 1 : Math.max(1, duration - window + 1);
  const found: { fromMinute: number; toMinute: number }[] = [];
  let violated = 0;
  let unviolated = 0;
  let open: number | undefined;
  for (let end = from + window; end <= to; end += 1) {
    const minutes = response.slice(end - window - from, end - from);
    const calls = minutes.reduce((sum, minute) => sum + minute.calls, 0);
    const seconds = minutes.reduce((sum, minute) => sum + minute.seconds, 0);
    const isViolated = calls > 0 && seconds / calls > above;
    violated = isViolated ? violated + 1 : 0;
    unviolated = isViolated ? 0 : unviolated + 1;
    if (open === undefined && violated >= needed) open = end;
    if (open === undefined || unviolated < duration) continue;
    found.push({ fromMinute: open, toMinute: end });
    open = undefined;
  }
  return open === undefined ? found : [...found, { fromMinute: open, toMinute: to }];
}

/** Calls of a minute, and their seconds. */
type MinuteResponse = Record<'calls' | 'seconds', number>;

/** A cache: a `World` object never changes, and each query reads the same stretches again. */
const RESPONSE_TIMES = new WeakMap<World, Map<string, readonly MinuteResponse[]>>();

function responseTimes(
  world: World,
  application: SimulatedApplication,
  from: number,
  to: number,
): readonly MinuteResponse[] {
  const known = RESPONSE_TIMES.get(world) ?? new Map<string, readonly MinuteResponse[]>();
  RESPONSE_TIMES.set(world, known);
  const key = `${application.id} ${from} ${to}`;
  const read = known.get(key);
  if (read !== undefined) return read;
  const scope = world.whole(application);
  const metric = world.metric(scope, 'HttpDispatcher');
  const minutes = Array.from({ length: to - from }, () => ({ calls: 0, seconds: 0 }));
  for (const { done, minute } of world.minutes(scope, from, to)) {
    const { count, total } = metric?.record(done) ?? EMPTY;
    const sum = minutes[minute - from];
    if (sum === undefined) continue;
    sum.calls += count;
    sum.seconds += total;
  }
  known.set(key, minutes);
  return minutes;
}

/** The events that open after the application fell silent. */
function* silenceEvents(world: World, application: SimulatedApplication): Generator<AlertEvent, void, undefined> {
  const silent = silentFrom(application);
  if (!Number.isFinite(silent)) return;
  const times = { fromMinute: silent + SILENT_MINUTES, toMinute: silent + LONGEST_EVENT_MINUTES };
  for (const condition of silenceConditions(world, application)) {
    yield { ...condition, priority: 'critical', hasEntity: true, ...times };
  }
}

/** Events of baseline conditions: warnings for two and a half days of every three, shifted for each application. */
function* baselineEvents(
  world: World,
  application: SimulatedApplication,
  from: number,
  until: number,
): Generator<AlertEvent, void, undefined> {
  const { index } = application;
  const period = LONGEST_EVENT_MINUTES;
  for (const [position, condition] of baselineConditions(application).entries()) {
    for (let start = Math.floor(from / period) * period; start < until; start += period) {
      const chance = fraction(world.options.seed, index, start / period, 8300);
      const fromMinute = start + (index % 3) * DAY_MINUTES + Math.floor(chance * 0.3 * DAY_MINUTES);
      const times = { fromMinute: fromMinute + 30 * position, toMinute: fromMinute + 2.5 * DAY_MINUTES };
      yield { ...condition, priority: 'warning', ...times };
    }
  }
}
