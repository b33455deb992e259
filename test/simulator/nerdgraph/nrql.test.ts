import { describe, expect, it } from 'vitest';
import type { Row } from './client.ts';
import { ask, nrql, V, TO } from './client.ts';
import { simulatorOfFile, simulatorOfTest, NOW, MINUTE } from '../client.ts';

const FROM = TO - 5 * MINUTE;
const TIME = `SINCE ${FROM} UNTIL ${TO}`;
const COLUMNS = `count(${V}) AS c, sum(${V}) AS t, sum(${V}['totalExclusive']) AS x, min(${V}) AS mn, max(${V}) AS mx`;
const STOREFRONT = 1_000_001;

const simulator = await simulatorOfFile({ applications: 32 });

const query = (text: string) => nrql(simulator, text);
const rows = async (text: string): Promise<readonly Row[]> => (await query(text)).results;
const names = async (condition: string): Promise<unknown[]> => {
  const found = await rows(
    `SELECT count(${V}) AS c FROM Metric WHERE ${condition} FACET metricTimesliceName ${TIME} LIMIT MAX`,
  );
  return found.map(({ facet }) => facet).sort();
};

describe('the rows of an NRQL query', () => {
  it('have one facet as a text and under its name, several facets as a list of texts, also numbers', async () => {
    const condition = `WHERE appId = ${STOREFRONT} AND metricTimesliceName = 'HttpDispatcher'`;
    const [one] = await rows(`SELECT count(${V}) FROM Metric ${condition} FACET appId ${TIME}`);
    expect(one).toEqual({ facet: '1000001', appId: '1000001', count: expect.any(Number) as number });
    const { results, metadata } = await query(`SELECT count(${V}) FROM Metric ${condition} FACET appId, host ${TIME}`);
    expect(results.map(({ facet }) => facet).sort()).toEqual([
      ['1000001', 'storefront-1-01'],
      ['1000001', 'storefront-1-02'],
    ]);
    expect(Object.keys(results[0]!).sort()).toEqual(['appIdhost', 'count', 'facet']);
    expect(results[0]!['appIdhost']).toEqual(results[0]!['facet']);
    expect(metadata).toEqual({
      facets: ['appId', 'host'],
      messages: [],
      timeWindow: { begin: FROM, end: TO, since: String(FROM), until: String(TO) },
    });
  });

  it('are the ten largest by the first function without a LIMIT, and otherResult has the remaining rows', async () => {
    const text = (order: string, limit: string) =>
      `SELECT ${order} FROM Metric WHERE appName LIKE '%' AND metricTimesliceName = 'HttpDispatcher' FACET appId ${TIME} ${limit}`;
    const all = await query(text(`count(${V}) AS c, max(${V}) AS mx`, 'LIMIT MAX'));
    const ten = await query(text(`count(${V}) AS c, max(${V}) AS mx`, ''));
    expect(all.results.length).toBeGreaterThan(20);
    expect(ten.results).toEqual(all.results.slice(0, 10));
    const counts = all.results.map(({ c }) => c as number);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    expect(all.otherResult).toEqual({ c: 0, mx: null });
    expect(ten.otherResult).toMatchObject({ c: sum(counts.slice(10)) });
    expect(ten.totalResult).toEqual(all.totalResult);
    expect(ten.totalResult).toMatchObject({ c: sum(counts) });
  });

  it('are a single row without FACET, with null in otherResult and totalResult', async () => {
    const found = await query(`SELECT count(${V}), average(${V}) AS a FROM Metric WHERE appId = 1000013 ${TIME}`);
    expect(found).toMatchObject({ results: [{ count: 0, a: null }], otherResult: null, totalResult: null });
    expect(found.metadata.facets).toBeNull();
  });

  it('cover unscoped and scoped records of a custom metric, unless the query names the scope', async () => {
    const custom = `appId = ${STOREFRONT} AND metricTimesliceName = 'Custom/Queue/mail/depth'`;
    const text = (condition: string) =>
      `SELECT count(${V}) AS c, sum(${V}) AS t FROM Metric WHERE ${condition} ${TIME}`;
    const [both] = await rows(text(custom));
    const [unscoped] = await rows(text(`${custom} AND scope IS NULL`));
    const [scoped] = await rows(text(`${custom} AND scope = 'WebTransaction/Controller/catalog/show'`));
    expect(unscoped!['c']).toBe(5 * 8);
    expect(both!['c']).toBe((unscoped!['c'] as number) + (scoped!['c'] as number));
    expect(both!['t']).toBeCloseTo(2 * (unscoped!['t'] as number), 6);
  });

  it('count memory several times a minute, and each agent once', async () => {
    const found = await rows(
      `SELECT ${COLUMNS} FROM Metric WHERE appId IN (1000001, 1000008) AND
       metricTimesliceName IN ('Memory/Physical', 'Agent/MetricsReported/count') FACET appId, metricTimesliceName ${TIME}`,
    );
    const count = (app: string, name: string) =>
      found.find(({ facet }) => JSON.stringify(facet) === JSON.stringify([app, name]))?.['c'];
    expect(count('1000001', 'Agent/MetricsReported/count')).toBe(5 * 8);
    expect(count('1000001', 'Memory/Physical')).toBe(4 * 5 * 8);
    expect(count('1000008', 'Memory/Physical')).toBe(12 * 5 * 4);
  });

  it('of browser metrics have no host', async () => {
    const browser = `appId = ${STOREFRONT} AND metricTimesliceName LIKE 'EndUser%'`;
    expect(await names(browser)).toContain('EndUser/Apdex');
    expect(await names(`${browser} AND host IS NOT NULL`)).toEqual([]);
    expect(await rows(`SELECT count(${V}) FROM Metric WHERE ${browser} FACET host ${TIME}`)).toEqual([]);
    const other = `appId = ${STOREFRONT} AND metricTimesliceName = 'Apdex'`;
    expect(await names(`${other} AND host IS NOT NULL`)).toEqual(['Apdex']);
  });

  // Values, silence, and hosts that share a name: test/e2e/values.test.ts.
  it('exist with a count of 0 where no request was satisfied', async () => {
    const slow = await simulatorOfTest();
    const traffic = { requests_per_minute: 16, response_milliseconds: 60_000, errors_per_minute: 16 };
    slow.change(STOREFRONT, { traffic });
    const where = `appId = ${STOREFRONT} AND metricTimesliceName = 'Apdex'`;
    const { results } = await nrql(slow, `SELECT ${COLUMNS} FROM Metric WHERE ${where} FACET appId ${TIME}`);
    expect(results).toEqual([{ facet: '1000001', appId: '1000001', c: 0, t: 0, x: 80, mn: 0.5, mx: 0.5 }]);
  });

  it('cover records from SINCE until before UNTIL', async () => {
    const text = (since: number, until: number) =>
      `SELECT count(${V}) AS c FROM Metric WHERE appId = ${STOREFRONT} AND metricTimesliceName = 'Agent/MetricsReported/count' SINCE ${since} UNTIL ${until}`;
    const count = async (since: number, until: number) => (await rows(text(since, until)))[0]!['c'];
    expect(await count(FROM, FROM + MINUTE)).toBe(8);
    expect(await count(FROM + 1, FROM + MINUTE)).toBe(0);
    expect(await count(FROM, FROM + MINUTE + 1)).toBe(16);
  });

  it('cover entities with the attribute of the first function, so not key transactions without errors', async () => {
    const text = (first: string, second: string) =>
      `SELECT count(${first}), count(${second}) AS s FROM Metric FACET entity.guid SINCE ${TO - MINUTE} UNTIL ${TO} LIMIT MAX`;
    const byCalls = await rows(text('apm.key.transaction.duration', 'apm.key.transaction.error.count'));
    const byErrors = await rows(text('apm.key.transaction.error.count', 'apm.key.transaction.duration'));
    expect(byErrors.length).toBeGreaterThan(0);
    expect(byErrors.length).toBeLessThan(byCalls.length);
  });

  it.each([
    ['longer than the service accepts', `SELECT count(${V}) FROM Metric WHERE appName = '${'x'.repeat(10_000)}'`],
    [
      'with more than 50,000 rows',
      `SELECT count(${V}) FROM Metric WHERE appId IS NOT NULL FACET appId, host, metricTimesliceName TIMESERIES 1 minute LIMIT MAX
       SINCE ${TO - 20 * MINUTE} UNTIL ${TO}`,
    ],
  ])('are an error for a query %s', async (_, text) => {
    const { data, errors } = await ask(simulator, text);
    expect(data!.actor!['account']).toEqual({ nrql: null });
    expect(errors![0]!.message).toContain('that query is a little too big');
  });

  it.each([
    [`SELECT count(${V}) FROM Metric WHERE appId ~ 5`, 'NRQL Syntax Error: Error at line 1 position 64'],
    [`SELECT count(${V}) FROM Metric SINCE ${TO} UNTIL ${TO}`, "Your query's start time must be before its end time."],
    [
      `SELECT count(${V}) FROM Metric TIMESERIES 1 minute SINCE ${TO - 367 * MINUTE} UNTIL ${TO}`,
      'TIMESERIES supports a maximum of 366 buckets',
    ],
    [
      `SELECT count(${V}) FROM Metric TIMESERIES 6 minutes SINCE ${TO - 5 * MINUTE} UNTIL ${TO}`,
      'TIMESERIES step size is larger than the current time window.',
    ],
    [`SELECT count(${V}), sum(apm.key.transaction.duration) FROM Metric`, 'cannot be queried together'],
    [
      `SELECT count(${V}) FROM Metric WHERE appId IN (1, 9999999)`,
      'No application was matched (did you specify appId, appName or entity.guid?)',
    ],
    [`SELECT count(${V}) FROM Metric WHERE metricTimesliceName = 'Apdex'`, 'No application was matched'],
  ])('are null with an error for %s', async (text, message) => {
    const { data, errors } = await ask(simulator, text);
    expect(data!.actor!['account']).toEqual({ nrql: null });
    expect(errors).toMatchObject([{ path: ['actor', 'account', 'nrql'], extensions: { errorClass: 'INVALID_INPUT' } }]);
    expect(errors![0]!.message).toContain(message);
  });
});

