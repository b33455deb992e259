import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  frameLength,
  goldenQuery,
  idLength,
  readDefinition,
  recordId,
  sourceKey,
  UnreadableDefinition,
  type GoldenDefinition,
} from '../../src/nrql/goldenMetric.ts';
import { readStatement } from '../../src/nrql/statement.ts';

const PLAIN: GoldenDefinition = {
  select: 'average(duration)',
  from: 'PageView',
  where: undefined,
  eventId: 'entityGuid',
  eventObjectId: 'ENTITY_GUIDS',
};
const RANGE = { from: 1_800_000_000, to: 1_800_000_300 };

/** The reason why a definition is refused; undefined when it is accepted. */
function refusal(part: Partial<GoldenDefinition>): string | undefined {
  try {
    readDefinition({ ...PLAIN, ...part });
    return undefined;
  } catch (error) {
    if (error instanceof UnreadableDefinition) return error.message;
    throw error;
  }
}

/** Parts of definitions in the shapes of published ones. */
const SHAPES: readonly (readonly [what: string, Partial<GoldenDefinition>])[] = [
  ['a rate', { select: 'rate(count(*), 1 minute)' }],
  ['arithmetic', { select: '(sum(disk.bytes * 100) - sum(disk.free * 100)) / sum(disk.bytes)' }],
  ['a filter', { select: "(filter(count(calls), where code = '5xx') * 100) / count(calls)" }],
  ['a percentile', { select: 'percentile(largestPaint, 75)' }],
  ['a percentage', { select: "percentage(count(*), WHERE result = 'FAILED')" }],
  ['a conversion', { select: "average(convert(calls.duration, unit OR 's', 'ms'))" }],
  ['an attribute with a wildcard', { select: 'rate(count(%.server%duration), 1 minute)' }],
  ['backticks', { select: 'latest(`instance.open sessions`)', from: '`monitor:Stats`' }],
  ['double quotes', { select: 'latest(state)', where: 'device != "lo" AND name = "a, b"' }],
  ['a condition of several', { where: "(a = 'x' OR b IS NOT NULL) AND c NOT IN ('y', 'z') AND numeric(d) >= 4" }],
  ['clause words in literals', { where: "message LIKE '%since% -- LIMIT 5 // until' AND `limit` = 1" }],
  ['several events', { from: 'VideoAction, AdAction' }],
  [
    'a subquery with its LIMIT',
    {
      from: "(FROM VideoAction, AdAction SELECT max(start) AS 'start' FACET viewId LIMIT MAX)",
      select: 'average(start)',
    },
  ],
  ['a subquery in a column', { select: 'filter(count(a), WHERE b = 1) * 100 / (FROM Video, Ad SELECT count(a))' }],
  ['a looked up table', { from: 'lookup(limits)' }],
  ['line breaks', { select: 'average(a)\n  * 100', where: 'a = 1\n  OR b = 2' }],
];

