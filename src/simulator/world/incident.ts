import type { Incident } from './amendment.ts';
import { fraction } from './random.ts';

const SPAN_MINUTES = 8 * 60;
const SHARE_OF_SPANS = 0.4;

const contains = (incident: Incident, minute: number): boolean =>
  minute >= incident.fromMinute && minute < incident.toMinute;

/** The incident of the world's own making that an application has in the eight hours around `minute`, if any. */
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

/** The incident in force at a minute; one ordered by hand goes before the world's own. */
export function incidentAt(
  seed: number,
  application: number,
  minute: number,
  ordered: readonly Incident[],
): Incident | undefined {
  const byHand = ordered.find((incident) => contains(incident, minute));
  if (byHand !== undefined) return byHand;
  const own = incidentNear(seed, application, minute);
  return own !== undefined && contains(own, minute) ? own : undefined;
}
