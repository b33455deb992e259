import { METRIC } from '../../formulas/metricInputs.ts';
import { DAY_S, HOUR_S, MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { sumOf } from '../grouping.ts';
import type { AskedAccount } from './askedAccount.ts';
import * as documents from './documentFacts.ts';
import { AGES, holds, undecided, word, type Judged } from './evidence.ts';
import * as judge from './judges.ts';
import { facetsOf, numberAt } from './judges.ts';
import { PACK_FACTS } from './packFacts.ts';
import { ask, attempt, keeps, query, written, type Fact } from './queries.ts';

/** An account that cannot exist: the largest number that NerdGraph accepts. */
const FOREIGN_ACCOUNT = 2_147_483_647;
const WINDOW = ['newrelic_application_*', 'newrelic_host_*'];
const REFERENCE = "New Relic's NRQL reference";
const KEY_TRANSACTIONS = ['newrelic_key_transaction_*'];
const ENTITIES = ['newrelic_<domain>_<type>_<metric> (entities)'];
const FAILURES = 'newrelic_exporter_api_failures_total';

/** The calls of metrics, as the column `c`. */
export const COUNT = 'SELECT count(newrelic.timeslice.value) AS c FROM Metric WHERE';
const OF_LARGEST = `${COUNT} appId = {app} AND`;
const ALIVE = `metricTimesliceName = '${SIGN_OF_LIFE}'`;
const ALIVE_OF_LARGEST = `${OF_LARGEST} ${ALIVE} {time}`;
const ALL_METRICS = `${COUNT} appId IN ({apps}) FACET appId, host, metricTimesliceName {time} LIMIT MAX`;
const SUM = 'sum(newrelic.timeslice.value)';
const HAS_VALUE = 'appId = {app} AND newrelic.timeslice.value IS NOT NULL';
const SUMS = `SELECT ${SUM} AS s FROM Metric WHERE ${HAS_VALUE} FACET metricTimesliceName`;
const BY_NAME = 'SELECT sum(duration) AS s, count(*) AS n FROM Transaction WHERE appId = {app} FACET name {time}';
/** A metric of OpenTelemetry, which has a count of its own. */
const REQUESTS = 'http.server.requests';
/** Metrics that show that an application has data. */
const SIGNS = `metricTimesliceName IN ('${SIGN_OF_LIFE}', '${METRIC.web}', '${METRIC.nonWeb}', '${METRIC.memory}')`;

/** The minute of an hour at which a range ends, which is on none of the steps to which New Relic may cut it. */
const OFF_MINUTE = 27;

/** The fact that a range, in seconds, is answered with a window of which each end moved by at most `maxShift` seconds. */
const answered = (relies: string, wrong: readonly string[], over: number, maxShift: number) => ({
  relies,
  source: "New Relic's page on time ranges has no figure",
  wrong,
  asked: ALIVE_OF_LARGEST,
  check: async (account: AskedAccount) => {
    const delay = (account.to - OFF_MINUTE * MINUTE_S) % HOUR_S;
    return judge.windowOf(maxShift, await ask(account, ALIVE_OF_LARGEST, over, delay));
  },
});

async function appId(account: AskedAccount): Promise<Judged> {
  const hasData = async (id: string): Promise<boolean> =>
    (await ask(account, `${COUNT} appId = ${id} AND ${SIGNS} {time}`)).rows.some((row) => numberAt(row, 'c') > 0);
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
  const found = (await ask(account, asked)).rows.map(facetsOf);
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
  for (const age of [...AGES.filter((each) => each < last), last]) {
    await sleep(Math.max(0, end + age * MINUTE_MS - now()), account.live.call.signal);
    const { rows } = await ask({ ...account, to: end / 1000 }, nrql, MINUTE_S);
    readings.push([age, sumOf(rows, (row) => numberAt(row, 'c'))]);
  }
  return judge.judgeLate(readings, delayMs / MINUTE_MS);
}

/** The fact that all queries of an application's metrics need: a wrong form of its id would leave them empty. */
export const APP_ID = 'nerdgraph_app_id';

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
    ...query(`${COUNT} ${HAS_VALUE} FACET metricTimesliceName {time} LIMIT 5`, judge.otherResult),
  },
  nerdgraph_first_sum: {
    relies: 'behind a first sum(), a LIMIT keeps the facets with the most records, not with the greatest sums',
    source: REFERENCE,
    wrong: ['queries'],
    ...keeps('by records', `${BY_NAME} LIMIT 1`, `${BY_NAME} LIMIT MAX`),
  },
  nerdgraph_order_by: {
    relies: 'ORDER BY says which facets a LIMIT keeps',
    source: REFERENCE,
    wrong: ['newrelic_transaction_*', 'queries'],
    ...keeps('by sum', `${SUMS} ORDER BY ${SUM} {time} LIMIT 5`, `${SUMS} {time} LIMIT MAX`),
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
  nerdgraph_half_hour: answered('a range of 30 minutes is answered to the minute', WINDOW, HOUR_S / 2, 0),
  nerdgraph_hour: answered(
    'a range of an hour is cut by at most 5 minutes',
    ['collection.window', 'queries', 'backfill'],
    HOUR_S,
    300,
  ),
  nerdgraph_day: answered('a range of a day is cut by at most 10 minutes', ['queries'], DAY_S, 600),
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
    ...query(`${COUNT} appId IN ({apps}) AND host IS NOT NULL FACET appId, host {time} LIMIT MAX`, judge.hosts, HOUR_S),
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
  nerdgraph_names: {
    relies: 'uniques() gives up to 10,000 metric names',
    source: REFERENCE,
    wrong: ['custom_metrics'],
    ...attempt('SELECT uniques(metricTimesliceName, 10000) AS names FROM Metric WHERE appId = {app} {time}'),
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
      const { text } = written(`${COUNT} appId = 1 AND ${ALIVE} {time}`, account, MINUTE_S);
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
      HOUR_S,
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
    wrong: KEY_TRANSACTIONS,
    asked: 'the first page of key transactions',
    check: documents.keyTransactionIds,
  },
  nerdgraph_application_guid: {
    relies: 'the guid of the owning application holds its id',
    source: 'inferred from published guids',
    wrong: KEY_TRANSACTIONS,
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
  nerdgraph_golden_query: {
    relies: 'the golden metrics of a type have select, from and eventId, are read by one query, and have values',
    source: 'inferred from the definitions; timeslice data do not mix with others',
    wrong: ENTITIES,
    asked: 'a query for three entities that report of each of up to five types, those of APM first',
    check: documents.goldenValues,
  },
  late_minutes: {
    relies: 'a minute is complete after collection.delay',
    source: "New Relic's alerting waits for 2 minutes",
    wrong: ['collection.delay', ...WINDOW],
    asked: 'with --wait: the calls of a minute 2, 3, 5 and 10 minutes after its end',
    check: lateMinutes,
  },
};

/** All facts, in the order of the output. */
export const FACTS: readonly Fact[] = Object.entries({ ...TABLE, ...PACK_FACTS }).map(([id, fact]) => ({
  id,
  ...fact,
}));