describe('the definition of a golden metric', () => {
  it.each(SHAPES)('is accepted with %s', (_what, part) => {
    expect(refusal(part)).toBeUndefined();
  });

  it.each([
    ["average(a) AS 'Response time (ms)'", 'average(a)'],
    ['count(a) as count', 'count(a)'],
    ['sum(a) * 2 AS `x y`', 'sum(a) * 2'],
    ['filter(count(*), WHERE a = \'as\') AS "b"', "filter(count(*), WHERE a = 'as')"],
  ])('is sent without the alias of %s', (select, expected) => {
    expect(readDefinition({ ...PLAIN, select }).select).toBe(expected);
  });

  it.each([
    [{ select: '' }, 'its select is empty'],
    [{ select: 'count(*), max(a)' }, 'its select is not one column'],
    [{ select: 'count(*) FROM Secret' }, 'its select begins another clause with FROM'],
    [{ select: 'count(*) FROM Secret -- ' }, 'its select has a comment'],
    [{ select: 'count(*) /* x */' }, 'its select has a comment'],
    [{ select: 'count(*) // x' }, 'its select has a comment'],
    [{ select: 'count(*) AS' }, 'its select has an AS that gives no name to it'],
    [{ select: 'AS x' }, 'its select has an AS that gives no name to it'],
    [{ select: 'count(*) AS x * 2' }, 'its select has an AS that gives no name to it'],
    [{ select: 'count(*) AS (x)' }, 'its select has an AS that gives no name to it'],
    [{ select: "count(*) AS 'x" }, /^its select opens a quote that is not closed/],
    [{ select: 'count(*' }, 'its select has a ( without its counterpart'],
    [{ select: 'count(*)) + (1' }, 'its select has a ) without its counterpart'],
    [{ select: 'a[0' }, 'its select has a [ without its counterpart'],
    [{ select: '(a[0)]' }, 'its select has a ) without its counterpart'],
    [{ select: 'count(*) SINCE 1 day ago' }, /^its select remove SINCE/],
    [{ select: 'max(a) LIMIT 3' }, /^its select LIMIT stands outside/],
    [{ select: 'count(*) WITH TIMEZONE' }, 'its select begins another clause with WITH'],
    [{ from: '' }, 'its from is empty'],
    [{ from: 'A WHERE true' }, 'its from begins another clause with WHERE'],
    [{ from: 'A, B FACET c' }, 'its from begins another clause with FACET'],
    [{ from: "'A'" }, 'its from does not name events, metrics or a subquery'],
    [{ from: 'A,' }, 'its from does not name events, metrics or a subquery'],
    [{ from: '(count(*))' }, 'its from does not name events, metrics or a subquery'],
    [{ from: 'A B' }, 'its from does not name events, metrics or a subquery'],
    [{ from: '(SELECT max(a) FROM A FACET b)' }, /^its from FACET of an inner query without LIMIT/],
    [{ where: ' ' }, 'its where is empty'],
    [{ where: 'a = 1) OR (b = 2' }, 'its where has a ) without its counterpart'],
    [{ where: 'a = 1, b = 2' }, 'its where is not one condition'],
    [{ where: 'a = 1 FACET b' }, 'its where begins another clause with FACET'],
    [{ where: 'a = 1 COMPARE WITH 1 day ago' }, /^its where remove COMPARE WITH/],
    [{ where: "a = 'x\\'" }, /^its where opens a quote/],
    [{ where: 'a IN (FROM B SELECT uniques(b) UNTIL now)' }, /^its where remove UNTIL/],
    [{ eventId: 'a, b' }, 'its eventId is not one attribute'],
    [{ eventId: 'a IN (1) OR b' }, 'its eventId is not one attribute'],
    [{ eventId: "'a'" }, 'its eventId is not one attribute'],
    [{ eventId: '' }, 'its eventId is empty'],
    [{ where: `a = '${'x'.repeat(4_000)}'` }, 'has more than 4000 characters'],
  ] as const)('is refused with %j', (part, why) => {
    expect(refusal(part)).toMatch(why);
  });

  it('cannot change the clauses or the columns of the query, whatever its text', () => {
    const words = fc.constantFrom(
      ...['count(*)', 'max(a)', '(', ')', '[', ']', ',', "'", '"', '`', '\\', '--', '//', '/*', '*/', '\n', ' ', 'AS'],
      ...['x', '* 2', 'FROM', 'WHERE', 'FACET', 'LIMIT 5', 'SINCE 1', 'UNTIL', 'COMPARE WITH', 'SELECT', 'a = 1', 'OR'],
      ...['AND', "'text'", '`name`', 'WITH', 'ORDER BY', 'percentile(a, 75)', '{', '}', '(FROM A SELECT max(b))'],
    );
    const text = fc.array(words, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(' '));
    let read = 0;
    fc.assert(
      fc.property(fc.record({ select: text, from: text, where: fc.option(text), eventId: text }), (part) => {
        const definition = { ...PLAIN, ...part };
        for (const one of ['select', 'from', 'where', 'eventId'] as const) {
          const alone = { ...PLAIN, [one]: definition[one] };
          if (refusal(alone) !== undefined) continue;
          read += 1;
          const { source, select } = readDefinition(alone);
          // Keeps the text before the range, because the reader of queries refuses SINCE and UNTIL.
          const [query = ''] = goldenQuery(source, ['max(before)', select], ['guid'], RANGE, 'mixed').split(
            / SINCE \d{13} UNTIL/,
          );
          const statement = readStatement(query);
          expect(statement.problems).toEqual([]);
          expect(statement.columns.map(({ key }) => key)).toEqual(['n', 'm0', 'm1']);
          expect(statement.facets.map(({ name }) => name)).toEqual([source.attribute]);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(read).toBeGreaterThan(500);
  });
});

describe('the query for golden metrics', () => {
  const { source, select } = readDefinition({ ...PLAIN, where: 'a = 1 OR b = 2' });

  it('begins with a count, names its columns, keeps the condition in brackets, and has no limit of facets', () => {
    expect(goldenQuery(source, [select, 'max(x)'], ['QQ', "it's"], RANGE, 'mixed')).toBe(
      'SELECT count(*) AS n, average(duration) AS m0, max(x) AS m1 FROM PageView ' +
        "WHERE (a = 1 OR b = 2) AND entityGuid IN ('QQ', 'it\\'s') " +
        'FACET entityGuid SINCE 1800000000000 UNTIL 1800000300000 LIMIT MAX',
    );
  });

  it.each([
    ['Metric', 'datapointCount()'],
    ['`Metric`', 'datapointCount()'],
    [' metric ', 'datapointCount()'],
    ['Metric, PageView', 'count(*)'],
    ['MetricSample', 'count(*)'],
    ['DoraMetricsSample', 'count(*)'],
    ['(FROM Metric SELECT max(a) FACET entityGuid LIMIT MAX)', 'count(*)'],
  ])('counts the records of %s with %s, because count(*) of metrics adds up their counts', (from, count) => {
    const { source: other, select: column } = readDefinition({ ...PLAIN, from });
    expect(goldenQuery(other, [column], ['QQ'], RANGE, 'mixed')).toMatch(
      `SELECT ${count} AS n, average(duration) AS m0 `,
    );
  });

  const query = (selects: readonly string[], querySource = source): string =>
    goldenQuery(querySource, selects, ['QQ'], RANGE, 'mixed');
  const sourceOf = (part: Partial<GoldenDefinition>) => readDefinition({ ...PLAIN, from: 'Metric', ...part }).source;

  it.each([
    [{ select: 'average(apm.service.transaction.duration)' }, true],
    [{ select: "sum(newrelic.timeslice.value['total'])" }, true],
    [{ select: 'max(`apm.service.memory.physical`)' }, true],
    [{ where: 'apm.service.cpu IS NOT NULL' }, true],
    [{ select: 'max(apmduration)', where: "metricName = 'apm.service.transaction.duration' AND my.apm.x = 1" }, false],
    [{ select: 'average(newrelic.timeslice.valued)' }, false],
  ])(
    'of %j counts no records of other data and shares no source with it, if it reads timeslices',
    (part, isOfTimeslices) => {
      const partSource = sourceOf(part);
      expect(partSource.isOfTimeslices).toBe(isOfTimeslices);
      expect(query(['max(a)'], partSource).startsWith('SELECT datapointCount() AS n, ')).toBe(!isOfTimeslices);
      const isShared = sourceKey(partSource) === sourceKey({ ...partSource, isOfTimeslices: !isOfTimeslices });
      expect(isShared).toBe(false);
    },
  );

  it.each([
    ['rate(count(apm.b), 1 minute)', 'm1, m0, m2'],
    ['count(apm.b)', 'm1, m0, m2'],
    ['RATE ( sum(apm.b), 1 minute )', 'm1, m0, m2'],
    ['count(apm.b) / count(apm.c)', 'm0, m1, m2'],
    ['sum(apm.b) / count(apm.c)', 'm0, m1, m2'],
  ])('of timeslices begins with a column that counts, if it has such a column: %s', (select, order) => {
    const text = query(['max(apm.a)', select, 'min(apm.a)'], sourceOf({ select }));
    expect([...text.matchAll(/ AS (m\d)/g)].map(([, name]) => name).join(', ')).toBe(order);
  });

  const ids = ['12', '012', '9007199254740992', '0', 'a|b'];
  const domain = readDefinition({ ...PLAIN, eventId: '`monitor id`', eventObjectId: 'DOMAIN_IDS' }).source;

  it('asks for each id that may be a number as a number and as text, in one list', () => {
    expect(goldenQuery(domain, [], ids, RANGE, 'mixed')).toContain(
      "WHERE `monitor id` IN (12, '12', '012', '9007199254740992', 0, '0', 'a|b') FACET `monitor id` ",
    );
  });

  it('asks for numbers and texts in separate lists where New Relic refuses a mixed list', () => {
    expect(goldenQuery(domain, [], ids, RANGE, 'separate')).toContain(
      "WHERE (`monitor id` IN (12, 0) OR `monitor id` IN ('12', '012', '9007199254740992', '0', 'a|b')) FACET",
    );
    expect(goldenQuery(domain, [], ['a'], RANGE, 'separate')).toContain("WHERE `monitor id` IN ('a') FACET");
  });

  it('is never longer than its estimated length', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.nat().map(String)), { minLength: 1 }), (some) => {
        for (const each of [source, domain]) {
          const said = frameLength(each) + some.reduce((sum, id) => sum + idLength(id, each.eventObjectId), 0);
          for (const form of ['mixed', 'separate'] as const) {
            expect(goldenQuery(each, [], some, RANGE, form).length).toBeLessThanOrEqual(said);
          }
        }
      }),
    );
  });
});

describe('the id in the records of an entity', () => {
  const guidOf = (text: string): string => Buffer.from(text).toString('base64');

  it.each([
    [guidOf('1|SYNTH|MONITOR|a-b'), 'a-b'],
    [guidOf('1|INFRA|NA|-42').replace(/=+$/, ''), '-42'],
    [guidOf('1|INFRA|NA|'), undefined],
    ['no guid', undefined],
  ])('is the last part of the decoded guid %s, where the definition says so', (guid, expected) => {
    expect(recordId(guid, 'DOMAIN_IDS')).toBe(expected);
    expect(recordId(guid, 'ENTITY_GUIDS')).toBe(guid);
  });
});
