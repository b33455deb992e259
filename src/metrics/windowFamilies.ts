import type { Api } from '../api/upstreamReader.ts';
import { METRIC, type Columns, type WindowValues } from '../formulas/metricInputs.ts';
import {
  averageTime,
  databaseMetrics,
  responseTime,
  timePerRequest,
  totalTime,
  type DatabaseChoice,
  apdexScore,
  callRate,
  errorRatio,
  errorsPerSecond,
  memoryOfAll,
  memoryOfProcess,
} from '../formulas/derivedValues.ts';
import { SIGN_OF_LIFE } from '../formulas/valueFormulas.ts';
import {
  createRow,
  calculateSamples,
  type FamilyRow,
  type FamilyScope,
  type FamilySpec,
  type RowSpec,
  type Labels,
  type Sample,
} from './family.ts';

interface FormulaInput extends WindowValues {
  /** Components of web requests that count; undefined while the database kind is unknown. */
  readonly components: readonly { readonly labels: Labels; readonly columns: Columns }[] | undefined;
}

/** A window family with its calculation and the metrics that it reads, without types of datastores. */
interface WindowRow extends FamilyRow<FormulaInput> {
  readonly reads: readonly string[];
}

/** Creates a row. `calculate` gets the columns of each metric in `reads`; undefined if New Relic has no such metric. */
function createWindowRow(
  scope: FamilyScope,
  {
    reads,
    calculate,
    ...spec
  }: FamilySpec & {
    readonly reads: readonly string[];
    readonly calculate: (
      columns: readonly (Columns | undefined)[],
      input: FormulaInput,
    ) => ReturnType<WindowRow['calculate']>;
  },
): WindowRow {
  const columnsOf = ({ metrics }: FormulaInput) => reads.map((name) => metrics.get(name));
  const row: RowSpec<FormulaInput> = { ...spec, calculate: (input) => calculate(columnsOf(input), input) };
  return { ...createRow(`newrelic_${scope}`, `${scope}_metrics`, 'window', row), reads };
}

const ABSENT_WITHOUT_REQUESTS = 'absent without web requests';

const RATE = 'requests_per_minute / 60; call_count / length of the window where it is rounded to 0';

const NAMES = 'Datastore/TYPE/allWeb or Database/allWeb or ActiveRecord/all, and Memcache/allWeb, External/allWeb';
/** Metrics that may be components of web requests, without types of datastores. */
const COMPONENTS = [METRIC.database, METRIC.activeRecord, METRIC.memcache, METRIC.external];

const ERRORS_ABSENT: Readonly<Record<FamilyScope, string>> = {
  application: 'an absent Errors/all counts as 0 while there are requests',
  host: 'absent without Errors/all (with NerdGraph 0 while the host reports)',
};

const ERROR_READS = [METRIC.errors, METRIC.web, METRIC.nonWeb];

/** Apdex zones, by the column that counts them. */
export const ZONES = [
  { column: 'count', labels: { zone: 'satisfied' } },
  { column: 'sum', labels: { zone: 'tolerating' } },
  { column: 'exclusive', labels: { zone: 'frustrated' } },
] as const;

/** Creates the rows of an Apdex. `subject`, `counted` and `none` are words of HELP. */
function createApdexRows(
  scope: FamilyScope,
  metric: string,
  { prefix, subject, counted, none }: Readonly<Record<'prefix' | 'subject' | 'counted' | 'none', string>>,
  where: Pick<FamilySpec, 'nerdgraph'> = {},
): WindowRow[] {
  return [
    createWindowRow(scope, {
      suffix: `${prefix}apdex_score`,
      meaning: `Apdex score${subject}, from 0 to 1`,
      source: `${metric}:score, absent without ${none}`,
      ...where,
      reads: [metric],
      calculate: ([apdex]) => apdexScore(apdex),
    }),
    createWindowRow(scope, {
      suffix: `${prefix}apdex_threshold_seconds`,
      meaning: `Apdex threshold T${subject} that was in force (the highest in the window)`,
      source: `${metric}:threshold`,
      ...where,
      reads: [metric],
      calculate: ([apdex]) => apdex?.max,
    }),
    createWindowRow(scope, {
      suffix: `${prefix}apdex_requests`,
      meaning: `${counted} in the window by Apdex zone: satisfied, tolerating, frustrated`,
      source: `${metric}:s, t, f`,
      labelNames: ['zone'],
      ...where,
      reads: [metric],
      calculate: ([apdex]) => ZONES.map(({ column, labels }) => ({ labels, value: apdex?.[column] })),
    }),
  ];
}

