import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeColumnProblems, readRows, UnreadableRows, explainIncomplete } from '../../src/nrql/queryRows.ts';
import type { QueryRows, RowRules } from '../../src/nrql/queryRows.ts';

const PLAIN = { scale: 1, hasPercentiles: false, isFiltered: false };

const RULES: RowRules = {
  facets: ['region', 'plan'],
  labels: ['region', 'plan'],
  metrics: [{ ...PLAIN, column: 'orders' }],
  onlyColumn: undefined,
  limit: undefined,
  failAt: undefined,
  maxSeries: 5_000,
};

const resultOf = (rows: readonly unknown[], facets: readonly string[] = [], otherResult?: unknown): QueryRows => {
  return { rows, facets, otherResult };
};

const one = { ...RULES, facets: ['region'], labels: ['region'] };
const none = { ...RULES, facets: [], labels: [] };
const read = (rows: readonly unknown[], rules: RowRules = RULES, facets?: readonly string[]) =>
  readRows(resultOf(rows, facets ?? rules.facets.map(String)), rules);

describe('the labels of a row', () => {
  it('are its facets in the order of the query text, not in the order of the result', () => {
    const rows = [{ facet: ['eu', 'basic'], planregion: ['eu', 'basic'], region: 'basic', plan: 'eu', orders: 4 }];
    expect(read(rows, RULES, ['plan', 'region']).series).toEqual([
      [{ labels: { region: 'basic', plan: 'eu' }, value: 4 }],
    ]);
  });

  it('follow the order of the query text where New Relic gives the facets other names', () => {
    const rows = [{ facet: ['eu', 'basic'], orders: 4 }];
    for (const facets of [['substring(region, 0, 2)', 'Plan'], []])
      expect(read(rows, RULES, facets).series[0]?.[0]?.labels).toEqual({ region: 'eu', plan: 'basic' });
  });

  it.each([
    ['a text', { facet: 'eu' }, 'eu'],
    ['a list of one', { facet: ['eu'] }, 'eu'],
    ['a number', { facet: 5 }, '5'],
    ['true', { facet: true }, 'true'],
    ['null', { facet: null }, ''],
    ['null in a list', { facet: [null] }, ''],
    ['the attribute alone', { region: 'eu' }, 'eu'],
    ['the attribute alone, null', { region: null }, ''],
    ['the list that one attribute is', { facet: ['a', 'b'], region: ['a', 'b'] }, '["a","b"]'],
    ['such a list alone', { facet: ['a', 'b'] }, '["a","b"]'],
    ['such a list of one', { facet: ['a'], region: ['a'] }, '["a"]'],
    ['such a list of none', { facet: [], region: [] }, '[]'],
    ['such a list of numbers and null', { facet: [1, null], region: [1, null] }, '[1,null]'],
    ['such a list in the list of one facet', { facet: [['a', 'b']], region: [['a', 'b']] }, '[["a","b"]]'],
    ['a list under the name of the attribute alone', { region: ['a', 'b'] }, '["a","b"]'],
  ])('are read from %s', (_what, row, region) => {
    expect(read([{ ...row, orders: 1 }], one).series).toEqual([[{ labels: { region }, value: 1 }]]);
  });

  it('are read from several facets, one of which is a list', () => {
    const rows = [
      { facet: [['a', 'b'], 'x'], regionplan: [['a', 'b'], 'x'], orders: 1 },
      { facet: ['x', ['a']], orders: 2 },
      { facet: ['a', 'b', 'y'], region: ['a', 'b'], plan: 'y', orders: 3 },
    ];
    expect(read(rows).series[0]?.map(({ labels }) => labels)).toEqual([
      { region: '["a","b"]', plan: 'x' },
      { region: 'x', plan: '["a"]' },
      { region: '["a","b"]', plan: 'y' },
    ]);
  });

  it('are empty for a query without FACET, which gives one series', () => {
    expect(read([{ orders: 7 }], none).series).toEqual([[{ labels: {}, value: 7 }]]);
  });

  it.each([[[{ facet: 'eu', orders: 1 }]], [[{ orders: 1 }]], [[{ facet: ['a', 'b', 'c'], orders: 1 }]], [[7]]])(
    'cannot be read from %j: the whole response is refused',
    (rows) => {
      expect(() => read(rows)).toThrow(UnreadableRows);
    },
  );
});

