import { METRIC, type Values } from '../formulas/metricInputs.ts';
import {
  requestRate,
  perSecond,
  errorRatio,
  errorsPerSecond,
  apdexScore,
  cpuRatio,
  memoryBytes,
} from '../formulas/ratesAndScores.ts';
import { averageTime, responseTime, timePerRequest, totalTime } from '../formulas/responseTimes.ts';
import {
  read,
  type WindowRowMaker,
  type Component,
  EVERY_DATASTORE,
  type Reading,
  type WindowRow,
  windowRowMaker,
  windowTable,
} from './windowTable.ts';
import type { FamilyScope, LabelledValue } from './family.ts';

/** Said of every time that is an average over web requests. */
const ABSENT_WITHOUT_REQUESTS = 'absent without web requests';

const queue = read(METRIC.queue, 'call_count', 'average_response_time');
const RATE = 'requests_per_minute / 60; call_count / length of the window where it is rounded to 0';

const NAMES = 'Datastore/TYPE/allWeb or Database/allWeb or ActiveRecord/all, and Memcache/allWeb, External/allWeb';
const METRICS = [METRIC.database, METRIC.activeRecord, METRIC.memcache, METRIC.external, EVERY_DATASTORE] as const;

/** Reads every metric that may be a component, and gives those that count. */
const components: Reading<readonly Component[] | undefined> = {
  wanted: METRICS.map((metric) => ({ metric, values: ['call_count', 'average_response_time'] })),
  of: (input) => input.components,
};

const ERRORS_ABSENT: Readonly<Record<FamilyScope, string>> = {
  application: 'an absent Errors/all counts 0 while there are requests',
  host: 'absent without Errors/all (with NerdGraph 0 while the host reports)',
};

const ERROR_READS = {
  errors: read(METRIC.errors, 'error_count'),
  web: read(METRIC.web, 'call_count'),
  nonWeb: read(METRIC.nonWeb, 'call_count'),
};

const ZONES = [
  { value: 's', labels: { zone: 'satisfied' } },
  { value: 't', labels: { zone: 'tolerating' } },
  { value: 'f', labels: { zone: 'frustrated' } },
] as const;

function zonesOf(apdex: Values<'s' | 't' | 'f'> | undefined): LabelledValue[] {
  return ZONES.map(({ value, labels }) => ({ labels, value: apdex?.[value] }));
}

const MEMORY = { suffix: 'memory_used_bytes', meaning: 'Physical memory in use' } as const;

function applicationMemory(row: WindowRowMaker): WindowRow {
  return row({
    ...MEMORY,
    source:
      'Memory/Physical:total_used_mb × 1048576 ' +
      '(unverified: what the service does with it over several minutes; alert on newrelic_host_memory_used_bytes)',
    nerdgraph: 'average memory of a process × processes that report',
    reads: { memory: read(METRIC.memory, 'total_used_mb') },
    calculate: (of) => memoryBytes(of.memory?.total_used_mb),
  });
}

function hostMemory(row: WindowRowMaker): WindowRow {
  return row({
    ...MEMORY,
    source: 'Memory/Physical:used_mb_by_host × 1048576',
    nerdgraph: 'average memory of a process on the host',
    reads: { memory: read(METRIC.memory, 'used_mb_by_host') },
    calculate: (of) => memoryBytes(of.memory?.used_mb_by_host),
  });
}

