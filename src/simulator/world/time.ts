import type { ApplicationIdentity } from './identity.ts';

export const MINUTE = 60_000;
/** `reporting` turns false after ten minutes without data; id lists show what reported in the last hour. */
const REPORTING_MINUTES = 10;
const LISTED_MINUTES = 60;

/** The first minute that is not complete at `now`: data exist for the minutes before it. */
export function firstIncompleteMinute(now: number): number {
  return Math.floor(now / MINUTE);
}

/** The minute after the last one that the application reported, or undefined when it never did. */
function endOfReports(application: ApplicationIdentity, now: number): number | undefined {
  if (!application.archetype.reporting) return undefined;
  return Math.min(firstIncompleteMinute(now), application.amendment.silentFromMinute ?? Infinity);
}

function reportedWithin(application: ApplicationIdentity, now: number, minutes: number): boolean {
  const end = endOfReports(application, now);
  return end !== undefined && firstIncompleteMinute(now) - end < minutes;
}

export function isReporting(application: ApplicationIdentity, now: number): boolean {
  return reportedWithin(application, now, REPORTING_MINUTES);
}

export function isListed(application: ApplicationIdentity, now: number): boolean {
  return reportedWithin(application, now, LISTED_MINUTES);
}

/** When the application last reported, in milliseconds; undefined when it does not report. */
export function lastReportedAt(application: ApplicationIdentity, now: number): number | undefined {
  const end = endOfReports(application, now);
  return end === undefined || !isReporting(application, now) ? undefined : end * MINUTE;
}
