const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** A time as upstream takes it without any character that needs encoding: `2026-11-21T02:00:00Z`. */
export function formatTime(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

/**
 * Unix seconds of an ISO 8601 timestamp with `Z` or a numeric offset.
 * Undefined for anything else: a time without an offset could be any hour.
 */
export function parseTime(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}