function rowsOf(scope: FamilyScope): readonly WindowRow[] {
  const row = windowRowMaker(scope);
  const browser = scope === 'host' ? ({ nerdgraph: false } as const) : {};
  return [
    // Times and rates of web requests and background transactions.
    row({
      suffix: 'response_time_seconds',
      meaning: 'Response time of a web request with its queueing, the line of the main chart',
      source:
        '(HttpDispatcher:average_call_time (else average_response_time) + WebFrontend/QueueTime:call_count × ' +
        `WebFrontend/QueueTime:average_response_time / HttpDispatcher:call_count) / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: { web: read(METRIC.web, 'call_count', 'average_call_time', 'average_response_time'), queue },
      calculate: (of) => responseTime(of.web, of.queue),
    }),
    row({
      suffix: 'web_transaction_time_seconds',
      meaning: 'Time of a web transaction without queueing',
      source: `HttpDispatcher:average_response_time / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: { web: read(METRIC.web, 'call_count', 'average_response_time') },
      calculate: (of) => averageTime(of.web),
    }),
    row({
      suffix: 'queue_time_seconds',
      meaning: 'Time in the request queue per web request',
      source:
        'WebFrontend/QueueTime:call_count × average_response_time / HttpDispatcher:call_count / 1000, ' +
        ABSENT_WITHOUT_REQUESTS,
      reads: { web: read(METRIC.web, 'call_count'), queue },
      calculate: (of) => timePerRequest(of.queue, of.web?.call_count),
    }),
    row({
      suffix: 'web_requests_per_second',
      meaning: 'Web requests per second',
      source: `HttpDispatcher:${RATE}`,
      reads: { web: read(METRIC.web, 'requests_per_minute', 'call_count') },
      calculate: (of, seconds) => requestRate(of.web, seconds),
    }),
    row({
      suffix: 'non_web_requests_per_second',
      meaning: 'Background transactions per second',
      source: `OtherTransaction/all:${RATE}`,
      reads: { nonWeb: read(METRIC.nonWeb, 'requests_per_minute', 'call_count') },
      calculate: (of, seconds) => requestRate(of.nonWeb, seconds),
    }),
    // How the time of web requests is made up.
    row({
      suffix: 'component_time_seconds',
      meaning: 'Time in one component per web request; of the database kinds only the one that counts',
      source:
        `average_response_time × call_count of ${NAMES} / HttpDispatcher:call_count / 1000, ` + ABSENT_WITHOUT_REQUESTS,
      labelNames: ['component'],
      reads: { web: read(METRIC.web, 'call_count'), components },
      calculate: (of) =>
        of.components?.map(({ labels, calls }) => ({ labels, value: timePerRequest(calls, of.web?.call_count) })),
    }),
    row({
      suffix: 'component_calls_per_second',
      meaning: 'Calls of one component per second; of the database kinds only the one that counts',
      source: `call_count of ${NAMES} / length of the window`,
      labelNames: ['component'],
      reads: { components },
      calculate: (of, seconds) =>
        of.components?.map(({ labels, calls }) => ({ labels, value: perSecond(calls.call_count, seconds) })),
    }),
    row({
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
          of.web,
          of.total,
          of.components.map(({ calls }) => calls),
        ),
    }),
    // Errors of web requests and background transactions.
    row({
      suffix: 'error_ratio',
      meaning: 'Errors per web request and background transaction',
      source:
        'Errors/all:error_count / (HttpDispatcher:call_count + OtherTransaction/all:call_count); ' +
        `${ERRORS_ABSENT[scope]}; absent without requests`,
      reads: ERROR_READS,
      calculate: (of) => errorRatio({ scope, ...of }),
    }),
    row({
      suffix: 'errors_per_second',
      meaning: 'Errors per second',
      source: `Errors/all:error_count / length of the window; ${ERRORS_ABSENT[scope]}`,
      reads: ERROR_READS,
      calculate: (of, seconds) => errorsPerSecond({ scope, ...of }, seconds),
    }),
    // Apdex of web requests.
    row({
      suffix: 'apdex_score',
      meaning: 'Apdex score, from 0 to 1',
      source: 'Apdex:score, absent without requests',
      reads: { apdex: read(METRIC.apdex, 'score', 'count', 's', 't', 'f') },
      calculate: (of) => apdexScore(of.apdex),
    }),
    row({
      suffix: 'apdex_threshold_seconds',
      meaning: 'Apdex threshold T that was in force (the highest in the window)',
      source: 'Apdex:threshold',
      reads: { apdex: read(METRIC.apdex, 'threshold') },
      calculate: (of) => of.apdex?.threshold,
    }),
    row({
      suffix: 'apdex_requests',
      meaning: 'Requests in the window by Apdex zone: satisfied, tolerating, frustrated',
      source: 'Apdex:s, t, f',
      labelNames: ['zone'],
      reads: { apdex: read(METRIC.apdex, 's', 't', 'f') },
      calculate: (of) => zonesOf(of.apdex),
    }),
    // Page loads in the browser. NerdGraph has them for applications only: rows of the browser name no host.
    row({
      suffix: 'end_user_response_time_seconds',
      meaning: 'Page load time in the browser',
      source: 'EndUser:average_response_time / 1000, absent without page views',
      ...browser,
      reads: { views: read(METRIC.endUser, 'average_response_time', 'call_count') },
      calculate: (of) => averageTime(of.views),
    }),
    row({
      suffix: 'end_user_page_views_per_second',
      meaning: 'Page views per second',
      source: 'EndUser:call_count / length of the window',
      ...browser,
      reads: { views: read(METRIC.endUser, 'call_count') },
      calculate: (of, seconds) => perSecond(of.views?.call_count, seconds),
    }),
    row({
      suffix: 'end_user_apdex_score',
      meaning: 'Apdex score of page loads, from 0 to 1',
      source: 'EndUser/Apdex:score, absent without page views',
      ...browser,
      reads: { apdex: read(METRIC.endUserApdex, 'score', 'count', 's', 't', 'f') },
      calculate: (of) => apdexScore(of.apdex),
    }),
    row({
      suffix: 'end_user_apdex_threshold_seconds',
      meaning: 'Apdex threshold T of page loads that was in force (the highest in the window)',
      source: 'EndUser/Apdex:threshold',
      ...browser,
      reads: { apdex: read(METRIC.endUserApdex, 'threshold') },
      calculate: (of) => of.apdex?.threshold,
    }),
    row({
      suffix: 'end_user_apdex_requests',
      meaning: 'Page loads in the window by Apdex zone: satisfied, tolerating, frustrated',
      source: 'EndUser/Apdex:s, t, f',
      labelNames: ['zone'],
      ...browser,
      reads: { apdex: read(METRIC.endUserApdex, 's', 't', 'f') },
      calculate: (of) => zonesOf(of.apdex),
    }),
    // Memory and processor time.
    scope === 'application' ? applicationMemory(row) : hostMemory(row),
    row({
      suffix: 'cpu_usage_ratio',
      meaning: 'CPU time per wall clock time, above 1 with several processes',
      source: 'CPU/User Time:percent / 100',
      reads: { cpu: read(METRIC.cpu, 'percent') },
      calculate: (of) => cpuRatio(of.cpu?.percent),
    }),
  ];
}

/** Every window family, a row each, and what follows from them; see "Adding a window metric" in CONTRIBUTING.md. */
export const WINDOW_TABLE = windowTable({ application: rowsOf('application'), host: rowsOf('host') });

export const { queryNames, usedValues, windowSamples } = WINDOW_TABLE;
