import { describe, expect, it } from 'vitest';
import {
  matchCustomMetrics,
  customMetrics,
  customSamples,
  type CustomMetricDefinition,
} from '../../src/metrics/customMetrics.ts';

const DEPTH: CustomMetricDefinition = {
  name: 'newrelic_custom_queue_depth',
  help: 'Jobs waiting in each queue.',
  match: 'Custom/Queue/{queue}/depth',
  value: 'average_value',
  scale: 1,
  scope: 'application',
  max_series: 100,
};

const NAMES = ['Custom/Queue/mail/depth', 'Custom/Queue/jobs/depth', 'Custom/Queue/jobs/age', 'HttpDispatcher'];

const readOf = (value: number, ...names: readonly string[]) => ({
  seconds: 1800,
  metrics: new Map(names.map((name) => [name, { values: { average_value: value } }])),
});

const read = (definitions: readonly CustomMetricDefinition[], names: readonly string[], entities?: number) => {
  const { matches, cut } = matchCustomMetrics(customMetrics(definitions), names, entities);
  return { names: matches.map(({ metricName }) => metricName), cut: Object.fromEntries(cut) };
};

describe('customMetrics', () => {
  it('describes source and time base in HELP', () => {
    expect(customMetrics([DEPTH])[0]?.family).toEqual({
      name: 'newrelic_custom_queue_depth',
      help:
        'Jobs waiting in each queue. Source: Custom/Queue/{queue}/depth:average_value. ' +
        'Time base: collection window; refreshed at most once a minute.',
      ...{ type: 'gauge', unit: undefined, group: 'custom_metrics', labelNames: ['queue'] },
    });
  });

  it('gives definitions of the same name one family', () => {
    const [first, second] = customMetrics([DEPTH, { ...DEPTH, match: 'Custom/OldQueue/{queue}/depth' }]);
    expect(second?.family).toBe(first?.family);
    expect(second?.template.filter).toBe('Custom/OldQueue/');
  });
});

describe('customMatches', () => {
  it('finds the matching names, sorted, with their labels', () => {
    const { matches, cut } = matchCustomMetrics(customMetrics([DEPTH]), NAMES);
    expect(matches.map(({ metricName, labels }) => [metricName, labels])).toEqual([
      ['Custom/Queue/jobs/depth', { queue: 'jobs' }],
      ['Custom/Queue/mail/depth', { queue: 'mail' }],
    ]);
    expect(cut.size).toBe(0);
  });

  it('keeps the first names in sorted order where they exceed max_series', () => {
    const expected = { names: ['Custom/Queue/jobs/depth'], cut: { newrelic_custom_queue_depth: 1 } };
    expect(read([{ ...DEPTH, max_series: 1 }], NAMES)).toEqual(expected);
    expect(read([{ ...DEPTH, max_series: 1 }], NAMES.toReversed())).toEqual(expected);
    expect(read([{ ...DEPTH, max_series: 1 }], [...NAMES, ...NAMES])).toEqual(expected);
  });

  it.each([
    ['no hosts', 5, 0, 2, 0, 0],
    ['fewer series than the cap', 100, 4, 2, 8, 0],
    ['more hosts than the cap has series', 100, 101, 1, 100, 1],
    ['a cap that ends inside a name', 5, 4, 2, 5, 3],
    ['a cap that ends with a name', 8, 4, 3, 8, 4],
  ])('gives all hosts together at most max_series series: %s', (_, max_series, hosts, names, published, cut) => {
    const metricNames = Array.from({ length: names }, (_name, index) => `Custom/Queue/q${index}/depth`);
    const found = matchCustomMetrics(customMetrics([{ ...DEPTH, scope: 'host', max_series }]), metricNames, hosts);
    const values = readOf(1, ...metricNames);
    const series = Array.from({ length: hosts }, (_host, rank) => customSamples(found.matches, values, rank)).flat();
    expect(series).toHaveLength(published);
    expect(found.cut.get('newrelic_custom_queue_depth') ?? 0).toBe(cut);
  });

  it('reads only the first of several names that give the same series', () => {
    const definition = { ...DEPTH, match: 'Custom/*/{queue}/depth' };
    expect(read([definition], ['Custom/B/jobs/depth', 'Custom/A/jobs/depth', 'Custom/A/mail/depth'])).toEqual({
      names: ['Custom/A/jobs/depth', 'Custom/A/mail/depth'],
      cut: { newrelic_custom_queue_depth: 1 },
    });
  });

  it('never gives two definitions of one family the same series', () => {
    const second = { ...DEPTH, match: 'Custom/Queue/{queue}/**' };
    expect(read([DEPTH, second], [...NAMES, 'Custom/Queue/new/depth2'])).toEqual({
      names: ['Custom/Queue/jobs/depth', 'Custom/Queue/mail/depth', 'Custom/Queue/new/depth2'],
      cut: { newrelic_custom_queue_depth: 3 },
    });
  });

  it('keeps families of equal labels apart', () => {
    const age = { ...DEPTH, name: 'newrelic_custom_queue_age', match: 'Custom/Queue/{queue}/age' };
    expect(read([DEPTH, age], NAMES).names).toHaveLength(3);
  });

  it('captures no labels where the template is a plain name', () => {
    const { matches } = matchCustomMetrics(customMetrics([{ ...DEPTH, match: 'Custom/Queue/jobs/depth' }]), NAMES);
    expect(matches.map(({ labels }) => labels)).toEqual([undefined]);
  });

  it('writes labels in the order of the family', () => {
    const two = [
      { ...DEPTH, match: 'Custom/A/{queue}/{kind}' },
      { ...DEPTH, match: 'Custom/B/{kind}/{queue}' },
    ];
    const { matches } = matchCustomMetrics(customMetrics(two), ['Custom/A/q/k', 'Custom/B/k2/q2']);
    expect(matches.map(({ labels }) => Object.entries(labels ?? {}).join(' '))).toEqual([
      'queue,q kind,k',
      'queue,q2 kind,k2',
    ]);
  });
});

describe('customSamples', () => {
  const { matches } = matchCustomMetrics(customMetrics([{ ...DEPTH, scale: 0.001 }]), NAMES);

  it('scales the value', () => {
    const samples = customSamples(matches, readOf(2500, 'Custom/Queue/jobs/depth', 'Custom/Queue/mail/depth'));
    expect(samples.map(({ family, labels, value }) => [family.name, labels, value])).toEqual([
      ['newrelic_custom_queue_depth', { queue: 'jobs' }, 2.5],
      ['newrelic_custom_queue_depth', { queue: 'mail' }, 2.5],
    ]);
  });

  it('gives no sample where upstream lacks the metric or its value', () => {
    const values = { seconds: 1800, metrics: new Map([['Custom/Queue/jobs/depth', { values: { call_count: 1 } }]]) };
    expect(customSamples(matches, values)).toEqual([]);
    const odd = matchCustomMetrics(customMetrics([{ ...DEPTH, value: 'constructor' }]), NAMES).matches;
    expect(customSamples(odd, values)).toEqual([]);
  });

  it('gives no sample where the product is not finite', () => {
    const huge = matchCustomMetrics(customMetrics([{ ...DEPTH, scale: 1e300 }]), NAMES).matches;
    expect(customSamples(huge, readOf(1e300, ...NAMES))).toEqual([]);
  });
});
