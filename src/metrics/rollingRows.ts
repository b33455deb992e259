import type { RollingSummary, RollingValues } from '../api/types.ts';
import type { Row, RowMaker } from './family.ts';

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