const MB = 1_048_576;

const MEMORY = {
  application: {
    meaning: 'Physical memory in use by the processes of the application',
    source:
      'Memory/Physical:total_used_mb × 1048576 ' +
      '(unverified: what New Relic does with it over several minutes; alert on newrelic_host_memory_used_bytes)',
    nerdgraph: 'average memory of a process × processes that report',
    calculate: ([memory], { metrics, seconds }) => MB * memoryOfAll(memory, metrics.get(SIGN_OF_LIFE), seconds),
  },
  host: {
    meaning: 'Physical memory of a process, the mean over the processes of the application on the host',
    source: 'Memory/Physical:used_mb_by_host × 1048576',
    nerdgraph: 'average memory of a process on the host',
    calculate: ([memory]) => MB * memoryOfProcess(memory),
  },
} satisfies Record<FamilyScope, Partial<Parameters<typeof createWindowRow>[1]>>;

function createRows(scope: FamilyScope): readonly WindowRow[] {
  const browser = scope === 'host' ? ({ nerdgraph: false } as const) : {};
  return [
    createWindowRow(scope, {
      suffix: 'response_time_seconds',
      meaning: 'Response time of a web request including queueing, the line of the main chart',
      source:
        '(HttpDispatcher:average_call_time (else average_response_time) + WebFrontend/QueueTime:call_count × ' +
        `WebFrontend/QueueTime:average_response_time / HttpDispatcher:call_count) / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: [METRIC.web, METRIC.queue],
      calculate: ([web, queue]) => responseTime(web, queue),
    }),
    createWindowRow(scope, {
      suffix: 'web_transaction_time_seconds',
      meaning: 'Time of a web transaction without queueing',
      source: `HttpDispatcher:average_response_time / 1000, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: [METRIC.web],
      calculate: ([web]) => averageTime(web),
    }),
    createWindowRow(scope, {
      suffix: 'queue_time_seconds',
      meaning: 'Time in the request queue per web request',
      source:
        'WebFrontend/QueueTime:call_count × average_response_time / HttpDispatcher:call_count / 1000, ' +
        ABSENT_WITHOUT_REQUESTS,
      reads: [METRIC.web, METRIC.queue],
      calculate: ([web, queue]) => timePerRequest(queue, web?.count),
    }),
    createWindowRow(scope, {
      suffix: 'web_requests_per_second',
      meaning: 'Web requests per second',
      source: `HttpDispatcher:${RATE}`,
      reads: [METRIC.web],
      calculate: ([web], { seconds }) => callRate(web, seconds),
    }),
    createWindowRow(scope, {
      suffix: 'non_web_requests_per_second',
      meaning: 'Background transactions per second',
      source: `OtherTransaction/all:${RATE}`,
      reads: [METRIC.nonWeb],
      calculate: ([nonWeb], { seconds }) => callRate(nonWeb, seconds),
    }),
    createWindowRow(scope, {
      suffix: 'component_time_seconds',
      meaning: 'Time in one component per web request; only one database kind counts',
      source:
        `average_response_time × call_count of ${NAMES} / HttpDispatcher:call_count / 1000, ` + ABSENT_WITHOUT_REQUESTS,
      labelNames: ['component'],
      reads: [METRIC.web, ...COMPONENTS],
      calculate: ([web], { components }) =>
        components?.map(({ labels, columns }) => ({ labels, value: timePerRequest(columns, web?.count) })),
    }),
    createWindowRow(scope, {
      suffix: 'component_calls_per_second',
      meaning: 'Calls of one component per second; only one database kind counts',
      source: `call_count of ${NAMES} / length of the window`,
      labelNames: ['component'],
      reads: COMPONENTS,
      calculate: (_, { components, seconds }) =>
        components?.map(({ labels, columns: { count = NaN } }) => ({ labels, value: count / seconds })),
    }),
    createWindowRow(scope, {
      suffix: 'total_time_seconds',
      meaning:
        'Application code: execution time of a web transaction outside the components, below zero where they overlap',
      source:
        'WebTransactionTotalTime:average_response_time (else HttpDispatcher:average_response_time) / 1000 - the ' +
        `component times, ${ABSENT_WITHOUT_REQUESTS}`,
      reads: [METRIC.web, METRIC.totalTime, ...COMPONENTS],
      calculate: ([web, total], { components }) =>
        components &&
        totalTime(
          web,
          total,
          components.map(({ columns }) => columns),
        ),
    }),
    createWindowRow(scope, {
      suffix: 'error_ratio',
      meaning: 'Errors per web request and background transaction',
      source:
        'Errors/all:error_count / (HttpDispatcher:call_count + OtherTransaction/all:call_count); ' +
        `${ERRORS_ABSENT[scope]}; absent without requests`,
      reads: ERROR_READS,
      calculate: ([errors, web, nonWeb]) => errorRatio({ scope, errors, web, nonWeb }),
    }),
    createWindowRow(scope, {
      suffix: 'errors_per_second',
      meaning: 'Errors per second',
      source: `Errors/all:error_count / length of the window; ${ERRORS_ABSENT[scope]}`,
      reads: ERROR_READS,
      calculate: ([errors, web, nonWeb], { seconds }) => errorsPerSecond({ scope, errors, web, nonWeb }, seconds),
    }),
    ...createApdexRows(scope, METRIC.apdex, { prefix: '', subject: '', counted: 'Requests', none: 'requests' }),
    // Page loads. NerdGraph has them only for applications: browser metrics name no host.
    createWindowRow(scope, {
      suffix: 'end_user_response_time_seconds',
      meaning: 'Page load time in the browser',
      source: 'EndUser:average_response_time / 1000, absent without page views',
      ...browser,
      reads: [METRIC.endUser],
      calculate: ([views]) => averageTime(views),
    }),
    createWindowRow(scope, {
      suffix: 'end_user_page_views_per_second',
      meaning: 'Page views per second',
      source: 'EndUser:call_count / length of the window',
      ...browser,
      reads: [METRIC.endUser],
      calculate: ([{ count = NaN } = {}], { seconds }) => count / seconds,
    }),
    ...createApdexRows(
      scope,
      METRIC.endUserApdex,
      { prefix: 'end_user_', subject: ' of page loads', counted: 'Page loads', none: 'page views' },
      browser,
    ),
    createWindowRow(scope, {
      suffix: 'memory_used_bytes',
      ...MEMORY[scope],
      reads: [METRIC.memory],
    }),
    createWindowRow(scope, {
      suffix: 'cpu_usage_ratio',
      meaning: 'CPU time per wall clock time, above 1 with several processes',
      source: 'CPU/User Time:percent / 100',
      reads: [METRIC.cpu],
      calculate: ([{ sum = NaN } = {}], { seconds }) => sum / seconds,
    }),
  ];
}

