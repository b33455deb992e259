import { describe, expect, it } from 'vitest';
import type { Row } from './client.ts';
import { nrql, TO } from './client.ts';
import { simulatorOfFile, simulatorOfTest, MINUTE, NOW } from '../client.ts';

const DAY = 1440 * MINUTE;

const simulator = await simulatorOfFile();

/** The rows of a query over a number of minutes, with the time after it, as the exporter sends it. */
async function rows(text: string, minutes = 30, limit = 'MAX'): Promise<readonly Row[]> {
  const { results } = await nrql(simulator, `${text}\nSINCE ${TO - minutes * MINUTE} UNTIL ${TO} LIMIT ${limit}`);
  return results;
}
const number = (row: Row | undefined, key: string): number => row![key] as number;

describe('a query of events', () => {
  it('counts samples by the named attributes, and gives their aliases', async () => {
    const found = await nrql(
      simulator,
      `SELECT count(*) AS orders FROM Transaction WHERE appName = 'Storefront' AND transactionType = 'Web'
       FACET region, plan AS tariff SINCE ${TO - 30 * MINUTE} UNTIL ${TO} LIMIT MAX`,
    );
    expect(found.metadata.facets).toEqual(['region', 'tariff']);
    expect(found.results).toHaveLength(9);
    const [first] = found.results;
    expect(first!['regiontariff']).toEqual(first!['facet']);
    // Eight instances send six events in each of thirty minutes.
    const total = 8 * 6 * 30;
    expect(found.results.reduce((sum, row) => sum + number(row, 'orders'), 0)).toBe(total);
    expect(found.totalResult).toEqual({ orders: total });
  });

  it('gives percentiles as an object, also in a quotient', async () => {
    const [row] = await rows(
      `SELECT percentile(duration, 50, 95) AS took, percentile(duration, 50) / 1000 AS thousandth, max(duration) AS most
       FROM Transaction WHERE appName = 'Storefront'`,
    );
    const took = row!['took'] as Readonly<Record<string, number>>;
    expect(Object.keys(took)).toEqual(['50', '95']);
    expect(took['50']!).toBeLessThan(took['95']!);
    expect(took['95']!).toBeLessThan(number(row, 'most'));
    expect((row!['thousandth'] as Readonly<Record<string, number>>)['50']).toBeCloseTo(took['50']! / 1000, 9);
  });

  it('has row members that the query does not name', async () => {
    const [picked] = await rows(
      'SELECT getField(percentile(duration, 99.5), 99.5) AS a, count(*) AS n FROM Transaction',
    );
    expect(picked).toMatchObject({ a: null, 'percentile[99.5]': expect.any(Number) as number });
    const [judged] = await rows('SELECT apdex(duration, t: 0.5) AS a FROM Transaction');
    const { score, s, t, f, count } = judged! as Readonly<Record<string, number>>;
    expect(judged).toMatchObject({ a: { score, s, t, f, count } });
    expect([s! + t! + f!, (s! + t! / 2) / count!]).toEqual([count, score]);
    const [sized] = await rows('SELECT histogram(duration, 400, 4) AS h, count(*) AS n FROM Transaction');
    const h = sized!['h'] as Readonly<Record<string, number>>;
    expect(Object.keys(h)).toEqual(['0', '100', '200', '300']);
    expect(Object.values(h).reduce((sum, each) => sum + each)).toBe(sized!['n']);
  });

  it('compares with the values of a subquery, with the same or another range', async () => {
    const counted = async (range: string): Promise<number> => {
      const subquery = `SELECT uniques(name) FROM Transaction WHERE appName = 'Storefront'${range}`;
      const [row] = await rows(`SELECT count(*) FROM Transaction WHERE name IN (${subquery})`);
      return number(row, 'count');
    };
    const [all] = await rows("SELECT count(*) FROM Transaction WHERE appName = 'Storefront'");
    expect(await counted('')).toBeGreaterThanOrEqual(number(all, 'count'));
    expect(await counted(' SINCE 1 day ago')).toBeGreaterThanOrEqual(number(all, 'count'));
    expect(await counted(' SINCE 9000000000000 UNTIL 9000000060000')).toBe(0);
  });

  it('has a list as the value of a facet', async () => {
    const inner = 'SELECT uniques(appName) AS apps FROM Transaction FACET region LIMIT MAX';
    const one = await rows(`SELECT count(*) AS n FROM (${inner}) FACET apps`);
    expect(one[0]).toMatchObject({ facet: expect.arrayContaining(['Storefront']) as string[] });
    expect(one[0]!['apps']).toEqual(one[0]!['facet']);
    const two = await rows(`SELECT count(*) AS n FROM (${inner}) FACET region, apps`);
    expect(two[0]!['facet']).toEqual([expect.any(String), expect.arrayContaining(['Storefront'])]);
  });

  it('filters, gives percentages, rates, products and quotients', async () => {
    const [row] = await rows(
      `SELECT count(*) AS n, filter(count(*), WHERE error = true) AS failed, percentage(count(*), WHERE error = true) AS share,
         rate(count(*), 1 minute) AS pace, latest(timestamp) AS newest, min(timestamp) AS oldest,
         2 * sum(duration) AS twice, sum(duration) AS sum, count(*) / filter(count(*), WHERE host = 'none') AS nothing
       FROM Transaction WHERE appName IN ('Storefront', 'Forum')`,
    );
    expect(number(row, 'failed')).toBeGreaterThan(0);
    expect(number(row, 'share')).toBeCloseTo((100 * number(row, 'failed')) / number(row, 'n'), 9);
    expect(number(row, 'pace')).toBeCloseTo(number(row, 'n') / 30, 9);
    expect(row!['nothing']).toBeNull();
    expect(number(row, 'twice')).toBeCloseTo(2 * number(row, 'sum'), 6);
    expect(number(row, 'oldest')).toBeLessThan(number(row, 'newest'));
    expect(number(row, 'newest')).toBeLessThan(TO);
  });

  it('compares numbers, and finds no rows with an attribute that no event has', async () => {
    const count = async (condition: string) =>
      number((await rows(`SELECT count(*) FROM Transaction WHERE ${condition}`))[0], 'count');
    expect((await count('duration > 0.2')) + (await count('duration <= 0.2'))).toBe(
      await count('duration IS NOT NULL'),
    );
    expect(await count('colour IS NOT NULL')).toBe(0);
    expect(await rows('SELECT count(*) FROM Transaction FACET colour')).toEqual([]);
    expect(await rows('SELECT count(*) FROM NoSuchEvent FACET appName')).toEqual([]);
  });

  it('reads the rows of another query, ten by default', async () => {
    const inner = (limit: string) =>
      `SELECT count(*) AS applications, max(n) AS most FROM (SELECT count(*) AS n FROM Transaction FACET appName ${limit})`;
    const [[all], [ten]] = [await rows(inner('LIMIT MAX')), await rows(inner(''))];
    expect([number(all, 'applications') > 10, ten!['applications']]).toEqual([true, 10]);
    expect(all!['most']).toBe(ten!['most']);
  });

  it('has buckets of a TIMESERIES', async () => {
    const { results } = await nrql(
      simulator,
      `SELECT count(*) AS n FROM Transaction WHERE appName = 'Storefront' TIMESERIES 1 minute
       SINCE ${TO - 3 * MINUTE} UNTIL ${TO}`,
    );
    expect(results.map(({ n }) => n)).toEqual([48, 48, 48]);
  });

  it('gives the same events at every time, and a range has the events of its parts', async () => {
    const text = 'SELECT count(*) AS n, sum(duration) AS t FROM Transaction';
    const count = async (since: number, until: number) =>
      (await nrql(simulator, `${text} SINCE ${since} UNTIL ${until}`)).results[0]!;
    const whole = await count(TO - 10 * MINUTE, TO);
    expect(await count(TO - 10 * MINUTE, TO)).toEqual(whole);
    const middle = TO - 4 * MINUTE - 12_345;
    const [first, second] = [await count(TO - 10 * MINUTE, middle), await count(middle, TO)];
    expect(number(first, 'n') + number(second, 'n')).toBe(whole['n']);
    expect(number(first, 't') + number(second, 't')).toBeCloseTo(number(whole, 't'), 6);
  });
});

