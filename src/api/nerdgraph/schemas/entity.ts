import * as z from 'zod';
import { text } from '../../records/fields.ts';

/**
 * How the severity of the open alerts reads as the health status of the REST interface. That the two mean the same is our
 * inference: no public page says so.
 */
const HEALTH = {
  CRITICAL: 'red',
  WARNING: 'orange',
  NOT_ALERTING: 'green',
  NOT_CONFIGURED: 'unknown',
} as const;

export const severity = z.enum(['CRITICAL', 'WARNING', 'NOT_ALERTING', 'NOT_CONFIGURED']);

/** What entities of every kind have. */
export const entity = z.object({
  guid: text,
  name: text,
  accountId: z.int().nullish(),
  reporting: z.boolean().nullish(),
  alertSeverity: severity.nullish(),
});

/** A `reporting` that is null counts as true: what does not report any more says so. */
export function isReporting(reporting: boolean | null | undefined): boolean {
  return reporting ?? true;
}

/** The health status in words of the REST interface; what does not report is gray. */
export function healthStatus(
  reporting: boolean,
  alerts: z.infer<typeof severity> | null | undefined,
): string | undefined {
  if (!reporting) return 'gray';
  return alerts === null || alerts === undefined ? undefined : HEALTH[alerts];
}