/** All window families; see "Adding a window metric" in CONTRIBUTING.md. */
export const WINDOW_FAMILIES = { application: createRows('application'), host: createRows('host') };

/** Returns the metric names to request for an application or host, without names that the interface does not have. */
export function queryNames(
  datastores: readonly string[],
  scope: FamilyScope = 'application',
  api: Api = 'rest',
): string[] {
  const rows = WINDOW_FAMILIES[scope].filter(({ interfaces }) => interfaces.includes(api));
  return [...new Set([...rows.flatMap(({ reads }) => reads), ...datastores])];
}

/**
 * Returns the samples of an application or host, in base units. `database` is its database kind. While it is
 * undefined (unknown), there are no components and no total time.
 */
export function windowSamples(
  scope: FamilyScope,
  values: WindowValues,
  database: DatabaseChoice | undefined,
): Sample[] {
  // Metrics of the chosen database kind come first.
  const names = database && [...databaseMetrics(values, database), METRIC.memcache, METRIC.external];
  const components = names?.flatMap((name) => {
    const columns = values.metrics.get(name);
    return columns === undefined ? [] : [{ labels: { component: name.replace(/\/all(?:Web)?$/, '') }, columns }];
  });
  return calculateSamples(WINDOW_FAMILIES[scope], { ...values, components });
}
