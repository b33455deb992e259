import { METRIC } from '../formulas/names.ts';
import { requestRate } from '../formulas/rates.ts';
import { averageTime, responseTime, timePerRequest } from '../formulas/responseTime.ts';
import { read } from './windowRow.ts';
import type { WindowRowMaker } from './windowRow.ts';

/** Said of every time that is an average over web requests. */
export const ABSENT_WITHOUT_REQUESTS = 'absent without web requests';

const queue = read(METRIC.queue, 'call_count', 'average_response_time');
const RATE = 'requests_per_minute / 60; call_count / length of the window where it is rounded to 0';

/** Times and rates of web requests and background transactions. */
export function webRows(row: WindowRowMaker) {
  return {
    responseTime: row({
      suffix: 'response_time_seconds',
      meaning: 'Response time of a web request with its queueing, the line of the main chart',
      source:
        '(HttpDispatcher:average_call_time (else average_response_time) + WebFrontend/QueueTime:call_count × ' +
        `WebFrontend/QueueTime:average_response_time / HttpDispatcher:call_count) / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: { web: read(METRIC.web, 'call_count', 'average_call_time', 'average_response_time'), queue },
      calculate: (of) => responseTime(of.web?.values, of.queue?.values),
    }),
    webTransactionTime: row({
      suffix: 'web_transaction_time_seconds',
      meaning: 'Time of a web transaction without queueing',
      source: `HttpDispatcher:average_response_time / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: { web: read(METRIC.web, 'call_count', 'average_response_time') },
      calculate: (of) => averageTime(of.web?.values),
    }),
    queueTime: row({
      suffix: 'queue_time_seconds',
      meaning: 'Time in the request queue per web request',
      source:
        'WebFrontend/QueueTime:call_count × average_response_time / HttpDispatcher:call_count / 1000, ' +
        ABSENT_WITHOUT_REQUESTS,
      reads: { web: read(METRIC.web, 'call_count'), queue },
      calculate: (of) => timePerRequest(of.queue?.values, of.web?.values.call_count),
    }),
    webRequests: row({
      suffix: 'web_requests_per_second',
      meaning: 'Web requests per second',
      source: `HttpDispatcher:${RATE}`,
      reads: { web: read(METRIC.web, 'requests_per_minute', 'call_count') },
      calculate: (of) => requestRate(of.web),
    }),
    nonWebRequests: row({
      suffix: 'non_web_requests_per_second',
      meaning: 'Background transactions per second',
      source: `OtherTransaction/all:${RATE}`,
      reads: { nonWeb: read(METRIC.nonWeb, 'requests_per_minute', 'call_count') },
      calculate: (of) => requestRate(of.nonWeb),
    }),
  };
}
