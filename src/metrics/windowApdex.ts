import { apdexScore } from '../formulas/apdex.ts';
import type { MetricWindow } from '../formulas/inputs.ts';
import { METRIC } from '../formulas/names.ts';
import { perSecond } from '../formulas/rates.ts';
import { averageTime } from '../formulas/responseTime.ts';
import type { LabelledValue, Scope } from './family.ts';
import { read } from './windowRow.ts';
import type { WindowRowMaker } from './windowRow.ts';

const ZONES = [
  { value: 's', labels: { zone: 'satisfied' } },
  { value: 't', labels: { zone: 'tolerating' } },
  { value: 'f', labels: { zone: 'frustrated' } },
] as const;

/** Apdex of web requests. */
export function apdexRows(row: WindowRowMaker) {
  return {
    apdexScore: row({
      suffix: 'apdex_score',
      meaning: 'Apdex score, from 0 to 1',
      source: 'Apdex:score, absent without requests',
      reads: { apdex: read(METRIC.apdex, 'score', 'count', 's', 't', 'f') },
      calculate: (of) => apdexScore(of.apdex?.values),
    }),
    apdexThreshold: row({
      suffix: 'apdex_threshold_seconds',
      meaning: 'Apdex threshold T that was in force (the highest in the window)',
      source: 'Apdex:threshold',
      reads: { apdex: read(METRIC.apdex, 'threshold') },
      calculate: (of) => of.apdex?.values.threshold,
    }),
    apdexRequests: row({
      suffix: 'apdex_requests',
      meaning: 'Requests in the window by Apdex zone: satisfied, tolerating, frustrated',
      source: 'Apdex:s, t, f',
      labelNames: ['zone'],
      reads: { apdex: read(METRIC.apdex, 's', 't', 'f') },
      calculate: (of) => zonesOf(of.apdex),
    }),
  };
}

/** Page loads in the browser. NerdGraph has them for applications only: rows of the browser name no host. */
export function endUserRows(row: WindowRowMaker, scope: Scope) {
  const where = scope === 'host' ? ({ nerdgraph: false } as const) : {};
  return {
    endUserResponseTime: row({
      suffix: 'end_user_response_time_seconds',
      meaning: 'Page load time in the browser',
      source: 'EndUser:average_response_time / 1000, absent without page views',
      ...where,
      reads: { views: read(METRIC.endUser, 'average_response_time', 'call_count') },
      calculate: (of) => averageTime(of.views?.values),
    }),
    pageViews: row({
      suffix: 'end_user_page_views_per_second',
      meaning: 'Page views per second',
      source: 'EndUser:call_count / length of the window',
      ...where,
      reads: { views: read(METRIC.endUser, 'call_count') },
      calculate: (of) => perSecond(of.views?.values.call_count, of.views?.seconds),
    }),
    endUserApdexScore: row({
      suffix: 'end_user_apdex_score',
      meaning: 'Apdex score of page loads, from 0 to 1',
      source: 'EndUser/Apdex:score, absent without page views',
      ...where,
      reads: { apdex: read(METRIC.endUserApdex, 'score', 'count', 's', 't', 'f') },
      calculate: (of) => apdexScore(of.apdex?.values),
    }),
    endUserApdexThreshold: row({
      suffix: 'end_user_apdex_threshold_seconds',
      meaning: 'Apdex threshold T of page loads that was in force (the highest in the window)',
      source: 'EndUser/Apdex:threshold',
      ...where,
      reads: { apdex: read(METRIC.endUserApdex, 'threshold') },
      calculate: (of) => of.apdex?.values.threshold,
    }),
    endUserApdexRequests: row({
      suffix: 'end_user_apdex_requests',
      meaning: 'Page loads in the window by Apdex zone: satisfied, tolerating, frustrated',
      source: 'EndUser/Apdex:s, t, f',
      labelNames: ['zone'],
      ...where,
      reads: { apdex: read(METRIC.endUserApdex, 's', 't', 'f') },
      calculate: (of) => zonesOf(of.apdex),
    }),
  };
}

function zonesOf(apdex: MetricWindow<'s' | 't' | 'f'> | undefined): LabelledValue[] {
  return ZONES.map(({ value, labels }) => ({ labels, value: apdex?.values[value] }));
}
