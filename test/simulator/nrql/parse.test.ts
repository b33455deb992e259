import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparedValues, NrqlError } from '../../../simulator/nrql/condition.ts';
import { parseNrql } from '../../../simulator/nrql/parseQuery.ts';

const V = 'newrelic.timeslice.value';

type Values = Readonly<Record<string, string | number | boolean | null>>;
const holds = (condition: string, values: Values): boolean | undefined =>
  parseNrql(`SELECT count(*) FROM Transaction WHERE ${condition}`).where.meets((attribute) => values[attribute]);

describe('an NRQL query', () => {
  it('is parsed with keywords in any case and clauses in any order', () => {
    const text = `select COUNT(${V}) as c, sum(${V}['totalExclusive']), uniques(metricTimesliceName, 20) from Metric
      since 1000 until 2000 limit 7 timeseries 5 MINUTES facet appId, entity.guid AS guid where appId = 1`;
    expect(parseNrql(text)).toMatchObject({
      select: [{ key: 'c' }, { key: `sum.${V}['totalExclusive']` }, { key: 'uniques.metricTimesliceName' }],
      functions: ['count', 'sum', 'uniques'],
      inputs: [{ attribute: V }, { attribute: V, field: 'totalExclusive' }, { attribute: 'metricTimesliceName' }],
      from: ['Metric'],
      where: { comparisons: [{ attribute: 'appId', values: ['1'] }] },
      facets: [
        { attribute: 'appId', key: 'appId' },
        { attribute: 'entity.guid', key: 'guid' },
      ],
      since: 1000,
      until: 2000,
      limit: 7,
      bucketMinutes: 5,
    });
    expect(parseNrql(`SELECT count(${V}) FROM Metric LIMIT MAX TIMESERIES 1 minute`)).toMatchObject({
      limit: Infinity,
      bucketMinutes: 1,
    });
  });

  it('begins with FROM or SELECT, and has comments and attributes in backticks', () => {
    const text = `-- orders
      FROM Transaction, \`My events\` // of the shop
      SELECT count(*), average(\`order.total\`) /* net */ WHERE \`name\` = 'a -- b'`;
    expect(parseNrql(text)).toMatchObject({
      from: ['Transaction', 'My events'],
      select: [{ key: 'count' }, { key: 'average.order.total' }],
      where: { comparisons: [{ attribute: 'name', values: ['a -- b'] }] },
    });
  });

  it('may name members of rows that SELECT does not name', () => {
    const keysOf = (select: string) => parseNrql(`SELECT ${select} FROM Transaction`).select.map(({ key }) => key);
    expect(keysOf('getField(percentile(duration, 99.5), 99.5) AS a')).toEqual(['a', 'percentile[99.5]']);
    expect(keysOf('getField(percentile(duration, 99.5), 99.5)')).toEqual(['percentile[99.5]']);
    expect(keysOf('apdex(duration, t: 0.5) AS a')).toEqual(['a', 'score', 's', 't', 'f', 'count']);
    expect(keysOf('apdex(duration, t: 0.5)')[0]).toBe('apdex.duration');
  });

  it('may have a subquery behind IN, with a time of its own', () => {
    const inner = 'SELECT uniques(host) FROM Transaction SINCE 2 days ago UNTIL 60 minutes ago';
    const { subqueries, where } = parseNrql(`SELECT count(*) FROM Transaction WHERE host IN (${inner}) SINCE 1000`);
    expect(subqueries).toMatchObject([{ query: { since: -172_800_000, until: -3_600_000 } }]);
    expect(where.meets(() => 'a')).toBe(false);
    subqueries[0]?.values.add('a');
    expect(where.meets(() => 'a')).toBe(true);
  });

  it('may read the rows of another query', () => {
    const text = `SELECT sum(n) FROM (SELECT count(*) AS n FROM Transaction FACET name LIMIT 5) SINCE 1 UNTIL 2`;
    expect(parseNrql(text)).toMatchObject({ from: { from: ['Transaction'], limit: 5 }, since: 1, until: 2 });
  });

  it.each([
    ['', 'expected SELECT'],
    ['SELECT', 'expected a function'],
    [`SELECT nothing(${V}) FROM Metric`, 'expected one of count, datapointCount, sum'],
    [`SELECT count(*) FROM Metric`, `unexpected '*'`],
    [`SELECT filter(count(${V})) FROM Metric`, `unexpected ')'`],
    [`SELECT filter(count(${V}), WHERE appId = 1) FROM Metric`, `unexpected '*' in a query of metrics`],
    [`SELECT rate(count(${V}), 1 fortnight) FROM Metric`, `unexpected 'fortnight'`],
    [`SELECT count(duration) FROM Metric`, `unexpected 'duration'`],
    [`SELECT percentile(${V}, 95) FROM Metric`, `unexpected 'percentile'`],
    [`SELECT sum(${V}['sum']) FROM Metric`, `unexpected 'sum'`],
    [`SELECT sum(${V}[total]) FROM Metric`, `expected a text`],
    [`SELECT uniques(metricTimesliceName, 10001) FROM Metric`, 'at most 10000'],
    [`SELECT percentile(duration) FROM Transaction`, `expected ','`],
    [`SELECT count(${V}) FROM Metric WHERE`, 'an attribute'],
    [`SELECT count(${V}) FROM Metric WHERE appId`, 'expected =, IN, LIKE or IS'],
    [`SELECT count(${V}) FROM Metric WHERE appId > 'x'`, `expected a number`],
    [`SELECT count(${V}) FROM Metric WHERE appId = "5"`, 'unexpected'],
    [`SELECT count(${V}) FROM Metric WHERE appId = host`, `unexpected`],
    [`SELECT count(${V}) FROM Metric WHERE appId IN ()`, `unexpected ')'`],
    [`SELECT count(${V}) FROM Metric WHERE (appId = 5`, `expected ')'`],
    [`SELECT count(${V}) FROM Metric WHERE appId = 5 OR`, 'end of query'],
    [`SELECT count(${V}) FROM Metric WHERE duration = 5`, `unexpected 'duration'`],
    [`SELECT count(${V}) FROM Metric WHERE appName = 'O'Neill'`, 'unexpected'],
    [`SELECT count(${V}) FROM Metric WHERE appName = 'back\\'`, 'unexpected'],
    [`SELECT count(${V}) FROM Metric FACET duration`, `unexpected 'duration'`],
    [`SELECT count(${V}) FROM Metric FACET appId, appId, appId, appId, appId, appId`, 'at most 5'],
    [`SELECT count(${V}) FROM Metric SINCE 1 day ago`, `unexpected 'day'`],
    [`SELECT max(n) FROM (SELECT count(*) AS n FROM Transaction SINCE 1 day ago)`, `unexpected 'SINCE'`],
    [`SELECT count(*) FROM Transaction WHERE host IN (SELECT uniques(duration) FROM Metric)`, `unexpected 'duration'`],
    [`SELECT apdex(duration, 0.5) FROM Transaction`, `expected T`],
    [`SELECT count(${V}) FROM Metric LIMIT 0`, 'expected a limit or MAX'],
    [`SELECT count(${V}) FROM Metric LIMIT 5 LIMIT 6`, 'one LIMIT only'],
    [`SELECT count(${V}) FROM Metric TIMESERIES`, 'expected minutes'],
    [`SELECT count(${V}) FROM Metric TIMESERIES 1 hour`, 'expected minute or minutes'],
    [`SELECT count(${V}) FROM Metric COMPARE WITH 1 day ago`, `unexpected 'COMPARE'`],
    [`SELECT count(*) FROM (SELECT count(*) FROM Transaction SINCE 5)`, `unexpected 'SINCE'`],
  ])('is refused with the place of the fault: %s', (text, message) => {
    expect(() => parseNrql(text)).toThrow(NrqlError);
    expect(() => parseNrql(text)).toThrow(message);
    expect(() => parseNrql(text)).toThrow(/^NRQL Syntax Error: Error at line 1 position \d+, /);
  });

  it('is refused with line and column of a fault on a later line', () => {
    expect(() => parseNrql('SELECT count(*)\nFROM Transaction\n  LIMIT none')).toThrow(
      "NRQL Syntax Error: Error at line 3 position 9, unexpected 'none'",
    );
  });
});

