import type { Json } from '../../api/http/validation.ts';
import { rowsOf } from '../../api/nerdgraph/nrql.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { DAY_S, HOUR_S, MINUTE_MS } from '../../formulas/units.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { sumOf } from '../grouping.ts';
import type { AskedAccount } from './askedAccount.ts';
import * as documents from './documentFacts.ts';
import { AGES, holds, undecided, word, type Judged } from './evidence.ts';
import * as judge from './judges.ts';
import { facetsOf, numberAt, objectsIn, type Answer } from './judges.ts';
import { PACK_EVENTS, packQuery, type PackEvents } from './packFacts.ts';

/** A statement about New Relic that the exporter relies on and no document settles, and how an account is asked. */
export interface Fact {
  readonly id: string;
  readonly relies: string;
  readonly source: string;
  /** The parts of the exporter that are wrong when the fact differs: families (`*`: any part of a name), or settings. */
  readonly wrong: readonly string[];
  /** The query, or how the account is asked where it takes more than one. */
  readonly asked: string;
  /** The fields that a pack reads. */
  readonly fields?: readonly string[];
  /** Rejects with an UpstreamError, or with CallsSpent. */
  readonly check: (account: AskedAccount) => Promise<Judged>;
}

interface QueryOptions {
  /** The length of the range in seconds; ten minutes by default. */
  readonly over?: number | undefined;
  /** Seconds by which the range ends before the newest complete minute. */
  readonly delay?: number | undefined;
  /** The range ends at a minute that is on none of the steps to which New Relic may cut a range. */
  readonly isOffStep?: boolean;
  /** What to say of a query in place of its text. */
  readonly asked?: string;
}

const OFF_MINUTE = 27;

/** The statement of a query, about the account's applications, and its range. */
function written(nrql: string, { largest, to }: Pick<AskedAccount, 'largest' | 'to'>, options: QueryOptions = {}) {
  const { over = 600, delay = 0, isOffStep = false } = options;
  const end = isOffStep ? to - ((to - OFF_MINUTE * 60) % HOUR_S) : to - delay;
  const text = nrql
    .replaceAll('{app}', String(largest[0]?.id))
    .replaceAll('{apps}', largest.map(({ id }) => id).join(', '))
    .replaceAll('{time}', `SINCE ${(end - over) * 1000} UNTIL ${end * 1000}`);
  return { text, range: { from: end - over, to: end } };
}

async function ask(account: AskedAccount, nrql: string, options?: QueryOptions): Promise<Answer> {
  const { text, range } = written(nrql, account, options);
  const result = await account.result(text);
  const { window } = rowsOf(result);
  return { result, rows: objectsIn(result['results']), window, range, largest: account.largest };
}

/** The rows of a query over the last ten minutes. */
export async function rowsFor(account: Pick<AskedAccount, 'result' | 'largest' | 'to'>, nrql: string) {
  return objectsIn((await account.result(written(nrql, account).text))['results']);
}

/** A fact that the result of one query decides. */
const query = (nrql: string, judged: (answer: Answer) => Judged, options: QueryOptions = {}) => ({
  asked: nrql,
  check: async (account: AskedAccount) => judged(await ask(account, nrql, options)),
});

/** A fact that is about whether New Relic accepts a query. */
const attempt = (nrql: string, judged: (end: NrqlEnd) => Judged = judge.accepted, options: QueryOptions = {}) => ({
  asked: options.asked ?? nrql,
  check: async (account: AskedAccount) => judged(await account.tryQuery(written(nrql, account, options).text)),
});

/** A metric name that no agent sends. */
const NO_METRIC = 'Exporter/Facts/NoSuchMetric';
/** An account that cannot exist: the largest number that NerdGraph accepts. */
const FOREIGN_ACCOUNT = 2_147_483_647;
const WINDOW = ['newrelic_application_*', 'newrelic_host_*'];
const LONG_RANGES = ['collection.window', 'queries', 'backfill'];
const REFERENCE = "New Relic's NRQL reference";
const TIME_RANGES = "New Relic's page on time ranges has no figure";
const ENTITIES = ['newrelic_<domain>_<type>_<metric> (entities)'];
const FAILURES = 'newrelic_exporter_api_failures_total';

