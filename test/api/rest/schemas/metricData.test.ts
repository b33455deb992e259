import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Discarded } from '../../../../src/api/http/validation.ts';
import { type RestTimeslice, parseMetricData } from '../../../../src/api/rest/restColumns.ts';

const RANGE = { from: 600, to: 2_400 };
const slice = (values: unknown, minute = 10): unknown => ({
  from: `1970-01-01T00:${minute}:00+00:00`,
  to: `1970-01-01T00:${minute + 1}:00+00:00`,
  values,
});
const body = (...metrics: unknown[]): unknown => ({ metric_data: { metrics } });
const metric = (name: unknown, ...timeslices: unknown[]): unknown => ({ name, timeslices });

function parse(value: unknown): { data: ReadonlyMap<string, readonly RestTimeslice[]>; words: string | undefined } {
  const leftOut = new Discarded();
  const data = parseMetricData(value, RANGE, leftOut);
  return { data, words: leftOut.summary() || undefined };
}

/** The values of the only timeslice of a metric. */
const valuesOf = (data: ReadonlyMap<string, readonly RestTimeslice[]>, name: string): unknown => ({
  ...data.get(name)?.[0]?.values,
});

describe('parseMetricData', () => {
  it('reads timeslices by metric, oldest first, in Unix seconds', () => {
    const { data, words } = parse(
      body(metric('Apdex', slice({ score: 1 }, 12), slice({ score: 0.5 }, 11)), metric('Empty', slice({}))),
    );
    expect(data.get('Apdex')).toEqual([
      { from: 660, to: 720, values: { score: 0.5 } },
      { from: 720, to: 780, values: { score: 1 } },
    ]);
    expect(data.get('Empty')).toEqual([{ from: 600, to: 660, values: {} }]);
    expect(words).toBeUndefined();
  });

  it('keeps an inclusive end unchanged', () => {
    const timeslice = { from: '1970-01-01T00:10:00+00:00', to: '1970-01-01T00:10:59+00:00', values: {} };
    expect(parse(body(metric('a', timeslice))).data.get('a')?.[0]?.to).toBe(659);
  });

  it('has nothing for a metric that was not found', () => {
    const value = { metric_data: { metrics_not_found: ['Foo'], metrics_found: [], metrics: [] } };
    expect(parse(value)).toEqual({ data: new Map(), words: undefined });
  });

  it.each([[null], [{}], [{ metric_data: null }], [{ metric_data: {} }], [{ metric_data: { metrics: {} } }]])(
    'refuses %j',
    (value) => {
      expect(() => parse(value)).toThrow('the response has no "metric_data" with "metrics"');
    },
  );

  it.each([['5'], [true], [[5]], [{}], [Infinity], [-Infinity]])('leaves out the value %j', (bad) => {
    const { data, words } = parse(body(metric('a', slice({ bad, call_count: 3 }))));
    expect(valuesOf(data, 'a')).toEqual({ call_count: 3 });
    expect(words).toBe('left out 1 bad value, the first: metrics.timeslices.values');
  });

  it.each(['call_count', 'error_count', 'requests_per_minute', 'average_response_time', 'score', 'percent'])(
    'leaves out a %s below 0, which is impossible',
    (name) => {
      expect(valuesOf(parse(body(metric('HttpDispatcher', slice({ [name]: -1 })))).data, 'HttpDispatcher')).toEqual({});
    },
  );

  it('keeps values below 0 where they are possible', () => {
    const values = { average_value: -1, min_value: -5 };
    expect(valuesOf(parse(body(metric('JmxBuiltin/x', slice(values)))).data, 'JmxBuiltin/x')).toEqual(values);
    const custom = { average_response_time: -1_000, average_value: -1 };
    expect(valuesOf(parse(body(metric('Custom/x', slice(custom)))).data, 'Custom/x')).toEqual(custom);
  });

  it.each([
    ['no times', { values: {} }],
    ['a time that cannot be read', { ...(slice({}) as object), from: 'now' }],
    ['a time without an offset', { ...(slice({}) as object), to: '1970-01-01T00:11:00' }],
    ['an end before its start', { ...(slice({}) as object), to: '1970-01-01T00:09:00Z' }],
    ['no shape at all', 'x'],
  ])('treats a metric as unknown with a timeslice that has %s, because its time is uncertain', (_, bad) => {
    const { data, words } = parse(body(metric('a', bad, slice({ call_count: 1 }))));
    expect(data.get('a')).toEqual([{ ...RANGE, values: {} }]);
    expect(words).toBe('left out 1 bad value, the first: metrics.timeslices');
  });

  it.each([
    ['a value', slice({ average_response_time: null, call_count: 0 }), [{ call_count: 0 }]],
    ['all values', slice({ average_response_time: null, call_count: null }), [{}]],
    ['the values', slice(null), [{}]],
  ])('treats null for %s as absent, without a fault', (_, timeslice, expected) => {
    const { data, words } = parse(body(metric('a', timeslice)));
    expect([data.get('a')?.map(({ values }) => values), words]).toEqual([expected, undefined]);
  });

  it('treats a metric with null timeslices as unknown, without a fault', () => {
    const { data, words } = parse(body({ name: 'a', timeslices: null }));
    expect([data.get('a'), words]).toEqual([[{ ...RANGE, values: {} }], undefined]);
  });

  it('keeps the time of a timeslice without values, because it does not mean that nothing happened', () => {
    const { data, words } = parse(body(metric('a', slice(5), slice({ call_count: 1 }, 11))));
    expect(data.get('a')?.map(({ values }) => values)).toEqual([{}, { call_count: 1 }]);
    expect(words).toBe('left out 1 bad value, the first: metrics.timeslices');
  });

  it('counts a repeated timeslice once', () => {
    const { data, words } = parse(body(metric('a', slice({ s: 1 }), slice({ s: 2 }), slice({ s: 3 }, 11))));
    expect(data.get('a')?.map(({ values }) => values['s'])).toEqual([1, 3]);
    expect(words).toBe('left out 1 bad value, the first: metrics.timeslices');
  });

  it.each([[null], [5], [{ timeslices: [] }], [metric('')], [metric(5)]])('leaves out the metric %j', (bad) => {
    const { data, words } = parse(body(bad, metric('a', slice({ call_count: 1 }))));
    expect([...data.keys()]).toEqual(['a']);
    expect(words).toBe('left out 1 bad record, the first: metrics');
  });

  it('fails when no metric can be read', () => {
    expect(() => parse(body(metric(5), null))).toThrow('none of the 2 metrics');
  });

  it('takes the first of two metrics with the same name', () => {
    const { data, words } = parse(body(metric('a', slice({ s: 1 })), metric('a', slice({ s: 2 }))));
    expect(valuesOf(data, 'a')).toEqual({ s: 1 });
    expect(words).toBe('left out 1 bad record, the first: metrics');
  });

  it.each<[string, unknown]>([
    ['its timeslices are bad', body({ name: 'Errors/all', timeslices: 'none' }, metric('a', slice({})))],
    ['its only timeslice is bad', body(metric('Errors/all', 'x'), metric('a', slice({})))],
    ['it has no timeslice', body(metric('Errors/all'))],
    ['it is only named as found', { metric_data: { metrics_found: ['Errors/all', 5], metrics: [] } }],
  ])('marks a metric as answered although %s', (_, value) => {
    expect(parse(value).data.get('Errors/all')).toEqual([{ ...RANGE, values: {} }]);
  });

  it('has no value that was not answered, whatever its name', () => {
    const text =
      '{"metric_data":{"metrics":[{"name":"__proto__","timeslices":[' +
      JSON.stringify(slice({})).replace('{}', '{"__proto__":5}') +
      ']}]}}';
    const { data } = parse(JSON.parse(text));
    const values = data.get('__proto__')?.[0]?.values;
    expect(Object.entries(values ?? {})).toEqual([['__proto__', 5]]);
    expect(Object.hasOwn(values ?? {}, 'constructor')).toBe(false);
    expect(({} as Record<string, unknown>)['5']).toBeUndefined();
  });

  it('never has a value that is not finite, for any body', () => {
    const keys = ['name', 'timeslices', 'from', 'to', 'values', 'call_count', '__proto__'];
    const any = fc.anything({ key: fc.constantFrom(...keys), maxDepth: 5 });
    const values = fc.dictionary(fc.string(), fc.anything({ maxDepth: 0 }));
    fc.assert(
      fc.property(fc.array(any), values, (metrics, some) => {
        const { data } = parse(body(metric('a', slice(some)), ...metrics));
        return [...data.values()].flat().every((each) => Object.values(each.values).every(Number.isFinite));
      }),
    );
  });
});
