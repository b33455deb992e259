import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readStatement } from '../../src/nrql/statement.ts';

/** The words of the text where each problem begins. */
function refusedAt(query: string): string[] {
  return readStatement(query).problems.map(({ offset }) => /^\S+/.exec(query.slice(offset))?.[0] ?? '');
}

const columnsOf = (query: string): unknown[] => readStatement(query).columns.map(({ key }) => key);
const facetsOf = (query: string): unknown[] => readStatement(query).facets.map(({ name }) => name);

it('a query of more than 65,536 characters is refused without being parsed', () => {
  const problems = (length: number) => readStatement('SELECT 1 FROM A '.padEnd(length, ')')).problems;
  expect(problems(65_536)[0]?.message).toMatch(/parenthesis/);
  expect(problems(65_537)).toEqual([
    { offset: 65_536, message: 'the query is longer than 65,536 characters: shorten it' },
  ]);
});

/** Subqueries of SELECT and WHERE, which may have a time range of their own. */
const TIMES_OF_THEIR_OWN = [
  'SELECT count(*) FROM T WHERE a IN (SELECT uniques(a) FROM T SINCE 1 day ago)',
  'SELECT count(*) FROM T WHERE (b = 1 OR (a > (FROM T SELECT max(a) SINCE 1 week ago UNTIL 1 day ago)))',
  'SELECT count(*) / (SELECT count(*) FROM T SINCE 1 day ago) AS share FROM T',
  'SELECT filter(count(*), WHERE a IN (SELECT uniques(a) FROM T SINCE 1 day ago)) FROM T FACET b',
  'SELECT if(max(a) > (SELECT max(a) FROM T UNTIL 1 day ago), 1, 0) FROM T',
  'SELECT max(n) FROM (SELECT count(*) AS n FROM T WHERE a IN (SELECT uniques(a) FROM T SINCE 1 day ago))',
  'SELECT count(*) FROM T WHERE a = (SELECT max(a) FROM T WHERE (b = 1) SINCE 1 day ago)',
];

describe('a query that the exporter runs', () => {
  it.each([
    ['a plain query', "SELECT count(*) FROM Transaction WHERE appName = 'Storefront' FACET region, plan"],
    ['lower case', 'select count(*) from Transaction where duration > 1 facet appName'],
    ['FROM first', 'FROM Transaction SELECT average(duration) FACET name'],
    ['WITH first', "WITH aparse(message, '%order=*%') AS (id) FROM Log SELECT uniqueCount(id)"],
    ['a method of metrics', "FROM Metric SELECT sum(x) WITH METRIC_FORMAT 'Datastore/{type}/all' FACET type"],
    ['a time zone', "SELECT count(*) FROM PageView WITH TIMEZONE 'Europe/Berlin'"],
    ['comments before it', '-- orders\n/* of\nall shops */ // since 0.3\nSELECT count(*) FROM Order'],
    ['clause words in literals', "SELECT count(*) FROM Log WHERE message LIKE 'LIMIT reached SINCE, UNTIL \\' LIMIT'"],
    ['clause words in double quotes', 'SELECT count(*) AS "since limit" FROM Log'],
    ['clause words in backticks', 'SELECT average(`limit`) FROM Quota FACET `since`'],
    ['clause words in comments', 'SELECT count(*) -- LIMIT 5\nFROM Log // SINCE 1 day ago\n/* TIMESERIES */'],
    ['clause words within attributes', 'SELECT max(limit.cpu), max(k8s.since) FROM Quota FACET until_date, limits'],
    ['comment signs in literals', "SELECT count(*) FROM Log WHERE url = 'https://a' AND x = '/*' AND y = '--'"],
    ['doubled quotes', "SELECT count(*) FROM Log WHERE a = 'it''s LIMIT'"],
    ['raw expressions', "SELECT count(*) FROM Log WHERE a RLIKE r'.*since (\\\\d+) until.*'"],
    ['an inner LIMIT', 'SELECT average(n) FROM (SELECT count(*) AS n FROM T FACET host LIMIT MAX) FACET host'],
    ['an inner query without FACET', 'SELECT count(*) FROM A WHERE b IN (FROM B SELECT uniques(b))'],
    [
      'inner queries of inner queries',
      'FROM (FROM (SELECT max(a) AS a FROM T FACET x limit 5) SELECT max(a) AS b FACET x LIMIT 7) SELECT max(b)',
    ],
    ['conditions of a function', "SELECT filter(count(*), WHERE result = 'FAILED') FROM SyntheticCheck"],
    ['emoji', "SELECT count(*) AS '🚀 since' FROM Log WHERE `🙂 limit` = '🙂'"],
    ['five facets', 'SELECT count(*) FROM T FACET a, b, c, cases(WHERE x = 1, WHERE y = 2), e'],
    ['compare as an attribute', 'SELECT max(compare) FROM T'],
    ['order by', 'FROM T SELECT count(*) FACET a ORDER BY max(b)'],
    ['a semicolon in a literal', "SELECT count(*) AS 'a;' FROM Log WHERE m = ';' AND `;` = 1 -- ;"],
  ])('may have %s', (_what, query) => {
    expect(readStatement(query).problems).toEqual([]);
  });
});

