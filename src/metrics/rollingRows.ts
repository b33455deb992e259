import type { LabelledValue, Row, RowMaker } from './family.ts';
import type { Labels } from './sample.ts';
import type { RollingSummary, RollingValues } from '../api/types.ts';

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

const ABSENT_WITHOUT_TRAFFIC = 'absent where it is 0 while throughput is 0';

/** Where NerdGraph has the values of a kind of entity; false: nowhere. */
type NerdgraphSources = Readonly<Record<'responseTime' | 'requests' | 'errorRatio' | 'apdexScore', string>> | false;

/** What the rows of rolling values read: the values to show, in upstream's units. */
export interface WithRolling {
  readonly rolling: RollingValues;
}

/**
 * The rolling values to show: those that were read apart from the list, where there are any, else those of the list's
 * entry. Without traffic, the list says 0 for an average or a score: that is left out. A reader that reads rolling values
 * apart leaves it out itself.
 */
export function rollingOf(entry: Partial<RollingValues>, apart: RollingValues | undefined): RollingValues {
  if (apart !== undefined) return apart;
  return { summary: withoutEmptyAverages(entry.summary), endUserSummary: withoutEmptyAverages(entry.endUserSummary) };
}

/** `application_summary` (response time in milliseconds, throughput per minute), as all kinds of entities have it. */
export function trafficRows<Input extends WithRolling>(row: RowMaker<Input>, nerdgraph: NerdgraphSources) {
  const where = (value: keyof Exclude<NerdgraphSources, false>) => ({ nerdgraph: nerdgraph && nerdgraph[value] });
  return {
    rollingResponseTime: row({
      suffix: 'rolling_response_time_seconds',
      meaning: 'Response time of web transactions',
      source: `application_summary.response_time / 1000, ${ABSENT_WITHOUT_TRAFFIC}`,
      ...where('responseTime'),
      calculate: ({ rolling }) => divided(rolling.summary?.responseTime, 1000),
    }),
    rollingRequests: row({
      suffix: 'rolling_requests_per_second',
      meaning: 'Requests per second',
      source: 'application_summary.throughput (per minute) / 60',
      ...where('requests'),
      calculate: ({ rolling }) => divided(rolling.summary?.throughput, 60),
    }),
    rollingErrorRatio: row({
      suffix: 'rolling_error_ratio',
      meaning: 'Errors per request',
      source: `application_summary.error_rate, ${ABSENT_WITHOUT_TRAFFIC}`,
      ...where('errorRatio'),
      calculate: ({ rolling }) => rolling.summary?.errorRate,
    }),
    rollingApdexScore: row({
      suffix: 'rolling_apdex_score',
      meaning: 'Apdex score, from 0 to 1',
      source: `application_summary.apdex_score, ${ABSENT_WITHOUT_TRAFFIC}`,
      ...where('apdexScore'),
      calculate: ({ rolling }) => rolling.summary?.apdexScore,
    }),
  };
}

/** `end_user_summary` (response time in seconds, throughput per minute). NerdGraph has it for applications only. */
export function endUserRows<Input extends WithRolling>(row: RowMaker<Input>, inNerdgraph: boolean) {
  const where = (source: string) => ({ nerdgraph: inNerdgraph && `${source} of the last 4 minutes` });
  return {
    endUserResponseTime: row({
      suffix: 'end_user_rolling_response_time_seconds',
      meaning: 'Page load time in the browser',
      source: `end_user_summary.response_time (seconds), ${ABSENT_WITHOUT_TRAFFIC}`,
      ...where('EndUser'),
      calculate: ({ rolling }) => rolling.endUserSummary?.responseTime,
    }),
    endUserPageViews: row({
      suffix: 'end_user_rolling_page_views_per_second',
      meaning: 'Page views per second',
      source: 'end_user_summary.throughput (per minute) / 60',
      ...where('EndUser'),
      calculate: ({ rolling }) => divided(rolling.endUserSummary?.throughput, 60),
    }),
    endUserApdexTarget: row({
      suffix: 'end_user_rolling_apdex_target_seconds',
      meaning: 'Apdex threshold T of page loads',
      source: 'end_user_summary.apdex_target',
      ...where('EndUser/Apdex'),
      calculate: ({ rolling }) => rolling.endUserSummary?.apdexTarget,
    }),
    endUserApdexScore: row({
      suffix: 'end_user_rolling_apdex_score',
      meaning: 'Apdex score of page loads, from 0 to 1',
      source: `end_user_summary.apdex_score, ${ABSENT_WITHOUT_TRAFFIC}`,
      ...where('EndUser/Apdex'),
      calculate: ({ rolling }) => rolling.endUserSummary?.apdexScore,
    }),
  };
}

/** The Apdex threshold of web transactions, which the list has with either interface. */
export function apdexTargetRow<Input extends { readonly entry: Pick<RollingValues, 'summary'> }>(
  row: RowMaker<Input>,
): Row<Input> {
  return row({
    suffix: 'rolling_apdex_target_seconds',
    meaning: 'Apdex threshold T of web transactions',
    source: 'application_summary.apdex_target',
    nerdgraph: 'the Apdex target in the settings',
    calculate: ({ entry }) => entry.summary?.apdexTarget,
  });
}

function withoutEmptyAverages(summary: RollingSummary | undefined): RollingSummary | undefined {
  if (summary?.throughput !== 0) return summary;
  return {
    ...summary,
    responseTime: unlessZero(summary.responseTime),
    errorRate: unlessZero(summary.errorRate),
    apdexScore: unlessZero(summary.apdexScore),
  };
}

function unlessZero(value: number | undefined): number | undefined {
  return value === 0 ? undefined : value;
}

function divided(value: number | undefined, divisor: number): number | undefined {
  return value === undefined ? undefined : value / divisor;
}