/** The calls of metrics, as the column `c`. */
export const COUNT = 'SELECT count(newrelic.timeslice.value) AS c FROM Metric WHERE';
const OF_LARGEST = `${COUNT} appId = {app} AND`;
const ALIVE = `metricTimesliceName = '${SIGN_OF_LIFE}'`;
const ALIVE_OF_LARGEST = `${OF_LARGEST} ${ALIVE} {time}`;
const ALL_METRICS = `${COUNT} appId IN ({apps}) FACET appId, host, metricTimesliceName {time} LIMIT MAX`;
const FIVE_METRICS = `${OF_LARGEST} newrelic.timeslice.value IS NOT NULL FACET metricTimesliceName {time} LIMIT 5`;
const BY_TRANSACTION =
  'SELECT sum(duration) AS s, count(*) AS n FROM Transaction WHERE appId = {app} FACET name {time}';
const TIMES = 'sum(newrelic.timeslice.value)';
const TIMES_BY_METRIC = `SELECT ${TIMES} AS s FROM Metric WHERE appId = {app} AND newrelic.timeslice.value IS NOT NULL FACET metricTimesliceName`;
/** A metric of OpenTelemetry, which has a count of its own. */
const REQUESTS = 'http.server.requests';
/** Metrics that show that an application has data. */
const SIGNS = `metricTimesliceName IN ('${SIGN_OF_LIFE}', '${METRIC.web}', '${METRIC.nonWeb}', '${METRIC.memory}')`;
/** Sums over a whole application: none of their rows should have a scope, which is a single transaction. */
const SUMS = [METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex, METRIC.memory, METRIC.cpu];
/** Names that fill a query to the length of the longest one that the exporter writes. */
const MANY_NAMES = Array.from({ length: 220 }, (_, index) => `${NO_METRIC}/${index}`);

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

const isAnsweredOver = (over: number, maxShift: number) =>
  query(ALIVE_OF_LARGEST, (answer) => judge.windowOf(maxShift, answer), { over, isOffStep: true });

async function appId(account: AskedAccount): Promise<Judged> {
  const hasData = async (id: string): Promise<boolean> =>
    (await rowsFor(account, `${COUNT} appId = ${id} AND ${SIGNS} {time}`)).some((row) => numberAt(row, 'c') > 0);
  if (await hasData('{app}')) return holds(true, word('shape', 'without quotes'));
  return (await hasData("'{app}'")) ? holds(false, word('shape', 'in quotes')) : undecided('no traffic');
}

/** Decides whether applications of each language have the sign of life, where they have any data. */
async function signOfLife(account: AskedAccount): Promise<Judged> {
  const languages = new Map<string, Set<number>>();
  const reporting = account.listed.filter(({ reporting: reports }) => reports !== false);
  for (const { id, language = '' } of [...account.largest, ...reporting]) {
    const chosen = languages.get(language) ?? new Set();
    if (chosen.size < 3) languages.set(language, chosen.add(id));
  }
  const ids = [...languages.values()].flatMap((chosen) => [...chosen]).join(', ');
  const asked = `${COUNT} appId IN (${ids}) AND ${SIGNS} FACET appId, metricTimesliceName {time} LIMIT MAX`;
  const found = (await rowsFor(account, asked)).map(facetsOf);
  const isFound = (chosen: ReadonlySet<number>, name?: string): boolean =>
    found.some(([id, metric]) => chosen.has(Number(id)) && (name === undefined || name === metric));
  const alive = [...languages].filter(([, chosen]) => isFound(chosen));
  const without = alive.filter(([, chosen]) => !isFound(chosen, SIGN_OF_LIFE));
  if (alive.length === 0) return undecided('no traffic');
  const shown = without.length === 0 ? alive : without;
  return holds(without.length === 0, ...shown.map(([language]) => word('language', language)));
}

async function timeouts(account: AskedAccount): Promise<Judged> {
  const { text } = written(ALIVE_OF_LARGEST, account);
  const shortest = judge.accepted(await account.tryQuery(text, undefined, 5));
  return shortest.verdict === 'as assumed' ? judge.accepted(await account.tryQuery(text, undefined, 30)) : shortest;
}