it.each(TIMES_OF_THEIR_OWN)('may have a time range in a subquery of SELECT or WHERE: %s', (query) => {
  expect(readStatement(query).problems).toEqual([]);
});

describe('a query that the exporter refuses', () => {
  it.each([
    ['', ['']],
    ['  -- nothing', ['']],
    ['SHOW EVENT TYPES', ['SHOW']],
    ["'SELECT' count(*) FROM T", ["'SELECT'"]],
    ['`SELECT` count(*) FROM T', ['`SELECT`']],
    ['SELECT count(*) FROM T SINCE 1 hour ago', ['SINCE']],
    ['SELECT count(*) FROM T since 1 hour ago Until now', ['since', 'Until']],
    ['SELECT count(*) FROM T TIMESERIES 1 minute', ['TIMESERIES']],
    ['SELECT count(*) FROM T COMPARE WITH 1 day ago', ['COMPARE']],
    ['SELECT count(*) FROM T COMPARE /* x */ with 1 day ago', ['COMPARE']],
    ['SELECT count(*) FROM T LIMIT 10', ['LIMIT']],
    ['SELECT count(*) FROM T FACET a limit max', ['limit']],
    ['SELECT count(*) FROM T WHERE (a = 1 LIMIT 3)', ['LIMIT']],
    ["SELECT count(*) FROM T WHERE a = 'x\\\\' LIMIT 3 --'", ['LIMIT']],
    ['SELECT max(n) FROM (SELECT count(*) AS n FROM T FACET a)', ['FACET']],
    ['SELECT max(n) FROM (SELECT count(*) AS n FROM T FACET a LIMIT 5 SINCE 1 day ago)', ['SINCE']],
    ['SELECT max(n) FROM (SELECT count(*) AS n FROM T FACET a) LIMIT 5', ['FACET', 'LIMIT']],
    ['SELECT max(n) FROM ((SELECT count(*) AS n FROM T SINCE 1 day ago UNTIL now))', ['SINCE', 'UNTIL']],
    ['FROM A JOIN (SELECT count(*) FROM B FACET b LIMIT 5 SINCE 1 day ago) ON a SELECT count(*)', ['SINCE']],
    ['SELECT count(*) FROM T WHERE a IN (SELECT max(b) FROM (SELECT max(b) AS b FROM T SINCE 1 day ago))', ['SINCE']],
    ['SELECT count(*) FROM T WHERE (a = 1 SINCE 1 day ago)', ['SINCE']],
    ['SELECT count(*) FROM T WHERE a IN (SELECT uniques(a) FROM T SINCE 1 day ago) SINCE 2 days ago', ['SINCE']],
    ['SELECT count(*) FROM T WHERE a > (SELECT max(a) FROM T TIMESERIES SINCE 1 day ago)', ['TIMESERIES']],
    ['SELECT count(*) FROM T WHERE a > (SELECT max(a) FROM T COMPARE WITH 1 day ago)', ['COMPARE']],
    ['SELECT count(*) FROM T;', [';']],
    ['SELECT count(*) FROM T ; -- the end\n', [';']],
    ['SELECT count(*) FROM T;;', [';;', ';']],
    ['SELECT count(*) FROM T; SELECT 1 FROM T', [';']],
    ['SELECT max(a) FROM (SELECT max(a) AS a FROM T;)', [';)']],
    ['SELECT max(n) FROM (SELECT max(m) AS n FROM (SELECT 1 FROM T FACET a LIMIT 9) FACET a)', ['FACET']],
    ['SELECT count(*) FROM T FACET a, b, c, d, e, f, g', ['f,']],
    ["SELECT count(*) FROM T WHERE a = 'x LIMIT 3", ["'x"]],
    ['SELECT count(*) FROM T /* all', ['/*']],
    ['SELECT count(* FROM T', ['(*']],
    ['SELECT count(*)) FROM T', [')']],
  ])('gives the reason and the place: %j', (query, words) => {
    expect(refusedAt(query)).toEqual(words);
  });
});