describe('the value of a row', () => {
  it.each([
    [2.5, [250]],
    [0, [0]],
    [true, [100]],
    [false, [0]],
    [null, []],
  ])('multiplies %j by 100 to %j', (orders, values) => {
    const { series, dropped } = read([{ orders }], { ...none, metrics: [{ ...PLAIN, column: 'orders', scale: 100 }] });
    expect(series[0]?.map(({ value }) => value)).toEqual(values);
    expect(dropped.not_a_number).toBe(0);
  });

  it.each([['12'], [[1]], [{ s: 1, t: 2 }], [{}], [1e300], [Number.POSITIVE_INFINITY]])(
    'is absent and counted for %j, and the result names the existing columns',
    (orders) => {
      const result = read([{ orders, other: 1 }], {
        ...none,
        metrics: [{ ...PLAIN, column: 'orders', scale: 1e300, hasPercentiles: true }],
      });
      expect(result).toMatchObject({ series: [[]], dropped: { not_a_number: 1 }, badColumns: ['orders'] });
      expect(result.columns).toEqual(['orders', 'other']);
    },
  );

  it('is absent and counted where its column does not exist, also beside a single other column', () => {
    const result = read([{ facet: ['a', 'b'], count: 1 }]);
    expect(result).toMatchObject({ series: [[]], dropped: { not_a_number: 1 }, badColumns: ['orders'] });
    expect(result.columns).toEqual(['count']);
  });

  it('comes from the only column, under any name', () => {
    const only = { ...one, metrics: [{ ...PLAIN, column: undefined }], onlyColumn: 'count' };
    expect(read([{ facet: 'a', region: 'a', count: 3 }], only).series[0]?.[0]?.value).toBe(3);
    expect(read([{ facet: 'a', region: 'a', 'count.*': 3 }], only).series[0]?.[0]?.value).toBe(3);
    expect(read([{ facet: 'a', region: 'a', x: 3, y: 4 }], only).dropped.not_a_number).toBe(1);
  });

  it.each([
    ['AVERAGE.d', { 'average.d': 3 }, 3],
    ['average.d', { 'AVERAGE.d': 3 }, 3],
    ['Average.d', { 'AVERAGE.d': 3, 'Average.d': 4 }, 4],
    ['average.d', { 'AVERAGE.d': 3, 'Average.d': 4 }, undefined],
    ['REGION', { other: 3 }, undefined],
    ['A', { a: 3 }, undefined],
  ])('for the column %s comes from the only key that differs in case alone: %j', (column, columns, value) => {
    const metrics = [column, 'a'].map((each) => ({ ...PLAIN, column: each }));
    const { series } = read([{ facet: '7', region: 7, ...columns }], { ...one, metrics });
    expect(series[0]?.[0]?.value).toBe(value);
    const only = { ...one, metrics: [{ ...PLAIN, column: undefined }], onlyColumn: column };
    const found = read([{ facet: '7', region: 7, ...columns, more: 1 }], only).series[0]?.[0]?.value;
    expect(found).toBe(column === 'A' ? 3 : value);
    const failAt = { value: column, at_least: 1 };
    const judged = () =>
      explainIncomplete(resultOf([{ region: 7, ...columns }], ['region']), { ...one, metrics, failAt });
    if (value === undefined) expect(judged).toThrow(UnreadableRows);
    else expect(judged()).toContain(`is ${String(value)}, and reaches`);
  });

  it('gives a series for each percentile, with the same label for 95 and 95.0', () => {
    const took = [{ orders: { '50': 0.1, '95.0': 0.2, '99.90': null } }, { orders: { '50.0': 1, '95': 'NaN' } }];
    const { series, dropped } = read(
      took.map((row, index) => ({ facet: String(index), ...row })),
      { ...one, metrics: [{ ...PLAIN, column: 'orders', hasPercentiles: true }] },
    );
    expect(series[0]).toEqual([
      { labels: { region: '0', percentile: '50' }, value: 0.1 },
      { labels: { region: '0', percentile: '95' }, value: 0.2 },
      { labels: { region: '1', percentile: '50' }, value: 1 },
    ]);
    expect(dropped).toEqual({ not_a_number: 1, repeated: 0 });
  });

  it.each([
    ['a histogram', { '0': 50, '50': 75 }],
    ['a histogram whose keys are beyond 100', { '0': 50, '400': 75 }],
    ['shares below values', { '1': 90, '5': 99.5 }],
    ['an Apdex', { score: 0.9, s: 1, t: 2, f: 3, count: 6 }],
    ['nothing', {}],
  ])('is absent and counted for %s where the query calls no percentiles', (_what, orders) => {
    expect(read([{ orders, other: 1 }], none)).toMatchObject({
      series: [[]],
      dropped: { not_a_number: 1 },
      badColumns: ['orders'],
    });
  });

  it.each([['101'], ['100.5'], ['400'], ['-1'], ['1e1'], ['score'], ['']])(
    'is absent and counted where the query calls percentiles and a key is %j',
    (key) => {
      const metrics = [{ ...PLAIN, column: 'orders', hasPercentiles: true }];
      const orders = { '50': 1, [key]: 2 };
      expect(read([{ orders }], { ...none, metrics })).toMatchObject({
        series: [[]],
        dropped: { not_a_number: 1 },
      });
      expect(read([{ orders: { '0': 1, '100.0': 2 } }], { ...none, metrics }).series[0]).toEqual([
        { labels: { percentile: '0' }, value: 1 },
        { labels: { percentile: '100' }, value: 2 },
      ]);
    },
  );

  it.each([
    ['another column has a number', [{ orders: null, 'percentile[99.5]': 3 }], ['orders'], ['percentile[99.5]']],
    ['another has percentiles', [{ orders: null, p: { '95': 3 } }], ['orders'], ['p']],
    [
      'some rows have it',
      [
        { orders: null, a: null },
        { orders: null, a: 4 },
      ],
      ['orders'],
      ['a'],
    ],
    [
      'it is not null in each row',
      [
        { orders: null, a: 4 },
        { orders: 0, a: 4 },
      ],
      [],
      ['a'],
    ],
    ['all columns are null', [{ orders: null, a: null }], [], []],
    ['nothing was counted', [{ orders: null, a: 0 }], [], []],
    ['there are no rows', [], [], []],
  ])('names a column as null, and columns with numbers, where %s', (_what, rows, nullColumns, numberColumns) => {
    const named = rows.map((row, index) => ({ facet: String(index), ...row }));
    expect(read(named, one)).toMatchObject({ nullColumns, numberColumns });
    const isFiltered = { ...one, metrics: [{ ...PLAIN, column: 'orders', isFiltered: true }] };
    expect(read(named, isFiltered).nullColumns).toEqual([]);
  });

  it.each([
    [[{ orders: 'x', n: 1 }], 'orders', ['rows without a number in "orders": the columns are "orders", "n"']],
    [
      [{ orders: null, n: 1 }],
      'orders',
      ['only null in "orders", but numbers in "n": check the name in "value", and the spelling of the attribute'],
    ],
    [
      [{ x: 1, y: 2 }],
      undefined,
      ['rows without a number in its only column: the columns are "x", "y": name one of them in "value"'],
    ],
    [[{}], undefined, ['rows without a number in its only column: the rows have no columns']],
  ])('is missing in %j, and a sentence says why', (rows, column, problems) => {
    const reading = read(rows, { ...none, metrics: [{ ...PLAIN, column }] });
    expect(describeColumnProblems(reading)).toEqual(problems);
  });

  it('counts a row with several bad columns once', () => {
    const metrics = ['a', 'b'].map((column) => ({ ...PLAIN, column }));
    const result = read([{ a: 'x', b: 'y' }], { ...none, metrics });
    expect(result).toMatchObject({ dropped: { not_a_number: 1 }, badColumns: ['a', 'b'] });
  });
});