/** Reads how many requests the largest application had in one minute, repeatedly while the data of that minute arrives. */
async function lateMinutes(account: AskedAccount): Promise<Judged> {
  const { now, sleep, waitMs, delayMs } = account.timing;
  if (waitMs === 0) return undecided('needs --wait');
  const started = now();
  const end = Math.floor(started / MINUTE_MS) * MINUTE_MS;
  // The last reading counts as final, so it is at the end of the wait.
  const last = Math.floor((started + waitMs - end) / MINUTE_MS);
  const readings: (readonly [age: number, calls: number])[] = [];
  const nrql = `${OF_LARGEST} metricTimesliceName = '${METRIC.web}' {time}`;
  const { text } = written(nrql, { largest: account.largest, to: end / 1000 }, { over: 60 });
  for (const age of [...AGES.filter((each) => each < last), last]) {
    await sleep(Math.max(0, end + age * MINUTE_MS - now()), account.live.call.signal);
    const rows: readonly Json[] = objectsIn((await account.freshResult(text))['results']);
    readings.push([age, sumOf(rows, (row) => numberAt(row, 'c'))]);
  }
  return judge.judgeLate(readings, delayMs / MINUTE_MS);
}

/** The fact that all queries of an application's metrics need: a wrong form of its id would leave them empty. */
export const APP_ID = 'nerdgraph_app_id';
/** The fact that `--wait` decides. */
export const LATE_MINUTES = 'late_minutes';

