import { describe, expect, it } from 'vitest';
import { datastoreNames } from '../../src/formulas/metricInputs.ts';

describe('datastoreNames', () => {
  it('finds the datastore types, sorted, each once', () => {
    const names = ['Datastore/Redis/allWeb', 'External/allWeb', 'Datastore/MySQL/allWeb', 'Datastore/Redis/allWeb'];
    expect(datastoreNames(names)).toEqual(['Datastore/MySQL/allWeb', 'Datastore/Redis/allWeb']);
  });

  it.each([
    'Datastore/allWeb',
    'Datastore//allWeb',
    'Datastore/MySQL/all',
    'Datastore/MySQL/allWebX',
    'Datastore/operation/MySQL/allWeb',
    'X/Datastore/MySQL/allWeb',
    'datastore/MySQL/allWeb',
  ])('does not take %s for a datastore type', (name) => {
    expect(datastoreNames([name])).toEqual([]);
  });
});
