import { METRIC } from '../formulas/names.ts';
import { perSecond } from '../formulas/rates.ts';
import { timePerRequest } from '../formulas/responseTime.ts';
import { totalTime } from '../formulas/totalTime.ts';
import type { Component } from './components.ts';
import { EVERY_DATASTORE, read } from './windowRow.ts';
import type { Reading, WindowRowMaker } from './windowRow.ts';
import { ABSENT_WITHOUT_REQUESTS } from './windowWeb.ts';

const NAMES = 'Datastore/TYPE/allWeb or Database/allWeb or ActiveRecord/all, and Memcache/allWeb, External/allWeb';
const METRICS = [METRIC.database, METRIC.activeRecord, METRIC.memcache, METRIC.external, EVERY_DATASTORE] as const;

/** Reads every metric that may be a component, and gives those that count. */
const components: Reading<readonly Component[] | undefined> = {
  wanted: METRICS.map((metric) => ({ metric, values: ['call_count', 'average_response_time'] })),
  of: (input) => input.components,
};

/** How the time of web requests is made up. */
export function componentRows(row: WindowRowMaker) {
  return {
    componentTime: row({
      suffix: 'component_time_seconds',
      meaning: 'Time in one component per web request; of the database kinds only the one that counts',
      source:
        `average_response_time × call_count of ${NAMES} / HttpDispatcher:call_count / 1000, ` + ABSENT_WITHOUT_REQUESTS,
      labelNames: ['component'],
      reads: { web: read(METRIC.web, 'call_count'), components },
      calculate: (of) =>
        of.components?.map(({ labels, values }) => ({
          labels,
          value: timePerRequest(values, of.web?.values.call_count),
        })),
    }),
    componentCalls: row({
      suffix: 'component_calls_per_second',
      meaning: 'Calls of one component per second; of the database kinds only the one that counts',
      source: `call_count of ${NAMES} / length of the window`,
      labelNames: ['component'],
      reads: { components },
      calculate: (of) =>
        of.components?.map(({ labels, values, seconds }) => ({ labels, value: perSecond(values.call_count, seconds) })),
    }),
    totalTime: row({
      suffix: 'total_time_seconds',
      meaning: 'Execution time of a web transaction outside the components, below zero where they overlap',
      source:
        'WebTransactionTotalTime:average_response_time (else HttpDispatcher:average_response_time) / 1000 - the ' +
        `component times, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: {
        web: read(METRIC.web, 'call_count', 'average_response_time'),
        total: read(METRIC.totalTime, 'average_response_time'),
        components,
      },
      calculate: (of) =>
        of.components &&
        totalTime(
          of.web?.values,
          of.total?.values,
          of.components.map(({ values }) => values),
        ),
    }),
  };
}
