import { familyMaker } from './family.ts';
import type { Scope } from './family.ts';

const COMPONENTS = 'Datastore/TYPE/allWeb or Database/allWeb or ActiveRecord/all, and Memcache/allWeb, External/allWeb';
const ABSENT_WITHOUT_CALLS = 'absent without web requests';
const ERRORS_ABSENT: Readonly<Record<Scope, string>> = {
  application: 'an absent Errors/all counts 0 while there are requests',
  host: 'absent without Errors/all',
};
const MEMORY_SOURCE: Readonly<Record<Scope, string>> = {
  application:
    'Memory/Physical:total_used_mb × 1048576 ' +
    '(unverified: what the service does with it over several minutes; alert on newrelic_host_memory_used_bytes)',
  host: 'Memory/Physical:used_mb_by_host × 1048576',
};

/** The window families of one scope, by what they say. */
export type WindowFamilies = ReturnType<typeof windowFamilies>;

/** The window families (contract 5.4) of applications and of hosts. */
export const WINDOW: Readonly<Record<Scope, WindowFamilies>> = {
  application: windowFamilies('application'),
  host: windowFamilies('host'),
};

function windowFamilies(scope: Scope) {
  const make = familyMaker(`newrelic_${scope}`, `${scope}_metrics`);
  const gauge = (suffix: string, meaning: string, source: string, labelNames: readonly string[] = []) =>
    make(suffix, 'window', meaning, source, labelNames);
  return {
    responseTime: gauge(
      'response_time_seconds',
      'Response time of a web request with its queueing, the line of the main chart',
      '(HttpDispatcher:average_call_time (else average_response_time) + WebFrontend/QueueTime:call_count × ' +
        `WebFrontend/QueueTime:average_response_time / HttpDispatcher:call_count) / 1000, ${ABSENT_WITHOUT_CALLS}`,
    ),
    webTransactionTime: gauge(
      'web_transaction_time_seconds',
      'Time of a web transaction without queueing',
      `HttpDispatcher:average_response_time / 1000, ${ABSENT_WITHOUT_CALLS}`,
    ),
    queueTime: gauge(
      'queue_time_seconds',
      'Time in the request queue per web request',
      'WebFrontend/QueueTime:call_count × average_response_time / HttpDispatcher:call_count / 1000, ' +
        ABSENT_WITHOUT_CALLS,
    ),
    componentTime: gauge(
      'component_time_seconds',
      'Time in one component per web request; of the database kinds only the one that counts',
      `average_response_time × call_count of ${COMPONENTS} / HttpDispatcher:call_count / 1000, ` + ABSENT_WITHOUT_CALLS,
      ['component'],
    ),
    componentCalls: gauge(
      'component_calls_per_second',
      'Calls of one component per second; of the database kinds only the one that counts',
      `call_count of ${COMPONENTS} / length of the window`,
      ['component'],
    ),
    totalTime: gauge(
      'total_time_seconds',
      'Execution time of a web transaction outside the components, below zero where they overlap',
      'WebTransactionTotalTime:average_response_time (else HttpDispatcher:average_response_time) / 1000 - the component ' +
        `times, ${ABSENT_WITHOUT_CALLS}`,
    ),
    webRequests: gauge(
      'web_requests_per_second',
      'Web requests per second',
      'HttpDispatcher:requests_per_minute / 60; call_count / length of the window where it is rounded to 0',
    ),
    nonWebRequests: gauge(
      'non_web_requests_per_second',
      'Background transactions per second',
      'OtherTransaction/all:requests_per_minute / 60; call_count / length of the window where it is rounded to 0',
    ),
    errorRatio: gauge(
      'error_ratio',
      'Errors per web request and background transaction, from 0 to 1',
      'Errors/all:error_count / (HttpDispatcher:call_count + OtherTransaction/all:call_count); ' +
        `${ERRORS_ABSENT[scope]}; absent without requests`,
    ),
    errors: gauge(
      'errors_per_second',
      'Errors per second',
      `Errors/all:error_count / length of the window; ${ERRORS_ABSENT[scope]}`,
    ),
    apdexScore: gauge('apdex_score', 'Apdex score, from 0 to 1', 'Apdex:score, absent without requests'),
    apdexThreshold: gauge(
      'apdex_threshold_seconds',
      'Apdex threshold T that was in force (the highest in the window)',
      'Apdex:threshold',
    ),
    apdexRequests: gauge(
      'apdex_requests',
      'Requests in the window by Apdex zone: satisfied, tolerating, frustrated',
      'Apdex:s, t, f',
      ['zone'],
    ),
    endUserResponseTime: gauge(
      'end_user_response_time_seconds',
      'Page load time in the browser',
      'EndUser:average_response_time / 1000, absent without page views',
    ),
    pageViews: gauge(
      'end_user_page_views_per_second',
      'Page views per second',
      'EndUser:call_count / length of the window',
    ),
    endUserApdexScore: gauge(
      'end_user_apdex_score',
      'Apdex score of page loads, from 0 to 1',
      'EndUser/Apdex:score, absent without page views',
    ),
    endUserApdexThreshold: gauge(
      'end_user_apdex_threshold_seconds',
      'Apdex threshold T of page loads that was in force (the highest in the window)',
      'EndUser/Apdex:threshold',
    ),
    endUserApdexRequests: gauge(
      'end_user_apdex_requests',
      'Page loads in the window by Apdex zone: satisfied, tolerating, frustrated',
      'EndUser/Apdex:s, t, f',
      ['zone'],
    ),
    memory: gauge('memory_used_bytes', 'Physical memory in use', MEMORY_SOURCE[scope]),
    cpu: gauge(
      'cpu_usage_ratio',
      'CPU time per wall clock time, above 1 with several processes',
      'CPU/User Time:percent / 100',
    ),
  };
}