/** The facts but those of packs, by id. */
const TABLE: Readonly<Record<string, Omit<Fact, 'id'>>> = {
  [APP_ID]: {
    relies: 'appId in a condition is a number, without quotes',
    source: 'both forms stand in pages of New Relic',
    wrong: WINDOW,
    asked: 'the largest application by its number, and by its number in quotes where that finds nothing',
    check: appId,
  },
  nerdgraph_limit_max: {
    relies: 'LIMIT MAX gives 5,000 rows',
    source: `${REFERENCE}; one public project was cut at 4,899`,
    wrong: WINDOW,
    ...query(ALL_METRICS, judge.limitMax),
  },
  nerdgraph_facets: {
    relies: 'the values of several facets are a list of texts, in the order of metadata.facets',
    source: 'a published body',
    wrong: WINDOW,
    ...query(ALL_METRICS, judge.facets),
  },
  nerdgraph_other_result: {
    relies: 'what a LIMIT leaves out is summed up in otherResult',
    source: `${REFERENCE}; public code`,
    wrong: [...WINDOW, 'queries'],
    ...query(FIVE_METRICS, judge.otherResult),
  },
  nerdgraph_first_function: {
    relies: 'a LIMIT keeps the facets with the most of a first count()',
    source: REFERENCE,
    wrong: ['queries'],
    ...query(FIVE_METRICS, judge.order),
  },
  nerdgraph_first_sum: {
    relies: 'behind a first sum(), a LIMIT keeps the facets with the most records, not with the greatest sums',
    source: REFERENCE,
    wrong: ['queries'],
    asked: `${BY_TRANSACTION} LIMIT 1`,
    check: async (account) => {
      const asked = [`${BY_TRANSACTION} LIMIT 1`, `${BY_TRANSACTION} LIMIT MAX`] as const;
      return judge.keptBy('by records', await ask(account, asked[0]), await ask(account, asked[1]));
    },
  },
  nerdgraph_order_by: {
    relies: 'ORDER BY says which facets a LIMIT keeps',
    source: REFERENCE,
    wrong: ['newrelic_transaction_*', 'queries'],
    asked: `${TIMES_BY_METRIC} ORDER BY ${TIMES} {time} LIMIT 5`,
    check: async (account) => {
      const few = await ask(account, `${TIMES_BY_METRIC} ORDER BY ${TIMES} {time} LIMIT 5`);
      return judge.keptBy('by sum', few, await ask(account, `${TIMES_BY_METRIC} {time} LIMIT MAX`));
    },
  },
  nerdgraph_metric_count: {
    relies: 'count(*) of Metric sums the counts of the metrics, and datapointCount() counts their points',
    source: "New Relic's news of March 2025",
    wrong: ENTITIES,
    ...query(
      `SELECT count(*) AS c, datapointCount() AS n, count(${REQUESTS}) AS k FROM Metric WHERE ${REQUESTS} IS NOT NULL {time}`,
      judge.countOfMetrics,
    ),
  },
  nerdgraph_no_row: {
    relies: 'a metric without data has no row',
    source: 'inferred',
    wrong: ['newrelic_*_component_time_seconds', 'newrelic_*_apdex_requests'],
    ...query(
      `${OF_LARGEST} metricTimesliceName IN (${quoted([METRIC.web, SIGN_OF_LIFE, NO_METRIC])}) FACET metricTimesliceName {time} LIMIT MAX`,
      (answer) => judge.noRow(NO_METRIC, answer),
    ),
  },
  nerdgraph_half_hour: {
    relies: 'a range of 30 minutes is answered to the minute',
    source: TIME_RANGES,
    wrong: WINDOW,
    ...isAnsweredOver(HOUR_S / 2, 0),
  },
  nerdgraph_hour: {
    relies: 'a range of an hour is cut by at most 5 minutes',
    source: TIME_RANGES,
    wrong: LONG_RANGES,
    ...isAnsweredOver(HOUR_S, 300),
  },
  nerdgraph_day: {
    relies: 'a range of a day is cut by at most 10 minutes',
    source: TIME_RANGES,
    wrong: ['queries'],
    ...isAnsweredOver(DAY_S, 600),
  },
  nerdgraph_timeout: {
    relies: 'the argument timeout takes 5 to 30 seconds',
    source: "New Relic's client library",
    wrong: ['limits.request_timeout'],
    asked: ALIVE_OF_LARGEST,
    check: timeouts,
  },
  nerdgraph_hosts: {
    relies: 'rows of an application have its hosts, as many as apmSummary.hostCount',
    source: "New Relic's page on timeslice data; the equality is inferred",
    wrong: ['newrelic_host_*', 'newrelic_application_hosts'],
    ...query(`${COUNT} appId IN ({apps}) AND host IS NOT NULL FACET appId, host {time} LIMIT MAX`, judge.hosts, {
      over: HOUR_S,
    }),
  },
  nerdgraph_host_query: {
    relies: "sum of value['totalExclusive'] by application, host and metric is legal",
    source: 'each part is documented, the whole was never seen',
    wrong: ['newrelic_host_*'],
    ...attempt(
      `SELECT sum(newrelic.timeslice.value['totalExclusive']) AS e FROM Metric WHERE appId = {app} AND ${ALIVE} FACET appId, host, metricTimesliceName {time} LIMIT MAX`,
    ),
  },
  nerdgraph_sign_of_life: {
    relies: 'agents of every language send Agent/MetricsReported/count',
    source: "queries that New Relic's alerting generates; every language is inferred",
    wrong: ['newrelic_application_memory_used_bytes', ...WINDOW],
    asked: 'up to three applications of each language that have other data',
    check: signOfLife,
  },
  nerdgraph_like: {
    relies: 'LIKE ignores case',
    source: REFERENCE,
    wrong: ['custom_metrics'],
    ...query(
      `${OF_LARGEST} (metricTimesliceName LIKE '${SIGN_OF_LIFE.toLowerCase()}' OR metricTimesliceName LIKE '${METRIC.web.toLowerCase()}') {time}`,
      judge.data,
    ),
  },
  nerdgraph_in_list: {
    relies: 'a list of numbers and texts is legal in IN',
    source: 'inferred',
    wrong: ENTITIES,
    ...attempt(`${COUNT} appId IN ({app}, '{app}') AND ${ALIVE} {time}`),
  },
  nerdgraph_unmatched: {
    relies: 'an application without data does not spoil a query of several',
    source: "New Relic's page on chart errors does not say; queries are halved where it does",
    wrong: ['the calls that plan counts for application_metrics'],
    ...attempt(`${COUNT} appId IN ({app}, 1) AND ${ALIVE} FACET appId {time} LIMIT MAX`),
  },
  nerdgraph_query_length: {
    relies: 'a query may have 8,000 characters',
    source: 'inferred: a limit exists, its figure is not documented',
    wrong: WINDOW,
    ...attempt(`${OF_LARGEST} metricTimesliceName IN (${quoted([METRIC.web, ...MANY_NAMES])}) {time}`, undefined, {
      asked: 'a query of that length, made of metric names',
    }),
  },
  nerdgraph_names: {
    relies: 'uniques() gives up to 10,000 metric names',
    source: REFERENCE,
    wrong: ['custom_metrics'],
    ...attempt(
      'SELECT uniques(metricTimesliceName, 10000) AS names FROM Metric WHERE appId = {app} {time}',
      undefined,
      { over: DAY_S },
    ),
  },
  nerdgraph_rollup_scope: {
    relies: 'sums such as HttpDispatcher are not stored again for single transactions',
    source: 'inferred',
    wrong: WINDOW,
    ...query(
      `${OF_LARGEST} metricTimesliceName IN (${quoted(SUMS)}) AND scope IS NOT NULL FACET metricTimesliceName {time} LIMIT MAX`,
      judge.noData,
    ),
  },
  nerdgraph_series: {
    relies: 'TIMESERIES 1 minute gives whole minutes',
    source: "New Relic's page on time ranges",
    wrong: ['counters', 'backfill'],
    ...query(`${OF_LARGEST} metricTimesliceName = '${METRIC.web}' {time} TIMESERIES 1 minute`, judge.wholeMinutes),
  },
  nerdgraph_syntax_error: {
    relies: 'a syntax error is told from a failure of New Relic',
    source: "New Relic's IDE extension: errorClass INVALID_INPUT",
    wrong: [FAILURES, 'queries'],
    ...attempt(`${OF_LARGEST} metricTimesliceName = '${METRIC.web}' FACET`, (end) => judge.refusedAs('other', end)),
  },
  nerdgraph_foreign_account: {
    relies: 'an account that the key does not see is told as forbidden',
    source: "New Relic's IDE extension: SERVER_ERROR with DataFetchingException",
    wrong: [FAILURES],
    asked: `account ${FOREIGN_ACCOUNT}, once`,
    check: async (account) => {
      const { text } = written(`${COUNT} appId = 1 AND ${ALIVE} {time}`, account, { over: 60 });
      return judge.refusedAs('forbidden', await account.tryQuery(text, FOREIGN_ACCOUNT));
    },
  },
  nerdgraph_percentile: {
    relies: 'percentile(x, 75) is an object with the key "75" or "75.0"',
    source: 'both were seen in public code',
    wrong: ['newrelic_transaction_duration_seconds', 'newrelic_browser_*', 'queries'],
    ...query(
      'SELECT count(*) AS n, percentile(duration, 75) AS p FROM Transaction WHERE appId = {app} {time}',
      judge.percentile,
      { over: HOUR_S },
    ),
  },
  nerdgraph_entity_page: {
    relies: 'a page of entitySearch has 200 entities, and nextCursor leads to others',
    source: "New Relic's client library and command line",
    wrong: ['newrelic_up', 'newrelic_application_*'],
    asked: 'two pages of all entities of the account',
    check: documents.entityPage,
  },
  nerdgraph_key_transaction_id: {
    relies: 'the tag keyTransactionId holds the number of a key transaction',
    source: "New Relic's Terraform provider",
    wrong: ['newrelic_key_transaction_*'],
    asked: 'the first page of key transactions',
    check: documents.keyTransactionIds,
  },
  nerdgraph_application_guid: {
    relies: 'the guid of the owning application holds its id',
    source: 'inferred from published guids',
    wrong: ['newrelic_key_transaction_*'],
    asked: 'the details of 25 key transactions',
    check: documents.ownerGuids,
  },
  nerdgraph_user: {
    relies: 'actor { user { id } } says whose key it is',
    source: "New Relic's schema",
    wrong: ['limits.max_concurrent_requests'],
    asked: 'that document',
    check: documents.userId,
  },
  nerdgraph_golden_metrics: {
    relies: 'an entity lists its golden metrics with select, from, where, eventId and eventObjectId',
    source: "New Relic's schema; that they are filled is inferred",
    wrong: ENTITIES,
    asked: 'three entities that report of each of up to five types, those of APM first',
    check: documents.goldenDefinitions,
  },
  nerdgraph_golden_query: {
    relies: 'the golden metrics of a type are read by one query, and have values',
    source: 'inferred from the definitions; timeslice data do not mix with others',
    wrong: ENTITIES,
    asked: 'a query of the golden metrics of the same entities for each type',
    check: documents.goldenValues,
  },
  [LATE_MINUTES]: {
    relies: 'a minute is complete after collection.delay',
    source: "New Relic's alerting waits for 2 minutes",
    wrong: ['collection.delay', ...WINDOW],
    asked: 'with --wait: the calls of a minute 2, 3, 5 and 10 minutes after its end',
    check: lateMinutes,
  },
};

/** What a pack reads as a fact. */
function packFact(events: PackEvents): Fact {
  const { id, source, wrong, from, fields, minEvents = 10, over = HOUR_S, delay } = events;
  const types = from.replace(/, (?=\w+$)/, ' and ');
  const relies = `${types} ${from.includes(',') ? 'have' : 'has'} ${fields.map((field) => `\`${field}\``).join(', ')}`;
  const counted = query(packQuery(events), (answer) => judge.fieldsOf(fields, minEvents, answer), { over, delay });
  return { id, source, wrong, fields, relies, ...counted };
}

/** All facts, in the order of the output. */
export const FACTS: readonly Fact[] = [
  ...Object.entries(TABLE).map(([id, fact]) => ({ id, ...fact })),
  ...PACK_EVENTS.map(packFact),
];