it('the rows of an unknown application are absent beside a known application', async () => {
  const text = `SELECT count(${V}) FROM Metric WHERE appId IN (${STOREFRONT}, 9999999) FACET appId ${TIME}`;
  expect((await rows(text)).map(({ facet }) => facet)).toEqual(['1000001']);
});

describe('the range of a query', () => {
  const HOUR = 60 * MINUTE;
  // TO is 14:05.
  it.each([
    ['under an hour', V, TO - 58 * MINUTE, TO - MINUTE, [0, 0]],
    ['of an hour', V, TO - HOUR - 2 * MINUTE, TO - 2 * MINUTE, [-3, -3]],
    ['of an hour and some minutes', V, TO - HOUR - 4 * MINUTE, TO - MINUTE, [-1, -4]],
    ['of a day', V, TO - 24 * HOUR, TO, [-5, -5]],
    ['that is aligned', V, TO - 2 * HOUR, TO, [0, 0]],
    ['of events', '*', TO - 2 * HOUR - MINUTE, TO - MINUTE, [0, 0]],
  ])('%s is answered as the service rounds it', async (_, from, since, until, moved) => {
    const snapping = await simulatorOfTest({ nrqlSnapping: true });
    const what = `count(${from}) FROM ${from === '*' ? 'Transaction' : 'Metric'} WHERE appId = ${STOREFRONT}`;
    const { metadata } = await nrql(snapping, `SELECT ${what} SINCE ${since} UNTIL ${until}`);
    const [begin, end] = moved.map((minutes) => minutes * MINUTE);
    expect(metadata.timeWindow).toMatchObject({ begin: since + begin!, end: until + end! });
  });
});

