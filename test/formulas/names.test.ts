import { describe, expect, it } from 'vitest';
import { datastoreNames, queryNames, usedValues } from '../../src/formulas/names.ts';

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

describe('queryNames', () => {
  it('gives every metric of the calculations, the datastore types last', () => {
    expect(queryNames(['Datastore/MySQL/allWeb'])).toEqual([
      'Apdex',
      'EndUser/Apdex',
      'EndUser',
      'HttpDispatcher',
      'OtherTransaction/all',
      'Errors/all',
      'WebTransactionTotalTime',
      'WebFrontend/QueueTime',
      'Database/allWeb',
      'ActiveRecord/all',
      'Memcache/allWeb',
      'External/allWeb',
      'Memory/Physical',
      'CPU/User Time',
      'Datastore/MySQL/allWeb',
    ]);
  });
});

describe('usedValues', () => {
  it('names values of every queried metric, and of no other', () => {
    for (const name of queryNames(['Datastore/MySQL/allWeb'])) expect(usedValues(name)).not.toEqual([]);
    expect(usedValues('Custom/Queue/depth')).toEqual([]);
    expect(usedValues('constructor')).toEqual([]);
  });
});
