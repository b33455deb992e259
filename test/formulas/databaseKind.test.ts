import { describe, expect, it } from 'vitest';
import type { WindowValues } from '../../src/formulas/metricInputs.ts';
import { databaseKind, databaseMetrics } from '../../src/formulas/derivedValues.ts';

const MYSQL = 'Datastore/MySQL/allWeb';
const REDIS = 'Datastore/Redis/allWeb';
const DATABASE = 'Database/allWeb';
const RECORD = 'ActiveRecord/all';

const UNREADABLE = {};

const readOf = (calls: Readonly<Record<string, number>>, unreadable: readonly string[] = []): WindowValues => ({
  seconds: 1800,
  metrics: new Map([
    ...Object.entries(calls).map(([name, count]) => [name, { count }] as const),
    ...unreadable.map((name) => [name, UNREADABLE] as const),
  ]),
});

describe('databaseKind', () => {
  it.each([
    ['takes the datastore types before the generic category', 'java', { [MYSQL]: 5, [DATABASE]: 5 }, 'datastore'],
    [
      'takes the generic category where the datastore types have no calls',
      'java',
      { [MYSQL]: 0, [DATABASE]: 5 },
      'database',
    ],
    ['takes the generic category where there is no datastore type', 'php', { [DATABASE]: 5 }, 'database'],
    ['takes ActiveRecord of an old ruby agent', 'ruby', { [RECORD]: 5, [DATABASE]: 9 }, 'active_record'],
    ['takes ActiveRecord before the datastore types', 'ruby', { [RECORD]: 5, [MYSQL]: 9 }, 'active_record'],
    ['reads the language in any case', 'Ruby', { [RECORD]: 5, [DATABASE]: 9 }, 'active_record'],
    ['takes the datastore types of a newer ruby agent', 'ruby', { [RECORD]: 0, [MYSQL]: 9 }, 'datastore'],
    ['never takes the generic category of an old ruby agent', 'ruby', { [RECORD]: 0, [DATABASE]: 9 }, 'active_record'],
    [
      'never takes datastore types without calls of an old ruby agent',
      'ruby',
      { [RECORD]: 0, [MYSQL]: 0, [DATABASE]: 9 },
      'active_record',
    ],
    ['takes the generic category of a ruby application without ActiveRecord', 'ruby', { [DATABASE]: 9 }, 'database'],
    ['ignores ActiveRecord outside ruby', 'java', { [RECORD]: 5, [DATABASE]: 0 }, 'database'],
    ['finds nothing in ActiveRecord alone outside ruby', 'java', { [RECORD]: 5 }, 'none'],
    ['ignores ActiveRecord where the language is not known', undefined, { [RECORD]: 5, [MYSQL]: 1 }, 'datastore'],
    ['needs one datastore type with calls', 'go', { [MYSQL]: 0, [REDIS]: 1, [DATABASE]: 9 }, 'datastore'],
    ['takes the first that is present where none has calls', 'java', { [DATABASE]: 0, [MYSQL]: 0 }, 'datastore'],
    ['takes the generic category where it alone is present', 'java', { [DATABASE]: 0 }, 'database'],
    [
      'takes ActiveRecord first where nothing of a ruby application has calls',
      'ruby',
      { [MYSQL]: 0, [RECORD]: 0 },
      'active_record',
    ],
    ['is none without database metrics', 'java', { HttpDispatcher: 5 }, 'none'],
    ['does not take the sum of all types for a type', 'java', { 'Datastore/allWeb': 5, [DATABASE]: 1 }, 'database'],
    ['does not take a statement for a type', 'java', { 'Datastore/statement/MySQL/orders/allWeb': 5 }, 'none'],
  ] as const)('%s', (_, language, calls, expected) => {
    expect(databaseKind(readOf(calls), language, 'auto')).toBe(expected);
  });

  it.each(['datastore', 'database', 'active_record'] as const)('is %s where the configuration says so', (override) => {
    expect(databaseKind(readOf({ [MYSQL]: 5, [DATABASE]: 5, [RECORD]: 5 }), 'java', override)).toBe(override);
    expect(databaseKind(readOf({}), 'ruby', override)).toBe(override);
  });

  it.each([
    ['of a datastore type', 'java', {}, [MYSQL], undefined],
    ['of a datastore type, though the generic category has calls', 'java', { [DATABASE]: 5 }, [MYSQL], undefined],
    ['of the generic category, where the datastore types have none', 'java', { [MYSQL]: 0 }, [DATABASE], undefined],
    ['of ActiveRecord, whatever the datastore types have', 'ruby', { [MYSQL]: 5 }, [RECORD], undefined],
    ['of all of them', 'ruby', {}, [RECORD, MYSQL, DATABASE], undefined],
    ['unless another datastore type has calls', 'java', { [REDIS]: 5 }, [MYSQL], 'datastore'],
    ['unless a kind that goes before it has calls', 'java', { [MYSQL]: 5 }, [DATABASE], 'datastore'],
    ['unless it is ActiveRecord outside ruby', 'java', { [DATABASE]: 5 }, [RECORD], 'database'],
    ['unless it is no database metric', 'java', {}, ['External/allWeb'], 'none'],
  ] as const)('is undecided where the calls cannot be read %s', (_, language, calls, unreadable, expected) => {
    const values = readOf(calls, unreadable);
    expect(databaseKind(values, language, 'auto')).toBe(expected);
    expect(databaseKind(values, language, 'database')).toBe('database');
  });
});

describe('databaseMetrics', () => {
  const all = readOf({ [REDIS]: 3, [MYSQL]: 5, 'Datastore/Oracle/allWeb': 0, [DATABASE]: 7, [RECORD]: 9 });

  it.each([
    ['datastore', [MYSQL, REDIS]],
    ['database', [DATABASE]],
    ['active_record', [RECORD]],
    ['none', []],
  ] as const)('gives the metrics that count for %s', (kind, expected) => {
    expect(databaseMetrics(all, kind)).toEqual(expected);
  });

  it('gives all datastore types where none of them has calls', () => {
    expect(databaseMetrics(readOf({ [REDIS]: 0, [MYSQL]: 0 }), 'datastore')).toEqual([MYSQL, REDIS]);
  });

  it('gives a datastore type whose calls cannot be read, because it may have calls', () => {
    const values = readOf({ [REDIS]: 3, 'Datastore/Oracle/allWeb': 0 }, [MYSQL]);
    expect(databaseMetrics(values, 'datastore')).toEqual([MYSQL, REDIS]);
  });

  it('gives nothing where the kind is not present', () => {
    expect(databaseMetrics(readOf({ [MYSQL]: 1 }), 'database')).toEqual([]);
  });
});