describe('the events of the world', () => {
  it('have an opening and an end of every incident, also of requested incidents', async () => {
    const open = `SELECT filter(count(*), WHERE event LIKE 'open') AS open, count(*) AS incidents
      FROM (SELECT latest(event) AS event, latest(entity.name) AS entity, latest(conditionName) AS condition
            FROM NrAiIncident FACET incidentId LIMIT MAX)
      FACET entity, condition`;
    const chat = async () => {
      const found = await rows(open, 30 * 1440);
      return found.find(({ facet }) => (facet as readonly string[])[0] === 'Chat');
    };
    const before = await chat();
    expect(before!['open']).toBe(0);
    simulator.change(1_000_008, { incident: { started_minutes_ago: 8 } });
    const during = await chat();
    simulator.restore(1_000_008);
    expect([during!['open'], number(during, 'incidents') - number(before, 'incidents')]).toEqual([1, 1]);
  });

  it('always have an open warning', async () => {
    for (let day = 0; day < 12; day += 1) {
      const until = TO - day * DAY * 1.3;
      const { results } = await nrql(
        simulator,
        `SELECT filter(count(*), WHERE event = 'open') AS open FROM (SELECT latest(event) AS event FROM NrAiIncident
         FACET incidentId LIMIT MAX) SINCE ${until - 30 * DAY} UNTIL ${until}`,
      );
      expect(number(results[0], 'open')).toBeGreaterThan(0);
    }
  });

  it('open for the watched application when it stops reporting', async () => {
    let now = NOW;
    const few = await simulatorOfTest({ now: () => now });
    const ofSilence = async () => {
      const { results } = await nrql(
        few,
        `SELECT latest(event) AS event FROM NrAiIncident WHERE policyName = 'All applications'
         FACET incidentId, conditionName, priority, entity.name SINCE ${now - 9 * DAY} UNTIL ${now} LIMIT MAX`,
      );
      const open = results.filter(({ event }) => event === 'open');
      return open.map(({ facet }) => (facet as readonly string[]).slice(1).join('/')).toSorted();
    };
    few.change(1_000_001, { reporting: false });
    now += 4 * MINUTE;
    expect(await ofSilence()).toEqual([]);
    now += 2 * MINUTE;
    expect(await ofSilence()).toEqual(['Requests stop/critical/Storefront', 'Signal lost/critical/Storefront']);
  });

  it('have deployments in both forms', async () => {
    const found = await rows(
      `SELECT latest(timestamp) AS time, latest(version) AS version FROM ChangeTrackingEvent, Deployment
       WHERE eventType() = 'Deployment' OR (eventType() = 'ChangeTrackingEvent' AND category = 'Deployment')
       FACET entity.guid AS guid, entity.name AS entity`,
      7 * 1440,
    );
    expect(found).toHaveLength(15);
    expect(found.every(({ version }) => /^v1\.\d+\.0$/.test(String(version)))).toBe(true);
    const kinds = await rows('SELECT count(*) FROM Deployment, ChangeTrackingEvent FACET eventType()', 7 * 1440);
    expect(kinds.map(({ facet }) => facet).sort()).toEqual(['ChangeTrackingEvent', 'Deployment']);
  });
});