describe('rows with equal labels', () => {
  it('give one series with the value of the first row, and the other rows are counted', () => {
    const rows = [1, 2, 3].map((orders) => ({ facet: 'eu', orders }));
    expect(read([...rows, { facet: 'us', orders: 9 }], one)).toMatchObject({
      series: [[{ value: 1 }, { value: 9 }]],
      dropped: { not_a_number: 0, repeated: 2 },
    });
  });

  it('include rows that differ only in lone surrogates, which are published alike', () => {
    const rows = ['\ud800', '\ud801', '\ufffd'].map((facet) => ({ facet, orders: 1 }));
    const series = [[{ labels: { region: '\ufffd' } }]];
    expect(read(rows, one)).toMatchObject({ series, dropped: { repeated: 2 } });
  });
});

describe('max_series', () => {
  it('limits each metric separately, and the cut series are counted', () => {
    const metrics = ['a', 'b'].map((column) => ({ ...PLAIN, column }));
    const rows = [0, 1, 2].map((n) => ({ facet: String(n), a: n, b: n === 0 ? null : n }));
    const { series, cut } = read(rows, { ...one, metrics, maxSeries: 2 });
    expect(series.map((samples) => samples.map(({ value }) => value))).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(cut).toEqual([1, 0]);
  });
});