describe('reading the columns', () => {
  it.each([
    ['SELECT count(*) FROM T', ['count']],
    ['SELECT COUNT( * ), average(a), uniqueCount(`user id`) FROM T', ['count', 'average.a', 'uniqueCount.user id']],
    ["SELECT count(*) AS n, sum(price) as 'in total', max(x) AS `the most` FROM T", ['n', 'in total', 'the most']],
    ['FROM T SELECT percentile(d, 50, 95), apdex(d, t: 0.5) WHERE a = 1', ['percentile.d', 'apdex.d']],
    ['SELECT average(duration) * 1000, filter(count(*), WHERE a = 1) FROM T', [undefined, undefined]],
    ['SELECT a, b.c FROM T', ['a', 'b.c']],
    ["WITH capture(m, r'x') AS y, 1 AS z SELECT max(y) AS most FROM Log", ['most']],
    ['SELECT max(n) AS n FROM (SELECT count(*) AS inner, max(b) AS other FROM T FACET a LIMIT MAX)', ['n']],
    ['SELECT cardinality() FROM Metric', ['cardinality']],
  ])('finds the key and label of each: %j', (query, keys) => {
    expect(columnsOf(query)).toEqual(keys);
  });

  it.each([
    ['count(*)', 0],
    ['percentile(d, 95) AS p', 1],
    ['PERCENTILE(d, 5, 50) / 1000', 2],
    ['percentile', 0],
    ['percentile(d)', 1],
    ['filter(percentile(cls, 75), WHERE a = 1)', 1],
    ['filter(Percentile(cls, 50, 75, 95), WHERE a = 1) AS a', 3],
    ['bucketPercentile(duration_bucket, 50, 95)', 2],
    ['bucketPercentile(duration_bucket)', 1],
    ['((percentile(d, 50, 95))) * 1000', 2],
    ['round(percentile(d, 50, 95) * (1 + 2))', 2],
    ['getField(percentile(d, 50, 95), 95) AS a', 0],
    ['GETFIELD((percentile(d, 50, 95)), 95)', 0],
    ['getField(filter(percentile(d, 50, 95), WHERE a = 1), 95)', 0],
    ['percentile(getField(d, count), 50, 95)', 2],
    ['filter(percentile(getField(d, count), 50, 95), WHERE a = 1)', 2],
    ['filter(percentile(d, 50, 95), WHERE getField(e, count) > 1)', 2],
    ['getField(percentile(d, 50, 95), 95) + percentile(getField(d, count), 50)', 1],
    ['histogram(d, 1000, 10)', 0],
    ['cdfPercentage(d, 1, 5)', 0],
    ["count(*) AS 'percentile(d, 95)'", 0],
    ['filter(count(*), WHERE d > (SELECT percentile(d, 95) FROM T)) AS slow', 0],
  ])('finds the percentiles of %s', (column, percentiles) => {
    const { columns } = readStatement(`SELECT ${column} FROM T`);
    expect(columns.map((each) => each.percentiles)).toEqual([percentiles]);
  });

  it.each([
    ['SELECT sum(a) AS x, max(b) FROM T FACET c', ['sum', 7]],
    ['FROM T FACET c SELECT  Max(b) * 2, sum(a)', ['max', 23]],
    ['SELECT (uniqueCount(a) + 1) AS x FROM T FACET c', ['uniquecount', 8]],
    ['SELECT a, latest(b) FROM T FACET c', ['latest', 10]],
    ['SELECT a FROM T', [undefined, undefined]],
    ['SELECT max(n) FROM (SELECT sum(a) AS n FROM T)', ['max', 7]],
  ])('finds the first function of %s', (query, expected) => {
    const { firstCall } = readStatement(query);
    expect([firstCall?.name, firstCall?.offset]).toEqual(expected);
  });
});

