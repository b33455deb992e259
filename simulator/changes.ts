import * as z from 'zod';
import type { Amendment } from './world/worldEntities.ts';

/** The two interfaces to one world. A change can apply to one interface only, so that the two differ. */
export const INTERFACES = ['rest', 'nerdgraph'] as const;

/**
 * A change to an application or a key transaction while the simulator runs. Absent members change nothing.
 */
export const CHANGE = z.strictObject({
  /** The interface that shows the change; by default both. */
  on: z.enum(INTERFACES).optional(),
  removed: z.boolean().optional(),
  name: z.string().min(1).optional(),
  /** Names of hosts to hide. Their traffic still counts for the application. */
  hosts_removed: z.array(z.string().min(1)).optional(),
  /** Makes the settings null. */
  settings: z.null().optional(),
  /** Moves a key transaction to the application with this id. */
  application: z.int().positive().optional(),
  /** Makes NerdGraph fail to resolve the required Apdex target of a key transaction, so its whole entity is null. */
  failing: z.boolean().optional(),
  /** False: stops reporting now. True: reports, without a gap in the past. */
  reporting: z.boolean().optional(),
  /** Makes the application slow and failing for some minutes; null ends the manual incident. */
  incident: z
    .strictObject({
      minutes: z.int().positive().default(10),
      started_minutes_ago: z.int().nonnegative().default(0),
      response_factor: z.number().positive().default(4),
      error_ratio: z.number().min(0).max(1).default(0.3),
    })
    .nullable()
    .optional(),
  /** Fixes the traffic of the whole application in every minute; null restores the generated traffic. */
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

/** Converts a change for the world. `minute` is the current minute. */
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