describe('a query result', () => {
  const rows = (count: number): unknown[] =>
    Array.from({ length: count }, (_, n) => ({ facet: String(n), incidents: 1 }));

  it('is incomplete with as many rows as New Relic gives at most, unless "limit" allows them', () => {
    expect(explainIncomplete(resultOf(rows(5_000)), one)).toContain('5000 rows');
    expect(explainIncomplete(resultOf(rows(4_999)), one)).toBeUndefined();
    expect(explainIncomplete(resultOf(rows(5_000)), { ...one, limit: 5_000 })).toBeUndefined();
  });

  it.each([[{ count: 1 }], [[{ count: 0 }, { count: -2 }]], [{ a: { '95': 0.5 } }], [{ a: [[{ b: 1 }]] }]])(
    'is incomplete with something in otherResult: %j',
    (otherResult) => {
      expect(explainIncomplete(resultOf([], [], otherResult), one)).toContain('left out rows');
      expect(explainIncomplete(resultOf([], [], otherResult), { ...one, limit: 20 })).toBeUndefined();
    },
  );

  it.each([[undefined], [null], [{ count: 0, 'average.x': null }], [[{ count: 0 }]], [{ name: 'x' }]])(
    'is complete with otherResult %j',
    (otherResult) => {
      expect(explainIncomplete(resultOf([], [], otherResult), one)).toBeUndefined();
    },
  );

  it('is incomplete where a message says so, unless the message concerns rows that "limit" leaves out', () => {
    const saying = (message: string): QueryRows => ({ ...resultOf(rows(3)), messages: ['rolled up', message] });
    const partial = saying('Only partial results are available');
    const cut = saying('Results limited to 5000 rows');
    expect(explainIncomplete(partial, one)).toContain(
      'New Relic reports an incomplete result: Only partial results are available',
    );
    expect(explainIncomplete(partial, { ...one, limit: 20 })).toContain('partial');
    expect(explainIncomplete(cut, one)).toContain('5000 rows');
    expect(explainIncomplete(cut, { ...one, limit: 20 })).toBeUndefined();
    expect(explainIncomplete(saying('cached'), one)).toBeUndefined();
  });

  it('is incomplete where the column of fail_at reaches its threshold over all rows together', () => {
    const failAt = { value: 'incidents', at_least: 20 };
    expect(explainIncomplete(resultOf(rows(19)), { ...one, failAt })).toBeUndefined();
    expect(explainIncomplete(resultOf(rows(20)), { ...one, failAt })).toContain('20');
    expect(explainIncomplete(resultOf(rows(20)), { ...one, failAt, limit: 20 })).toContain('20');
    expect(explainIncomplete(resultOf([]), { ...one, failAt })).toBeUndefined();
    expect(() => explainIncomplete(resultOf(rows(1)), { ...one, failAt: { value: 'x', at_least: 1 } })).toThrow(
      UnreadableRows,
    );
  });
});

it('any rows give finite numbers under the requested labels, each series once, or an error', () => {
  const rows = fc.array(
    fc.record({ facet: fc.oneof(fc.string(), fc.array(fc.jsonValue(), { maxLength: 3 })), orders: fc.jsonValue() }),
  );
  fc.assert(
    fc.property(rows, fc.double(), (some, scale) => {
      let result;
      try {
        result = read(some, {
          ...RULES,
          metrics: [{ ...PLAIN, column: 'orders', scale, hasPercentiles: true }],
          maxSeries: 3,
        });
      } catch (error) {
        expect(error).toBeInstanceOf(UnreadableRows);
        return;
      }
      const [series = []] = result.series;
      expect(series.length).toBeLessThanOrEqual(3);
      expect(series.every(({ value }) => Number.isFinite(value))).toBe(true);
      expect(new Set(series.map(({ labels }) => JSON.stringify(labels))).size).toBe(series.length);
      for (const { labels } of series) expect(Object.keys(labels).slice(0, 2)).toEqual(['region', 'plan']);
    }),
  );
});
