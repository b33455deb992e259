import type { Api } from '../api/upstreamReader.ts';
import { METRIC, isDatastore, type TimedCalls, type Values, type WindowValues } from '../formulas/metricInputs.ts';
import {
  requestRate,
  perSecond,
  errorRatio,
  errorsPerSecond,
  apdexScore,
  cpuRatio,
  memoryBytes,
} from '../formulas/ratesAndScores.ts';
import {
  averageTime,
  databaseMetrics,
  responseTime,
  timePerRequest,
  totalTime,
  type DatabaseChoice,
} from '../formulas/responseTimes.ts';
import { catalogueFamily, samplesOf, type FamilyRow, type FamilyScope, type FamilySpec } from './family.ts';
import type { Labels, Sample } from './sample.ts';

/** The data of one application or host over one window. */
interface FormulaInput {
  readonly values: WindowValues;
  /** The components of web requests that count; undefined until the database kind is known. */
  readonly components: readonly { readonly labels: Labels; readonly calls: TimedCalls }[] | undefined;
}

/** Stands for the metric of every datastore type, whose names differ from application to application. */
export const EVERY_DATASTORE = Symbol('every datastore type');

/** An input of a row: the values to request, and a function that finds it in the response. */
interface Reading<T> {
  readonly wanted: readonly {
    readonly metric: string | typeof EVERY_DATASTORE;
    readonly values: readonly string[];
  }[];
  readonly of: (input: FormulaInput) => T;
}

/** A window family with its calculation and what it reads. */
interface WindowRow extends FamilyRow<FormulaInput>, Pick<Reading<unknown>, 'wanted'> {}

/** Reads values of one metric; undefined where New Relic has no such metric. */
function read<Value extends string>(metric: string, ...values: readonly Value[]): Reading<Values<Value> | undefined> {
  return { wanted: [{ metric, values }], of: ({ values: { metrics } }) => metrics.get(metric) };
}

/** Makes a row. `calculate` gets the response to each reading: using a value that is not read is a type error. */
function windowRow<Inputs extends object>(
  scope: FamilyScope,
  {
    reads,
    calculate,
    ...spec
  }: FamilySpec & {
    readonly reads: { readonly [Name in keyof Inputs]: Reading<Inputs[Name]> };
    readonly calculate: (inputs: Inputs, seconds: number) => ReturnType<WindowRow['calculate']>;
  },
): WindowRow {
  const readings: [string, Reading<unknown>][] = Object.entries(reads);
  return {
    ...catalogueFamily(`newrelic_${scope}`, `${scope}_metrics`, 'window', spec),
    wanted: readings.flatMap(([, { wanted }]) => wanted),
    calculate: (input) => {
      const inputs: Record<string, unknown> = {};
      for (const [name, reading] of readings) inputs[name] = reading.of(input);
      return calculate(inputs as Inputs, input.values.seconds);
    },
  };
}

/** The note of every time that is an average over web requests. */
const ABSENT_WITHOUT_REQUESTS = 'absent without web requests';

const queue = read(METRIC.queue, 'call_count', 'average_response_time');
const RATE = 'requests_per_minute / 60; call_count / length of the window where it is rounded to 0';

const NAMES = 'Datastore/TYPE/allWeb or Database/allWeb or ActiveRecord/all, and Memcache/allWeb, External/allWeb';
const METRICS = [METRIC.database, METRIC.activeRecord, METRIC.memcache, METRIC.external, EVERY_DATASTORE] as const;