describe('the facets that a limit keeps', () => {
  const BY_NAME = "FROM Transaction WHERE transactionType = 'Web' FACET appName";
  const COLUMNS = `count(*) AS n, sum(duration) AS total, average(duration) AS mean, min(duration) AS least,
    max(duration) AS most, percentile(duration, 95) AS p95`;
  const rankOf = (row: Row, key: string): number =>
    typeof row[key] === 'number' ? row[key] : Number(Object.values(row[key] as Row)[0]);
  const firstBy = (all: readonly Row[], key: string, count: number) =>
    all
      .toSorted((a, b) => rankOf(b, key) - rankOf(a, key))
      .slice(0, count)
      .map((row) => row['facet']);

  it.each([
    ['count(*)', '', 'n', 'n'],
    ['average(duration)', '', 'mean', 'mean'],
    ['min(duration)', '', 'least', 'least'],
    ['max(duration)', '', 'most', 'most'],
    ['percentile(duration, 95)', '', 'p95', 'p95'],
    ['sum(duration)', '', 'n', 'n'],
    ['rate(sum(duration), 1 minute)', '', 'n', 'n'],
    ['latest(duration)', '', 'n', 'n'],
    ['uniqueCount(duration)', '', 'n', 'n'],
    ['sum(duration) / count(*)', '', 'n', 'n'],
    ['sum(duration)', 'ORDER BY sum(duration)', 'total', 'n'],
    ['sum(duration)', 'ORDER BY average(duration)', 'mean', 'n'],
    ['count(*)', 'ORDER BY percentile(duration, 95)', 'p95', 'n'],
    ['average(duration)', 'ORDER BY sum(duration)', 'total', 'mean'],
    ['max(duration)', 'ORDER BY count(*)', 'n', 'most'],
  ])('with %s as first column and "%s" have the most %s, sorted by %s', async (first, order, chosen, sorted) => {
    const all = await rows(`SELECT ${COLUMNS} ${BY_NAME}`);
    const few = await rows(`SELECT ${first} AS first, ${COLUMNS} ${BY_NAME} ${order}`, 30, '2');
    const facets = few.map((row) => row['facet']);
    expect(facets.toSorted()).toEqual(firstBy(all, chosen, 2).toSorted());
    expect(facets).toEqual(firstBy(few, sorted, 2));
  });

  it('differ by column, so that the table above can tell them apart', async () => {
    const all = await rows(`SELECT ${COLUMNS} ${BY_NAME}`);
    const kinds = ['n', 'total', 'mean'].map((key) => firstBy(all, key, 2).toSorted().join());
    expect(new Set(kinds).size).toBe(3);
  });

  it.each([
    `${BY_NAME} ORDER BY sum(duration) ASC`,
    `${BY_NAME} ORDER BY sum(duration) DESC`,
    'FROM Transaction FACET appName WHERE duration > 0 ORDER BY sum(duration)',
    'FROM Transaction ORDER BY sum(duration)',
  ])('cannot be selected with %s', async (rest) => {
    await expect(rows(`SELECT sum(duration) ${rest}`)).rejects.toThrow('NRQL Syntax Error');
  });
});