describe('a condition', () => {
  const record = {
    appId: '5',
    appName: 'Shop',
    host: null,
    metricTimesliceName: 'Datastore/MySQL/allWeb',
    duration: 1.5,
    error: false,
    'eventType()': 'Transaction',
  };

  it.each([
    ['appId = 5', true],
    [`appId = '5'`, true],
    [`appName = 'shop'`, false],
    [`appId IN (4, 5, '6')`, true],
    ['appId NOT IN (4, 5)', false],
    [`metricTimesliceName LIKE 'datastore/%/ALLWEB'`, true],
    [`metricTimesliceName LIKE '%mysql%'`, true],
    [`metricTimesliceName LIKE 'MySQL'`, false],
    [`metricTimesliceName LIKE 'Datastore.MySQL%'`, false],
    [`metricTimesliceName NOT LIKE 'Data%'`, false],
    ['host IS NULL', true],
    ['host IS NOT NULL', false],
    ['appId IS NOT NULL', true],
    [`host LIKE '%'`, false],
    [`NOT host = 'x'`, true],
    ['appId = 5 OR appId = 6 AND appId = 7', true],
    ['(appId = 5 OR appId = 6) AND appId = 7', false],
    ['NOT (appId = 6 OR appId = 5)', false],
    ['duration > 1', true],
    ['duration >= 1.5 AND duration <= 1.5', true],
    ['duration < 1.5', false],
    ['host > 1', false],
    [`appName != 'Shop'`, false],
    [`appName <> 'shop'`, true],
    ['error = FALSE', true],
    ['error IS FALSE', true],
    ['error IS NOT FALSE', false],
    [`eventType() = 'Transaction'`, true],
    [`\`appName\` LIKE 'sHOP'`, true],
  ])('%s is %s', (condition, expected) => {
    expect(holds(condition, record)).toBe(expected);
  });

  it('matches every escaped text, whatever its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = text.replace(/\\/g, '\\\\').replace(/'/g, "\\'");
        expect(holds(`appName = '${escaped}'`, { appName: text })).toBe(true);
        expect(holds(`appName = '${escaped}' OR appId = 1`, { appName: `${text}x`, appId: '2' })).toBe(false);
      }),
    );
  });

  it('is undecided while it depends on an unknown attribute', () => {
    const condition = `appId = 5 AND (host = 'a' OR host = 'b')`;
    expect(holds(condition, { appId: '6' })).toBe(false);
    expect(holds(condition, { appId: '5' })).toBeUndefined();
    expect(holds(`appId = 5 OR host = 'a'`, { appId: '5' })).toBe(true);
    expect(holds(`NOT host = 'a'`, {})).toBeUndefined();
  });

  it('gives the values that it selects of an attribute, not the values that it excludes', () => {
    const condition = `appId = 1 OR (appId IN (2, 3) AND NOT appId = 4) AND appId != 5 AND host LIKE '6'`;
    const { where } = parseNrql(`SELECT count(${V}) FROM Metric WHERE ${condition}`);
    expect(comparedValues(where, 'appId')).toEqual(['1', '2', '3']);
  });
});
