import { METRIC } from '../../formulas/metricInputs.ts';
import { DAY_S, HOUR_S, MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { groupBy, sumBy } from '../grouping.ts';
import type { AskedAccount } from './askedAccount.ts';
import { checkEntityPages, checkGoldenValues, checkKeyTransactions, checkUserId } from './documentFacts.ts';
import { AGES, decide, leaveUndecided, observeWord, type Judged } from './evidence.ts';
import * as judge from './judges.ts';
import { PACK_FACTS } from './packFacts.ts';
import type { About, Fact, Row } from './queries.ts';
import { ask, attempt, compareLimits, probe, query, writeStatement } from './queries.ts';

/** The largest number that NerdGraph accepts. No account has it. */
const FOREIGN_ACCOUNT = 2_147_483_647;
const WINDOW = ['newrelic_application_*', 'newrelic_host_*'];
const REFERENCE = "New Relic's NRQL reference";
const ENTITIES = ['newrelic_<domain>_<type>_<metric> (entities)'];
const TIME_RANGES = "New Relic's page on time ranges has no figure";
const FAILURES = 'newrelic_exporter_api_failures_total';

/** Begin of a query for the calls of metrics, as column `c`. */
export const COUNT = 'SELECT count(newrelic.timeslice.value) AS c FROM Metric WHERE';
const LARGEST = `${COUNT} appId = {app} AND`;
const ALIVE = `metricTimesliceName = '${SIGN_OF_LIFE}'`;
const LARGEST_ALIVE = `${LARGEST} ${ALIVE} {time}`;
const ALL_METRICS = `${COUNT} appId IN ({apps}) FACET appId, host, metricTimesliceName {time} LIMIT MAX`;
const HAS_VALUE = 'appId = {app} AND newrelic.timeslice.value IS NOT NULL';
const FIVE_METRICS = `${COUNT} ${HAS_VALUE} FACET metricTimesliceName {time} LIMIT 5`;
const SUM = 'sum(newrelic.timeslice.value)';
const SUMS = `SELECT ${SUM} AS s FROM Metric WHERE ${HAS_VALUE} FACET metricTimesliceName`;
const BY_NAME = 'SELECT sum(duration) AS s, count(*) AS n FROM Transaction WHERE appId = {app} FACET name {time}';
/** Queries a metric of OpenTelemetry, whose points have counts. */
const COUNTS = 'SELECT count(*) AS c, datapointCount() AS n, count(http.server.requests) AS k';
const POINTS = `${COUNTS} FROM Metric WHERE http.server.requests IS NOT NULL {time}`;
const LIKES = [SIGN_OF_LIFE, METRIC.web].map((name) => `metricTimesliceName LIKE '${name.toLowerCase()}'`);
const LOWER_CASE = `${LARGEST} (${LIKES.join(' OR ')}) {time}`;
const BY_HOST = `${COUNT} appId IN ({apps}) AND host IS NOT NULL FACET appId, host {time} LIMIT MAX`;
const NAMES = 'SELECT uniques(metricTimesliceName, 10000) AS names FROM Metric WHERE appId = {app} {time}';
const PERCENTILE = 'SELECT count(*) AS n, percentile(duration, 75) AS p FROM Transaction WHERE appId = {app} {time}';
const HAS_DATA = `metricTimesliceName IN ('${SIGN_OF_LIFE}', '${METRIC.web}', '${METRIC.nonWeb}', '${METRIC.memory}')`;

/** Checks the window in the response to a range of `over` seconds: each end may move by at most `maxShift` seconds. */
function askRange(over: number, maxShift: number, row: About): Row {
  const check = async (account: AskedAccount): Promise<Judged> => {
    // The range ends at minute 27 of an hour: New Relic would cut the range to a step, and no step ends there.
    const delay = (account.to - 27 * MINUTE_S) % HOUR_S;
    return judge.judgeWindow(maxShift, await ask(account, LARGEST_ALIVE, over, delay));
  };
  return probe(LARGEST_ALIVE, check, row);
}

async function checkAppId(account: AskedAccount): Promise<Judged> {
  const hasData = async (id: string): Promise<boolean> => {
    const { rows } = await ask(account, `${COUNT} appId = ${id} AND ${HAS_DATA} {time}`);
    return rows.some((row) => judge.numberAt(row, 'c') > 0);
  };
  if (await hasData('{app}')) return decide(true, observeWord('shape', 'without quotes'));
  return (await hasData("'{app}'")) ? decide(false, observeWord('shape', 'in quotes')) : leaveUndecided('no traffic');
}

/** Checks that applications with data have the sign of life, for each language. */
async function checkSignOfLife(account: AskedAccount): Promise<Judged> {
  const alike = groupBy(account.reporting, ({ language = '' }) => language);
  const chosen = [...alike.values()].flatMap((applications) => applications.slice(0, 3));
  const ids = chosen.map(({ id }) => id).join(', ');
  const asked = `${COUNT} appId IN (${ids}) AND ${HAS_DATA} FACET appId, metricTimesliceName {time} LIMIT MAX`;
  const found = (await ask(account, asked)).rows.map(judge.facetsOf);
  const languagesOf = (rows: readonly (readonly string[])[]) =>
    new Set(chosen.filter(({ id }) => rows.some(([app]) => app === String(id))).map(({ language = '' }) => language));
  const [alive, sending] = [languagesOf(found), languagesOf(found.filter(([, metric]) => metric === SIGN_OF_LIFE))];
  const without = [...alive].filter((language) => !sending.has(language));
  if (alive.size === 0) return leaveUndecided('no traffic');
  const shown = without.length === 0 ? [...alive] : without;
  return decide(without.length === 0, ...shown.map((language) => observeWord('language', language)));
}

async function checkForeignAccount(account: AskedAccount): Promise<Judged> {
  const { text } = writeStatement(`${COUNT} appId = 1 AND ${ALIVE} {time}`, account, MINUTE_S);
  return judge.judgeRefusal('forbidden')(await account.tryQuery(text, FOREIGN_ACCOUNT));
}

async function checkTimeouts(account: AskedAccount): Promise<Judged> {
  const { text } = writeStatement(LARGEST_ALIVE, account);
  const shortest = judge.judgeAcceptance(await account.tryQuery(text, undefined, 5));
  if (shortest.verdict !== 'as assumed') return shortest;
  return judge.judgeAcceptance(await account.tryQuery(text, undefined, 30));
}

/** Reads the requests of one new minute repeatedly while its data arrives, for the largest application. */
async function watchLateMinute(account: AskedAccount): Promise<Judged> {
  const { now, sleep, waitMs, delayMs } = account;
  if (waitMs === 0) return leaveUndecided('needs --wait');
  const started = now();
  const end = Math.floor(started / MINUTE_MS) * MINUTE_MS;
  // The last reading counts as final, so it takes place at the end of the wait.
  const last = Math.floor((started + waitMs - end) / MINUTE_MS);
  const readings: (readonly [age: number, calls: number])[] = [];
  const nrql = `${LARGEST} metricTimesliceName = '${METRIC.web}' {time}`;
  for (const age of [...AGES.filter((each) => each < last), last]) {
    await sleep(Math.max(0, end + age * MINUTE_MS - now()), account.live.call.signal);
    const { rows } = await ask({ ...account, to: end / 1000 }, nrql, MINUTE_S);
    readings.push([age, sumBy(rows, (row) => judge.numberAt(row, 'c'))]);
  }
  return judge.judgeLate(readings, delayMs / MINUTE_MS);
}

/** All queries for an application depend on this fact: with a wrong form of its id they return nothing. */
export const APP_ID = 'nerdgraph_app_id';

const TABLE: Readonly<Record<string, Row>> = {
  [APP_ID]: probe('the largest application by its number, else by its number in quotes', checkAppId, {
    relies: 'appId in a condition is a number, without quotes (both forms stand in pages of New Relic)',
    wrong: WINDOW,
  }),
  nerdgraph_limit_max: query(ALL_METRICS, judge.limitMax, {
    relies: `LIMIT MAX gives 5,000 rows (${REFERENCE}; one public project was cut at 4,899)`,
    wrong: WINDOW,
  }),
  nerdgraph_facets: query(ALL_METRICS, judge.facets, {
    relies: 'the values of several facets are a list of texts, in the order of metadata.facets (a published body)',
    wrong: WINDOW,
  }),
  nerdgraph_other_result: query(FIVE_METRICS, judge.otherResult, {
    relies: `what a LIMIT leaves out is summed up in otherResult (${REFERENCE}; public code)`,
    wrong: [...WINDOW, 'queries'],
  }),
  nerdgraph_first_sum: compareLimits('by records', `${BY_NAME} LIMIT 1`, `${BY_NAME} LIMIT MAX`, {
    relies: `behind a first sum(), a LIMIT keeps the facets with the most records (${REFERENCE})`,
    wrong: ['queries'],
  }),
  nerdgraph_order_by: compareLimits('by sum', `${SUMS} ORDER BY ${SUM} {time} LIMIT 5`, `${SUMS} {time} LIMIT MAX`, {
    relies: `ORDER BY says which facets a LIMIT keeps (${REFERENCE})`,
    wrong: ['newrelic_transaction_*', 'queries'],
  }),
  nerdgraph_metric_count: query(POINTS, judge.countOfMetrics, {
    relies: "count(*) of Metric sums counts, datapointCount() counts points (New Relic's news of March 2025)",
    wrong: ENTITIES,
  }),
  nerdgraph_half_hour: askRange(HOUR_S / 2, 0, {
    relies: `a range of 30 minutes is answered to the minute (${TIME_RANGES})`,
    wrong: WINDOW,
  }),
  nerdgraph_hour: askRange(HOUR_S, 300, {
    relies: `a range of an hour is cut by at most 5 minutes (${TIME_RANGES})`,
    wrong: ['collection.window', 'queries', 'backfill'],
  }),
  nerdgraph_day: askRange(DAY_S, 600, {
    relies: `a range of a day is cut by at most 10 minutes (${TIME_RANGES})`,
    wrong: ['queries'],
  }),
  nerdgraph_timeout: probe(LARGEST_ALIVE, checkTimeouts, {
    relies: "the argument timeout takes 5 to 30 seconds (New Relic's client library)",
    wrong: ['limits.request_timeout'],
  }),
  nerdgraph_hosts: query(BY_HOST, judge.hosts, {
    over: HOUR_S,
    relies: "rows have as many hosts as apmSummary.hostCount (inferred from New Relic's page on timeslice data)",
    wrong: ['newrelic_host_*', 'newrelic_application_hosts'],
  }),
  nerdgraph_sign_of_life: probe('up to three applications of each language that have other data', checkSignOfLife, {
    relies: "agents of every language send Agent/MetricsReported/count (inferred from queries of New Relic's alerting)",
    wrong: ['newrelic_application_memory_used_bytes', ...WINDOW],
  }),
  nerdgraph_like: query(LOWER_CASE, judge.data, {
    relies: `LIKE ignores case (${REFERENCE})`,
    wrong: ['custom_metrics'],
  }),
  nerdgraph_in_list: attempt(`${COUNT} appId IN ({app}, '{app}') AND ${ALIVE} {time}`, judge.judgeAcceptance, {
    relies: 'a list of numbers and texts is legal in IN (inferred)',
    wrong: ENTITIES,
  }),
  nerdgraph_names: attempt(NAMES, judge.judgeAcceptance, {
    relies: `uniques() gives up to 10,000 metric names (${REFERENCE})`,
    wrong: ['custom_metrics'],
  }),
  nerdgraph_syntax_error: attempt(`${LARGEST} ${ALIVE} FACET`, judge.judgeRefusal('other'), {
    relies: "a syntax error is told from a failure of New Relic (New Relic's IDE extension: errorClass INVALID_INPUT)",
    wrong: [FAILURES, 'queries'],
  }),
  nerdgraph_foreign_account: probe(`account ${FOREIGN_ACCOUNT}, once`, checkForeignAccount, {
    relies: "an account that the key does not see is forbidden (New Relic's IDE extension: DataFetchingException)",
    wrong: [FAILURES],
  }),
  nerdgraph_percentile: query(PERCENTILE, judge.percentile, {
    over: HOUR_S,
    relies: 'percentile(x, 75) is an object with the key "75" or "75.0" (both were seen in public code)',
    wrong: ['newrelic_transaction_duration_seconds', 'newrelic_browser_*', 'queries'],
  }),
  nerdgraph_entity_page: probe('two pages of all entities of the account', checkEntityPages, {
    relies: "a page of entitySearch has 200 entities, and nextCursor leads to others (New Relic's command line)",
    wrong: ['newrelic_up', 'newrelic_application_*'],
  }),
  nerdgraph_key_transaction_id: probe('the first page of key transactions', checkKeyTransactions('tags'), {
    relies: "the tag keyTransactionId holds the number of a key transaction (New Relic's Terraform provider)",
    wrong: ['newrelic_key_transaction_*'],
  }),
  nerdgraph_application_guid: probe('the details of 25 key transactions', checkKeyTransactions('owners'), {
    relies: 'the guid of the owning application holds its id (inferred from published guids)',
    wrong: ['newrelic_key_transaction_*'],
  }),
  nerdgraph_user: probe('that document', checkUserId, {
    relies: "actor { user { id } } says whose key it is (New Relic's schema)",
    wrong: ['limits.max_concurrent_requests'],
  }),
  nerdgraph_golden_query: probe('one query for each of up to five types, those of APM first', checkGoldenValues, {
    relies: 'golden metrics of a type have all members, share a query, and have values (inferred from definitions)',
    wrong: ENTITIES,
  }),
  late_minutes: probe('with --wait: the calls of a minute 2, 3, 5 and 10 minutes after its end', watchLateMinute, {
    relies: "a minute is complete after collection.delay (New Relic's alerting waits for 2 minutes)",
    wrong: ['collection.delay', ...WINDOW],
  }),
};

export const FACTS: readonly Fact[] = Object.entries({ ...TABLE, ...PACK_FACTS }).map(([id, row]) => ({ id, ...row }));