it('only results of count(*) of metrics have the message that it adds up their counts', async () => {
  const messages = async (text: string) =>
    (await nrql(simulator, `${text} SINCE ${TO - 30 * MINUTE} UNTIL ${TO}`)).metadata.messages;
  const told = [expect.stringMatching(/^count\(\*\) of Metric .* datapointCount\(\)/)];
  const ofRequests = 'FROM Metric WHERE http.server.requests IS NOT NULL';
  expect(await messages(`SELECT count(*) ${ofRequests}`)).toEqual(told);
  expect(await messages(`SELECT average(http.server.requests), rate(count(*), 1 minute) ${ofRequests}`)).toEqual(told);
  expect(await messages(`SELECT sum(n) FROM (SELECT count(*) AS n ${ofRequests} FACET entity.guid LIMIT 5)`)).toEqual(
    told,
  );
  expect(await messages(`SELECT datapointCount(), count(http.server.requests) ${ofRequests}`)).toEqual([]);
  expect(await messages('SELECT count(*) FROM Transaction')).toEqual([]);
  const perEntity = `SELECT datapointCount() AS n ${ofRequests} FACET entity.guid LIMIT 5`;
  expect(await messages(`SELECT count(*) FROM (${perEntity})`)).toEqual([]);
});

it('count(*) of metrics adds up their counts, and datapointCount() counts their points', async () => {
  const [row] = await rows(
    `SELECT count(*) AS c, datapointCount() AS n, count(http.server.requests) AS k
     FROM Metric WHERE http.server.requests IS NOT NULL`,
  );
  expect(row!['c']).toBe(row!['k']);
  expect(number(row, 'n')).toBeLessThan(number(row, 'k'));
});
