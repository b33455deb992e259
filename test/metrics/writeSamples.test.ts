import { describe, expect, it } from 'vitest';
import type { Labels, Sample } from '../../src/metrics/family.ts';
import { packSamples, seriesKey } from '../../src/metrics/writeSamples.ts';
import type { Group } from '../../src/reads/reads.ts';
import { gauge } from '../support/expositionBlocks.ts';

const DEPTH = gauge('newrelic_custom_queue_depth', 'custom_metrics');
const AGE = gauge('newrelic_custom_queue_age_seconds', 'custom_metrics');

function depths(...queues: string[]): Sample[] {
  return queues.map((queue, index) => ({ family: DEPTH, labels: { queue }, value: index + 0.5 }));
}

describe('packed samples', () => {
  it('keep finite values exactly and drop other values', () => {
    const values = [1 / 3, NaN, -0, Infinity, 1e21, -Infinity, 5e-324];
    const packed = packSamples(
      'applications',
      values.map((value) => ({ family: AGE, labels: undefined, value })),
    );
    expect(packed.values).toEqual([1 / 3, -0, 1e21, 5e-324]);
    expect(packed.columns).toHaveLength(4);
  });

  it('share the column of a family without labels', () => {
    const unlabelled = [{ family: AGE, labels: undefined, value: 1 }];
    const [first] = packSamples('applications', unlabelled).columns;
    expect(packSamples('hosts', unlabelled).columns[0]).toBe(first);
    const other = gauge(AGE.name, 'custom_metrics');
    expect(packSamples('hosts', [{ family: other, labels: undefined, value: 1 }]).columns[0]?.family).toBe(other);
  });

  it('reuse the columns of the last read where family and labels are equal', () => {
    const before = packSamples('custom_metrics', depths('a', 'b', 'c'));
    expect(packSamples('custom_metrics', depths('a', 'b', 'c'), before).columns).toBe(before.columns);
    const { columns, values } = packSamples('custom_metrics', depths('a', 'x', 'c', 'd'), before);
    expect(columns.map((column, index) => column === before.columns[index])).toEqual([true, false, true, false]);
    expect(columns.map(({ text }) => text)).toEqual(['a', 'x', 'c', 'd'].map((queue) => `queue="${queue}"`));
    expect(values).toEqual([0.5, 1.5, 2.5, 3.5]);
  });

  const listOf = (group: Group, ...queues: string[]) => packSamples(group, depths(...queues)).columns;

  it('share equal lists of columns with other applications, also after different lists', () => {
    const first = listOf('applications', 'a', 'b');
    const other = listOf('applications', 'a', 'x');
    expect(listOf('applications', 'a', 'b')).toBe(first);
    expect(packSamples('applications', depths('a', 'x'), { columns: first, values: [1, 2] }).columns).toBe(other);
    expect(listOf('applications', 'a').map(({ text }) => text)).toEqual(['queue="a"']);
    expect(listOf('applications', 'a', 'b', 'c').map(({ text }) => text)).toEqual(
      ['a', 'b', 'c'].map((one) => `queue="${one}"`),
    );
  });

  it('share no list with another group or between queries, and none after eight newer lists', () => {
    const first = listOf('applications', 'a', 'b');
    expect(listOf('hosts', 'a', 'b')).not.toBe(first);
    expect(listOf('queries', 'a', 'b')).not.toBe(listOf('queries', 'a', 'b'));
    for (let index = 0; index < 7; index += 1) listOf('applications', String(index));
    expect(listOf('applications', 'a', 'b')).toBe(first);
    for (let index = 0; index < 8; index += 1) listOf('applications', String(index));
    expect(listOf('applications', 'a', 'b')).not.toBe(first);
  });

  it.each<[what: string, before: Labels | undefined, labels: Labels | undefined]>([
    ['another value', { queue: 'a' }, { queue: 'b' }],
    ['another name', { queue: 'a' }, { topic: 'a' }],
    ['one label more', { queue: 'a' }, { queue: 'a', kind: 'k' }],
    ['one label less', { queue: 'a', kind: 'k' }, { queue: 'a' }],
    ['another order', { queue: 'a', kind: 'k' }, { kind: 'k', queue: 'a' }],
    ['no labels', { queue: 'a' }, undefined],
    ['labels where there were none', undefined, { queue: 'a' }],
  ])('need a new column for %s', (_, earlier, labels) => {
    const before = packSamples('queries', [{ family: DEPTH, labels: earlier, value: 1 }]);
    const [column] = packSamples('queries', [{ family: DEPTH, labels, value: 1 }], before).columns;
    expect(Object.entries(column?.labels ?? {})).toEqual(Object.entries(labels ?? {}));
  });

  it('keep the first sample of a repeated series of custom metrics, in any order of labels', () => {
    const all = [{ a: '1', b: '2' }, { b: '2', a: '1' }, { a: '1' }].map((labels, value) => {
      return { family: DEPTH, labels, value };
    });
    const packed = packSamples('custom_metrics', [...all, { family: AGE, labels: { a: '1' }, value: 9 }]);
    expect(packed.values).toEqual([0, 2, 9]);
    expect(new Set(packed.columns.map(seriesKey)).size).toBe(3);
    expect(packSamples('queries', all).values).toEqual([0, 1, 2]);
  });
});
