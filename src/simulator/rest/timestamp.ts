const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
const NO_OFFSET = /T[\d:.]+$/;
const OFFSET_WITHOUT_COLON = /([+-]\d\d)(\d\d)$/;

/** Milliseconds of an ISO 8601 timestamp; UTC when it has no offset; undefined when malformed. */
export function parseTimestamp(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const complete = NO_OFFSET.test(text) ? `${text}Z` : text.replace(OFFSET_WITHOUT_COLON, '$1:$2');
  const time = Date.parse(complete);
  return Number.isNaN(time) ? undefined : time;
}

/** As the service writes times: UTC to the second, `2015-06-08T14:44:26+00:00`. */
export function formatTimestamp(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}+00:00`;
}
