import * as z from 'zod';
import type { Amendment } from './world/worldEntities.ts';

/** The two interfaces over one world: a change may be seen through one of them alone, so that they differ. */
export const INTERFACES = ['rest', 'nerdgraph'] as const;

/**
 * The properties of an application or a key transaction that can be changed while the simulator runs; members that are left out
 * stay as they are.
 */
export const CHANGE = z.strictObject({
  /** The interface through which the change is seen; without it, both. */
  on: z.enum(INTERFACES).optional(),
  removed: z.boolean().optional(),
  name: z.string().min(1).optional(),
  /** Names of hosts that are not listed; their traffic still counts for the application. */
  hosts_removed: z.array(z.string().min(1)).optional(),
  /** The settings are null. */
  settings: z.null().optional(),
  /** The id of the application that a key transaction belongs to. */
  application: z.int().positive().optional(),
  /** The Apdex target of a key transaction fails over NerdGraph; the field is required, so the whole entity is null. */
  failing: z.boolean().optional(),
  /** false: reports nothing from now on; true: reports, and has reported without a break. */
  reporting: z.boolean().optional(),
  /** Slow and failing for this number of minutes; null ends all incidents that were started by hand. */
  incident: z
    .strictObject({
      minutes: z.int().positive().default(10),
      started_minutes_ago: z.int().nonnegative().default(0),
      response_factor: z.number().positive().default(4),
      error_ratio: z.number().min(0).max(1).default(0.3),
    })
    .nullable()
    .optional(),
  /** The traffic of the whole application in every minute; null brings the generated traffic back. */
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

/** A change in the form that the world keeps; `minute` is the one in which it is made. */
export function toAmendment(
  { incident, reporting, ...plain }: Omit<z.output<typeof CHANGE>, 'on'>,
  minute: number,
): Amendment {
  const fromMinute = minute - (incident?.started_minutes_ago ?? 0);
  return {
    ...plain,
    ...(incident !== undefined && {
      incident: incident && {
        fromMinute,
        toMinute: fromMinute + incident.minutes,
        responseFactor: incident.response_factor,
        errorRatio: incident.error_ratio,
      },
    }),
    ...(reporting !== undefined && { silentFromMinute: reporting ? null : minute }),
  };
}
