import { describe, expect, it } from 'vitest';
import { componentLabels } from '../../src/metrics/windowTable.ts';

describe('the labels of a component', () => {
  it.each([
    ['Datastore/MySQL/allWeb', 'Datastore/MySQL'],
    ['Memcache/allWeb', 'Memcache'],
    ['ActiveRecord/all', 'ActiveRecord'],
    ['Datastore/all/allWeb', 'Datastore/all'],
    ['Odd', 'Odd'],
  ])('name %s %s', (metricName, component) => {
    expect(componentLabels(metricName)).toEqual({ component });
  });

  it('are one object for all samples of a component', () => {
    expect(componentLabels('External/allWeb')).toBe(componentLabels('External/allWeb'));
  });

  it('stay right however many there are', () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `Datastore/T${index}/allWeb`);
    for (const name of names) componentLabels(name);
    for (const [index, name] of names.entries()) {
      expect(componentLabels(name)).toEqual({ component: `Datastore/T${index}` });
    }
  });
});
