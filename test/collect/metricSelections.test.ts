import { describe, expect, it } from 'vitest';
import { MetricSelections, type SelectionInput } from '../../src/collect/inventory/selection.ts';
import { customMetrics } from '../../src/metrics/customMetrics.ts';
import { customMetric } from './support/config.ts';

const DEPTH = customMetric({ name: 'depth', match: 'Custom/Depth/{of}' });

const application = (datastores: readonly string[], customNames: readonly string[]): SelectionInput => ({
  ...{ datastores, customNames, hosts: new Map(), selected: {} },
});

describe('the requests for metric data', () => {
  const selections = new MetricSelections(customMetrics([DEPTH]));
  const select = (...input: Parameters<typeof application>) =>
    selections.select(application(...input), 'application').metrics;

  it('are one object for applications with the same request', () => {
    const named = [['Datastore/MySQL/allWeb'], ['Custom/Depth/a', 'Custom/Depth/b']] as const;
    expect(select(...named)).toBe(select(...named));
    expect(select([], [])).toBe(select([], []));
    expect(select(['Datastore/MySQL/allWeb'], [])).toBe(select(['Datastore/MySQL/allWeb'], ['Other/c']));
  });

  it('differ by datastores and by the names and values of custom metrics', () => {
    const requests = [select([], []), select(['Datastore/MySQL/allWeb'], []), select([], ['Custom/Depth/a'])];
    expect(new Set(requests).size).toBe(3);
    const [, withDatastore, withCustom] = requests;
    expect(withDatastore?.names).toContain('Datastore/MySQL/allWeb');
    expect(withCustom?.names).toContain('Custom/Depth/a');
    expect(withCustom?.values?.get('Custom/Depth/a')).toEqual(['average_value']);
  });

  it('are built once for an application until their inputs change', () => {
    const data = application([], []);
    const before = selections.select(data, 'application');
    data.customNames = ['Custom/Depth/a'];
    expect(selections.select(data, 'application')).toBe(before);
    data.selected = {};
    expect(selections.select(data, 'application').metrics.names).toContain('Custom/Depth/a');
  });
});
