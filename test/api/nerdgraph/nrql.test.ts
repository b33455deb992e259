import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinWithAnd, joinWithOr, whereIn, whereLike, writeNrql, TIMESLICE } from '../../../src/api/nerdgraph/nrql.ts';

const RANGE = { from: 1_795_095_300, to: 1_795_097_100 };
const COUNT = `count(${TIMESLICE}) AS c`;

/** The literals of a text. A quote ends a literal unless a backslash precedes the quote. */
function literalsOf(text: string): { readonly literals: string[]; readonly rest: string } {
  const literals: string[] = [];
  let rest = '';
  let literal: string | undefined;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (literal === undefined) {
      if (character === "'") literal = '';
      else rest += character;
    } else if (character === '\\') {
      index += 1;
      literal += text[index] ?? '';
    } else if (character === "'") {
      literals.push(literal);
      rest += '?';
      literal = undefined;
    } else {
      literal += character;
    }
  }
  if (literal !== undefined) throw new Error(`a literal does not end: ${text}`);
  return { literals, rest };
}

/** Any texts, including texts that try to end their quotes. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom("'", '\\', '"', '`', '%', '_', ' ', ')', '(', ',', '\n', 'a', '\u0000', '\ud800'),
  }),
  fc.constantFrom("' OR appId = 1 --", "\\' OR '' = '", 'a\\', "x') SINCE 1 day ago //"),
);

describe('a NRQL query', () => {
  it('reads as New Relic expects it', () => {
    const where = joinWithAnd([
      whereIn('appId', [1, 2]),
      joinWithOr([
        whereIn('metricTimesliceName', ['HttpDispatcher']),
        whereLike('metricTimesliceName', 'Datastore/%/allWeb'),
      ]),
    ]);
    const query = { select: COUNT, where, facet: ['appId', 'metricTimesliceName'], range: RANGE } as const;
    expect(writeNrql(query)).toBe(
      'SELECT count(newrelic.timeslice.value) AS c FROM Metric ' +
        "WHERE appId IN (1,2) AND (metricTimesliceName = 'HttpDispatcher' OR metricTimesliceName LIKE 'Datastore/%/allWeb') " +
        'FACET appId, metricTimesliceName SINCE 1795095300000 UNTIL 1795097100000 LIMIT MAX',
    );
  });

  it.each([
    ['an equality', whereIn('host', ["it's"]), "host = 'it\\'s'"],
    ['a backslash', whereIn('host', ['C:\\x']), "host = 'C:\\\\x'"],
    [
      'conditions in conditions',
      joinWithAnd(['a', joinWithOr(['b', joinWithAnd(['c', '', joinWithOr(['d'])])])]),
      'a AND (b OR (c AND d))',
    ],
    ['no condition as nothing', joinWithAnd([joinWithOr([]), joinWithOr(['']), joinWithAnd([])]), ''],
  ])('writes %s', (_, condition, text) => {
    expect(condition).toBe(text);
  });

  it('asks for buckets of a minute', () => {
    const query = {
      select: COUNT,
      where: whereIn('appId', [1]),
      facet: ['metricTimesliceName'],
      range: RANGE,
    } as const;
    expect(writeNrql({ ...query, bucketMinutes: 1 })).toMatch(/ LIMIT MAX TIMESERIES 1 minute$/);
    expect(writeNrql({ ...query, bucketMinutes: 60 })).toMatch(/ LIMIT MAX TIMESERIES 60 minutes$/);
  });

  it('asks for names without a row limit, because they come in one row', () => {
    const select = 'uniques(metricTimesliceName, 10000) AS names';
    expect(writeNrql({ select, where: whereIn('appId', [1]), range: RANGE })).toBe(
      'SELECT uniques(metricTimesliceName, 10000) AS names FROM Metric WHERE appId = 1 SINCE 1795095300000 UNTIL 1795097100000',
    );
  });

  it('keeps any text inside its quotes, and the text reads back unchanged', () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 5 }), hostile, (names, pattern) => {
        const [first = ''] = names;
        const where = joinWithAnd([
          whereIn('metricTimesliceName', names),
          joinWithOr([whereLike('metricTimesliceName', pattern), whereIn('host', [first])]),
        ]);
        const text = writeNrql({ select: COUNT, where, facet: ['appId'], range: RANGE });
        const { literals, rest } = literalsOf(text);
        expect(literals).toEqual([...names, pattern, first]);
        expect(rest).toBe(
          `SELECT count(newrelic.timeslice.value) AS c FROM Metric WHERE metricTimesliceName ${names.length === 1 ? '= ?' : `IN (${names.map(() => '?').join(',')})`} ` +
            'AND (metricTimesliceName LIKE ? OR host = ?) FACET appId SINCE 1795095300000 UNTIL 1795097100000 LIMIT MAX',
        );
      }),
      { numRuns: 2_000 },
    );
  });
});
