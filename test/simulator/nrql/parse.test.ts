import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meets, valuesOf, NrqlSyntaxError } from '../../../src/simulator/nrql/condition.ts';
import { parseNrql } from '../../../src/simulator/nrql/parseQuery.ts';

const V = 'newrelic.timeslice.value';
const where = (condition: string) => parseNrql(`SELECT count(${V}) FROM Metric WHERE ${condition}`).where!;

type Values = Readonly<Record<string, string | null>>;
const holds = (condition: string, values: Values): boolean | undefined =>
  meets(where(condition), (attribute) => values[attribute]);

describe('an NRQL query', () => {
  it('is read whole, keywords in any case and clauses in any order', () => {
    const text = `select COUNT(${V}) as c, sum(${V}['totalExclusive']), uniques(metricTimesliceName, 20) from Metric
      since 1000 until 2000 limit 7 timeseries 5 MINUTES facet appId, entity.guid where appId = 1`;
    expect(parseNrql(text)).toEqual({
      select: [
        { name: 'count', of: { kind: 'value', value: V }, key: 'c' },
        { name: 'sum', of: { kind: 'field', field: 'totalExclusive' }, key: `sum.${V}['totalExclusive']` },
        {
          name: 'uniques',
          of: { kind: 'attribute', attribute: 'metricTimesliceName', most: 20 },
          key: 'uniques.metricTimesliceName',
        },
      ],
      where: { kind: 'in', attribute: 'appId', values: new Set(['1']) },
      facets: ['appId', 'entity.guid'],
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

  it.each([
    ['', 'expected SELECT'],
    ['SELECT', 'expected one of count, sum'],
    [`SELECT count(*) FROM Metric`, `unexpected '*)`],
    [`SELECT filter(count(${V})) FROM Metric`, `unexpected 'filter'`],
    [`SELECT rate(count(${V}), 1 minute) FROM Metric`, `unexpected 'rate'`],
    [`SELECT count(duration) FROM Metric`, `unexpected 'duration'`],
    [`SELECT count(metricTimesliceName) FROM Metric`, `unexpected 'metricTimesliceName'`],
    [`SELECT sum(${V}['sum']) FROM Metric`, `has no 'sum'`],
    [`SELECT sum(${V}[total]) FROM Metric`, `unexpected 'total'`],
    [`SELECT sum(apm.key.transaction.duration['total']) FROM Metric`, `unexpected '['`],
    [`SELECT uniques(metricTimesliceName, 10001) FROM Metric`, 'at most 10000'],
    [`SELECT count(${V}) FROM Transaction`, 'only Metric'],
    [`SELECT count(${V}) FROM Metric WHERE`, 'an attribute'],
    [`SELECT count(${V}) FROM Metric WHERE appId`, 'expected =, IN, LIKE or IS'],
    [`SELECT count(${V}) FROM Metric WHERE appId > 5`, `unexpected '> 5'`],
    [`SELECT count(${V}) FROM Metric WHERE appId = "5"`, 'unexpected'],
    [`SELECT count(${V}) FROM Metric WHERE appId IN ()`, `unexpected ')'`],
    [`SELECT count(${V}) FROM Metric WHERE (appId = 5`, `expected ')'`],
    [`SELECT count(${V}) FROM Metric WHERE appId = 5 OR`, 'end of query'],
    [`SELECT count(${V}) FROM Metric WHERE duration = 5`, `unexpected 'duration'`],
    [`SELECT count(${V}) FROM Metric WHERE appName = 'O'Neill'`, 'unexpected'],
    [`SELECT count(${V}) FROM Metric WHERE appName = 'back\\'`, 'unexpected'],
    [`SELECT count(${V}) FROM Metric FACET duration`, `unexpected 'duration'`],
    [`SELECT count(${V}) FROM Metric FACET appId, appId, appId, appId, appId, appId`, 'at most 5'],
    [`SELECT count(${V}) FROM Metric SINCE 1 day ago`, `unexpected 'day'`],
    [`SELECT count(${V}) FROM Metric LIMIT 0`, 'above 0'],
    [`SELECT count(${V}) FROM Metric LIMIT 5 LIMIT 6`, 'one LIMIT only'],
    [`SELECT count(${V}) FROM Metric TIMESERIES`, 'expected minutes'],
    [`SELECT count(${V}) FROM Metric TIMESERIES 1 hour`, 'expected minute or minutes'],
    [`SELECT count(${V}) FROM Metric; DROP`, 'unexpected'],
  ])('that is none is refused with the place: %s', (text, message) => {
    expect(() => parseNrql(text)).toThrow(NrqlSyntaxError);
    expect(() => parseNrql(text)).toThrow(message);
    expect(() => parseNrql(text)).toThrow(/^NRQL Syntax error: /);
  });
});

describe('a condition', () => {
  const record = { appId: '5', appName: 'Shop', host: null, metricTimesliceName: 'Datastore/MySQL/allWeb' };

  it.each([
    ['appId = 5', true],
    [`appId = '5'`, true],
    ['appId = 6', false],
    [`appName = 'shop'`, false],
    [`appId IN (4, 5, '6')`, true],
    ['appId NOT IN (4, 5)', false],
    ['NOT appId IN (4)', true],
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
    ['NOT appId = 6 AND appId = 5', true],
    ['NOT (appId = 6 OR appId = 5)', false],
  ])('%s is %s', (condition, expected) => {
    expect(holds(condition, record)).toBe(expected);
  });

  it('finds every text that was escaped, whatever its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = text.replace(/\\/g, '\\\\').replace(/'/g, "\\'");
        expect(holds(`appName = '${escaped}'`, { appName: text })).toBe(true);
        expect(holds(`appName = '${escaped}' OR appId = 1`, { appName: `${text}x`, appId: '2' })).toBe(false);
      }),
    );
  });

  it('is open as long as it depends on an attribute that is not known', () => {
    const condition = `appId = 5 AND (host = 'a' OR host = 'b')`;
    expect(holds(condition, { appId: '6' })).toBe(false);
    expect(holds(condition, { appId: '5' })).toBeUndefined();
    expect(holds(`appId = 5 OR host = 'a'`, { appId: '5' })).toBe(true);
    expect(holds(`NOT host = 'a'`, {})).toBeUndefined();
  });

  it('says which values it compares an attribute with', () => {
    expect(valuesOf(where(`appId = 1 OR (appId IN (2, 3) AND NOT appId = 4) AND host LIKE '5'`), 'appId')).toEqual([
      '1',
      '2',
      '3',
      '4',
    ]);
  });
});
