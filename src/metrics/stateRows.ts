import type { LabelledValue, Row, RowMaker } from './family.ts';
import type { Labels } from './sample.ts';

/** The statuses upstream is known to use, each with its labels. */
const KNOWN_STATUSES: ReadonlyMap<string, Labels> = new Map(
  ['green', 'orange', 'red', 'gray', 'unknown'].map((status) => [status, { status }]),
);

const ALERT_SEVERITY =
  'alertSeverity (CRITICAL red, WARNING orange, NOT_ALERTING green, NOT_CONFIGURED unknown), gray while it does not report';

interface WithEntry<Entry> {
  readonly entry: Entry;
}

/** The health of an application, a key transaction, a host or an instance; the last two only REST has. */
export function healthStatusRow<Input extends WithEntry<{ readonly healthStatus: string | undefined }>>(
  row: RowMaker<Input>,
  entity: string,
  inNerdgraph: boolean,
): Row<Input> {
  return row({
    suffix: 'health_status',
    meaning: `Health of the ${entity}: 1 for the current status, 0 for the other known ones`,
    source: 'health_status',
    nerdgraph: inNerdgraph && ALERT_SEVERITY,
    labelNames: ['status'],
    calculate: ({ entry }) => statuses(entry.healthStatus),
  });
}

/** Whether an application or a key transaction reports, and when it last did. */
export function reportingRows<
  Input extends WithEntry<{ readonly reporting: boolean | undefined; readonly lastReportedAt: number | undefined }>,
>(row: RowMaker<Input>, entity: string) {
  return {
    reporting: row({
      suffix: 'reporting',
      meaning: `1 while the ${entity} reports data, else 0`,
      source: 'reporting',
      calculate: ({ entry }) => flag(entry.reporting),
    }),
    lastReported: row({
      suffix: 'last_reported_timestamp_seconds',
      meaning: `Unix time at which the ${entity} last reported data`,
      source: 'last_reported_at',
      nerdgraph: false,
      calculate: ({ entry }) => entry.lastReportedAt,
    }),
  };
}

/** The one series of an info family. */
export function info(labels: Labels): LabelledValue[] {
  return [{ labels, value: 1 }];
}

export function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

/** A series for each known status; a status that is not known is one more. */
function statuses(current: string | undefined): LabelledValue[] | undefined {
  if (current === undefined) return undefined;
  const known = [...KNOWN_STATUSES].map(([status, labels]) => ({ labels, value: flag(status === current) }));
  return KNOWN_STATUSES.has(current) ? known : [...known, { labels: { status: current }, value: 1 }];
}