describe('reading the facets', () => {
  it.each([
    ['SELECT count(*) FROM T', []],
    ['SELECT count(*) FROM T FACET region, `user id`, host.displayName', ['region', 'user id', 'host.displayName']],
    ["SELECT count(*) FROM T FACET a AS one, b AS 'other', substring(c, 0, 3) AS `third`", ['one', 'other', 'third']],
    ['SELECT count(*) FROM T FACET buckets(duration, 10), a', [undefined, 'a']],
    ['FROM T FACET a SELECT count(*) WHERE b = 1', ['a']],
    ["SELECT count(*) FROM T FACET a ORDER BY max(b) WITH TIMEZONE 'UTC'", ['a']],
    ['SELECT max(n) FROM (SELECT count(*) AS n FROM T FACET a, b LIMIT MAX) FACET b', ['b']],
  ])('finds the name of each: %j', (query, names) => {
    expect(facetsOf(query)).toEqual(names);
  });
});

describe('reading any text', () => {
  const piece = fc.constantFrom(
    ...`SELECT |from |FACET| LIMIT |'|"|\`|\\|(|)|,|--|//|/*|*/|\n| |as`.split('|'),
    ...['since', 'compare with', '🚀', 'a.b', '5', "''", '\ud800', 'percentile('],
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
  );

  it('never throws, and reports problems in the order of their places', () => {
    fc.assert(
      fc.property(text, (query) => {
        const places = readStatement(query).problems.map(({ offset }) => offset);
        expect(places.every((place) => place >= 0 && place <= query.length)).toBe(true);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }),
    );
  });

  it('gives the same result for any content of literals and comments', () => {
    const quoted = fc.string().map((inner) => `'${inner.replace(/[\\']/g, '\\$&')}'`);
    const named = fc.string().map((inner) => `\`${inner.replaceAll('`', '')}\``);
    const block = fc.string().map((inner) => `/*${inner.replaceAll('*', '')}*/`);
    const line = fc.string().map((inner) => `--${inner.replaceAll('\n', '')}\n`);
    const words = fc.constantFrom('LIMIT 5', 'since 1 day ago', ') FACET x', '(SELECT');
    const filler = (noise: fc.Arbitrary<string>) => fc.oneof(noise, noise);
    fc.assert(
      fc.property(filler(quoted), filler(named), fc.oneof(block, line), words, (literal, name, comment, word) => {
        const query = `SELECT max(${name}) ${comment} FROM T -- ${word}\n WHERE a = ${literal} AND b = '${word}' FACET c`;
        expect(readStatement(query)).toMatchObject({ problems: [], facets: [{ name: 'c' }] });
      }),
    );
  });

  it.each(['(', '(limit ', 'limit ', "'", '`', '/*', '--', '\\', ',', 'a', ')', 'facet a,', 'compare ', '1.'])(
    'takes time in proportion to the length of a text full of %j',
    (part) => {
      const query = part.repeat(Math.floor(524_288 / part.length));
      expect(readStatement(query).problems.length).toBeGreaterThan(0);
    },
  );
});
