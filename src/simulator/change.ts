import * as z from 'zod';
import type { Amendment } from './world/amendment.ts';
import { firstIncompleteMinute } from './world/time.ts';

/** What can be changed about an application while the simulator runs; members that are left out stay as they are. */
export const CHANGE = z.strictObject({
  removed: z.boolean().optional(),
  name: z.string().min(1).optional(),
  /** false: it reports nothing from now on; true: it does, and did all along. */
  reporting: z.boolean().optional(),
  /** Slow and failing for so many minutes; null ends all incidents ordered by hand. */
  incident: z
    .strictObject({
      minutes: z.int().positive().default(10),
      started_minutes_ago: z.int().nonnegative().default(0),
      response_factor: z.number().positive().default(4),
      error_ratio: z.number().min(0).max(1).default(0.3),
    })
    .nullable()
    .optional(),
  /** Exactly this in every minute, for the whole application; null brings the generated traffic back. */
  traffic: z
    .strictObject({
      requests_per_minute: z.int().nonnegative(),
      response_milliseconds: z.number().nonnegative(),
      errors_per_minute: z.int().nonnegative().default(0),
      background_per_minute: z.int().nonnegative().default(0),
    })
    .nullable()
    .optional(),
});

export type Change = z.input<typeof CHANGE>;

/** The amendment a change makes at a time. Throws a ZodError on a bad one. */
export function toAmendment(input: unknown, now: number): Amendment {
  const { removed, name, reporting, incident, traffic } = CHANGE.parse(input);
  const minute = firstIncompleteMinute(now);
  return {
    ...(removed === undefined ? {} : { removed }),
    ...(name === undefined ? {} : { name }),
    ...(reporting === undefined ? {} : { silentFromMinute: reporting ? undefined : minute }),
    ...(incident === undefined ? {} : { incidents: incident === null ? undefined : [toIncident(incident, minute)] }),
    ...(traffic === undefined ? {} : { traffic: traffic === null ? undefined : toTraffic(traffic) }),
  };
}

type Parsed = z.output<typeof CHANGE>;

function toIncident(
  incident: NonNullable<Parsed['incident']>,
  minute: number,
): NonNullable<Amendment['incidents']>[number] {
  const fromMinute = minute - incident.started_minutes_ago;
  return {
    fromMinute,
    toMinute: fromMinute + incident.minutes,
    responseFactor: incident.response_factor,
    errorRatio: incident.error_ratio,
  };
}

function toTraffic(traffic: NonNullable<Parsed['traffic']>): NonNullable<Amendment['traffic']> {
  return {
    requestsPerMinute: traffic.requests_per_minute,
    responseSeconds: traffic.response_milliseconds / 1000,
    errorsPerMinute: traffic.errors_per_minute,
    backgroundPerMinute: traffic.background_per_minute,
  };
}