/** Reads every metric that may be a component, and returns the ones that count. */
const components: Reading<FormulaInput['components']> = {
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

/** The zones of an Apdex, by the value that counts them. */
export const ZONES = [
  { value: 's', labels: { zone: 'satisfied' } },
  { value: 't', labels: { zone: 'tolerating' } },
  { value: 'f', labels: { zone: 'frustrated' } },
] as const;

/** The rows of one Apdex; `of`, `counted` and `none` are the words of HELP for what it judges. */
function apdexRows(
  scope: FamilyScope,
  metric: string,
  {
    prefix,
    of,
    counted,
    none,
    ...where
  }: Readonly<Record<'prefix' | 'of' | 'counted' | 'none', string>> & Pick<FamilySpec, 'nerdgraph'>,
): WindowRow[] {
  return [
    windowRow(scope, {
      suffix: `${prefix}apdex_score`,
      meaning: `Apdex score${of}, from 0 to 1`,
      source: `${metric}:score, absent without ${none}`,
      ...where,
      reads: { apdex: read(metric, 'score', 'count', 's', 't', 'f') },
      calculate: ({ apdex }) => apdexScore(apdex),
    }),
    windowRow(scope, {
      suffix: `${prefix}apdex_threshold_seconds`,
      meaning: `Apdex threshold T${of} that was in force (the highest in the window)`,
      source: `${metric}:threshold`,
      ...where,
      reads: { apdex: read(metric, 'threshold') },
      calculate: ({ apdex }) => apdex?.threshold,
    }),
    windowRow(scope, {
      suffix: `${prefix}apdex_requests`,
      meaning: `${counted} in the window by Apdex zone: satisfied, tolerating, frustrated`,
      source: `${metric}:s, t, f`,
      labelNames: ['zone'],
      ...where,
      reads: { apdex: read(metric, 's', 't', 'f') },
      calculate: ({ apdex }) => ZONES.map(({ value, labels }) => ({ labels, value: apdex?.[value] })),
    }),
  ];
}

const MEMORY = {
  application: {
    value: 'total_used_mb',
    meaning: 'Physical memory in use by the processes of the application',
    source:
      'Memory/Physical:total_used_mb × 1048576 ' +
      '(unverified: what New Relic does with it over several minutes; alert on newrelic_host_memory_used_bytes)',
    nerdgraph: 'average memory of a process × processes that report',
  },
  host: {
    value: 'used_mb_by_host',
    meaning: 'Physical memory of a process, the mean over the processes of the application on the host',
    source: 'Memory/Physical:used_mb_by_host × 1048576',
    nerdgraph: 'average memory of a process on the host',
  },
} as const;

function rowsOf(scope: FamilyScope): readonly WindowRow[] {
  const { value: memory, ...ofMemory } = MEMORY[scope];
  const browser = scope === 'host' ? ({ nerdgraph: false } as const) : {};
  return [
    // Times and rates of web requests and background transactions.
    windowRow(scope, {
      suffix: 'response_time_seconds',
      meaning: 'Response time of a web request with its queueing, the line of the main chart',
      source:
        '(HttpDispatcher:average_call_time (else average_response_time) + WebFrontend/QueueTime:call_count × ' +
        `WebFrontend/QueueTime:average_response_time / HttpDispatcher:call_count) / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: { web: read(METRIC.web, 'call_count', 'average_call_time', 'average_response_time'), queue },
      calculate: (of) => responseTime(of.web, of.queue),
    }),
    windowRow(scope, {
      suffix: 'web_transaction_time_seconds',
      meaning: 'Time of a web transaction without queueing',
      source: `HttpDispatcher:average_response_time / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: { web: read(METRIC.web, 'call_count', 'average_response_time') },
      calculate: (of) => averageTime(of.web),
    }),
    windowRow(scope, {
      suffix: 'queue_time_seconds',
      meaning: 'Time in the request queue per web request',
      source:
        'WebFrontend/QueueTime:call_count × average_response_time / HttpDispatcher:call_count / 1000, ' +
        ABSENT_WITHOUT_REQUESTS,
      reads: { web: read(METRIC.web, 'call_count'), queue },
      calculate: (of) => timePerRequest(of.queue, of.web?.call_count),
    }),
    windowRow(scope, {
      suffix: 'web_requests_per_second',
      meaning: 'Web requests per second',
      source: `HttpDispatcher:${RATE}`,
      reads: { web: read(METRIC.web, 'requests_per_minute', 'call_count') },
      calculate: (of, seconds) => requestRate(of.web, seconds),
    }),
    windowRow(scope, {
      suffix: 'non_web_requests_per_second',
      meaning: 'Background transactions per second',
      source: `OtherTransaction/all:${RATE}`,
      reads: { nonWeb: read(METRIC.nonWeb, 'requests_per_minute', 'call_count') },
      calculate: (of, seconds) => requestRate(of.nonWeb, seconds),
    }),
    // The parts of the time of web requests.
    windowRow(scope, {
      suffix: 'component_time_seconds',
      meaning: 'Time in one component per web request; of the database kinds only the one that counts',
      source:
        `average_response_time × call_count of ${NAMES} / HttpDispatcher:call_count / 1000, ` + ABSENT_WITHOUT_REQUESTS,
      labelNames: ['component'],
      reads: { web: read(METRIC.web, 'call_count'), components },
      calculate: (of) =>
        of.components?.map(({ labels, calls }) => ({ labels, value: timePerRequest(calls, of.web?.call_count) })),
    }),
    windowRow(scope, {
      suffix: 'component_calls_per_second',
      meaning: 'Calls of one component per second; of the database kinds only the one that counts',
      source: `call_count of ${NAMES} / length of the window`,
      labelNames: ['component'],
      reads: { components },
      calculate: (of, seconds) =>
        of.components?.map(({ labels, calls }) => ({ labels, value: perSecond(calls.call_count, seconds) })),
    }),
    windowRow(scope, {
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
    windowRow(scope, {
      suffix: 'error_ratio',
      meaning: 'Errors per web request and background transaction',
      source:
        'Errors/all:error_count / (HttpDispatcher:call_count + OtherTransaction/all:call_count); ' +
        `${ERRORS_ABSENT[scope]}; absent without requests`,
      reads: ERROR_READS,
      calculate: (of) => errorRatio({ scope, ...of }),
    }),
    windowRow(scope, {
      suffix: 'errors_per_second',
      meaning: 'Errors per second',
      source: `Errors/all:error_count / length of the window; ${ERRORS_ABSENT[scope]}`,
      reads: ERROR_READS,
      calculate: (of, seconds) => errorsPerSecond({ scope, ...of }, seconds),
    }),
    ...apdexRows(scope, METRIC.apdex, { prefix: '', of: '', counted: 'Requests', none: 'requests' }),
    // Page loads in the browser. NerdGraph has them for applications only, because browser metrics name no host.
    windowRow(scope, {
      suffix: 'end_user_response_time_seconds',
      meaning: 'Page load time in the browser',
      source: 'EndUser:average_response_time / 1000, absent without page views',
      ...browser,
      reads: { views: read(METRIC.endUser, 'average_response_time', 'call_count') },
      calculate: (of) => averageTime(of.views),
    }),
    windowRow(scope, {
      suffix: 'end_user_page_views_per_second',
      meaning: 'Page views per second',
      source: 'EndUser:call_count / length of the window',
      ...browser,
      reads: { views: read(METRIC.endUser, 'call_count') },
      calculate: (of, seconds) => perSecond(of.views?.call_count, seconds),
    }),
    ...apdexRows(scope, METRIC.endUserApdex, {
      prefix: 'end_user_',
      of: ' of page loads',
      counted: 'Page loads',
      none: 'page views',
      ...browser,
    }),
    // Memory and processor time.
    windowRow(scope, {
      suffix: 'memory_used_bytes',
      ...ofMemory,
      reads: { memory: read(METRIC.memory, memory) },
      calculate: (of) => memoryBytes(of.memory?.[memory]),
    }),
    windowRow(scope, {
      suffix: 'cpu_usage_ratio',
      meaning: 'CPU time per wall clock time, above 1 with several processes',
      source: 'CPU/User Time:percent / 100',
      reads: { cpu: read(METRIC.cpu, 'percent') },
      calculate: (of) => cpuRatio(of.cpu?.percent),
    }),
  ];
}

/** Every window family, a row each; see "Adding a window metric" in CONTRIBUTING.md. */
export const WINDOW_FAMILIES = { application: rowsOf('application'), host: rowsOf('host') };

/** The metric names to request for an application or host, without names that the interface lacks there. */
export function queryNames(
  datastores: readonly string[],
  scope: FamilyScope = 'application',
  api: Api = 'rest',
): string[] {
  const rows = WINDOW_FAMILIES[scope].filter(({ interfaces }) => interfaces.includes(api));
  const names = rows.flatMap(({ wanted }) => wanted.map(({ metric }) => metric));
  return [...new Set([...names.filter((name) => name !== EVERY_DATASTORE), ...datastores])];
}

const USED = new Map<string | typeof EVERY_DATASTORE, readonly string[]>();
for (const { metric, values } of Object.values(WINDOW_FAMILIES).flatMap((rows) =>
  rows.flatMap(({ wanted }) => wanted),
)) {
  USED.set(metric, [...new Set([...(USED.get(metric) ?? []), ...values])]);
}

/** The value names of a metric that the calculations read; none for a metric that they do not read. */
export function usedValues(metricName: string): readonly string[] {
  return USED.get(metricName) ?? (isDatastore(metricName) ? USED.get(EVERY_DATASTORE) : undefined) ?? [];
}

/**
 * The samples of one application or host, in base units. `database` is the kind that counts for the application; while it is
 * undefined (not known yet) there are no components and no total time.
 */
export function windowSamples(
  scope: FamilyScope,
  values: WindowValues,
  database: DatabaseChoice | undefined,
): Sample[] {
  const components = database === undefined ? undefined : componentsOf(values, database);
  return samplesOf(WINDOW_FAMILIES[scope], { values, components });
}

/** The components of an application or a host, the metrics of the database kind that counts first. */
function componentsOf(values: WindowValues, database: DatabaseChoice): FormulaInput['components'] {
  const names = [...databaseMetrics(values, database), METRIC.memcache, METRIC.external];
  return names.flatMap((name) => {
    const calls = values.metrics.get(name);
    return calls === undefined ? [] : [{ labels: { component: name.replace(/\/all(?:Web)?$/, '') }, calls }];
  });
}