describe('a TIMESERIES', () => {
  const series = (app: number, more: string) =>
    query(`SELECT ${COLUMNS} FROM Metric WHERE appId IN (${app}) AND metricTimesliceName = 'HttpDispatcher' ${more}`);

  it('has a row for each facet and bucket, and lists as otherResult and totalResult', async () => {
    const found = await series(STOREFRONT, `FACET host TIMESERIES 2 minutes LIMIT 1 ${TIME}`);
    expect(found.results.map(({ facet }) => facet)).toEqual(Array(3).fill(found.results[0]!['facet']));
    const seconds = found.results.map(({ beginTimeSeconds, endTimeSeconds }) => [beginTimeSeconds, endTimeSeconds]);
    const end = TO / 1000;
    // The buckets end with the range: the first begins before it, and is whole.
    expect(seconds).toEqual([
      [end - 360, end - 240],
      [end - 240, end - 120],
      [end - 120, end],
    ]);
    const summary = await series(STOREFRONT, `SINCE ${FROM - MINUTE} UNTIL ${TO}`);
    const total = found.totalResult as readonly Row[];
    const other = found.otherResult as readonly Row[];
    expect([total.length, other.length]).toEqual([3, 3]);
    expect(total.reduce((sum, { c }) => sum + (c as number), 0)).toBe(summary.results[0]!['c']);
    total.forEach(({ c }, index) => {
      expect(c).toBe((other[index]!['c'] as number) + (found.results[index]!['c'] as number));
    });
  });

  it('has zeros, not nulls, in an empty bucket', async () => {
    const hour = `SINCE ${TO - 60 * MINUTE} UNTIL ${TO}`;
    const { results } = await series(1_000_016, `FACET appId TIMESERIES 1 minute ${hour}`);
    expect(results).toHaveLength(60);
    const empty = results.filter(({ c }) => c === 0);
    expect(empty.length).toBeGreaterThan(0);
    expect(empty[0]).toMatchObject({ facet: '1000016', c: 0, t: 0, x: 0, mn: 0, mx: 0 });
  });

  it('has only hours for data more than eight days old', async () => {
    const hour = 60 * MINUTE;
    const old = Math.floor((NOW - 9 * 24 * hour) / hour) * hour;
    const { results } = await series(STOREFRONT, `TIMESERIES 30 minutes SINCE ${old} UNTIL ${old + 2 * hour}`);
    const counts = results.map(({ c }) => c as number);
    expect([counts[0]! > 0, counts[1], counts[2]! > 0, counts[3]]).toEqual([true, 0, true, 0]);
  });
});

describe('uniques', () => {
  it('gives a thousand values by default, under its own key', async () => {
    const [row] = await rows(`SELECT uniques(metricTimesliceName) FROM Metric WHERE appId = 1000002 ${TIME}`);
    expect(row!['uniques.metricTimesliceName']).toHaveLength(1000);
  });
});
