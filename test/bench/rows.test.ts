import { describe, expect, it } from 'vitest';
import type { Aim, Row } from '../../bench/rows.ts';
import { figure, judge, median, rowTable } from '../../bench/rows.ts';

function row(runs: readonly number[], reference: readonly number[], aim?: Aim): Row {
  return { what: 'Work', unit: 'ms', runs, reference: { what: 'other work', runs: reference }, aim };
}

describe('the rows of the benchmark', () => {
  it.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[7], 7],
  ])('take of %j the median %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it.each([
    ['most, by the median', [1, 2, 90], [1], { kind: 'most', limit: 2 }, true],
    ['most, missed', [1, 3, 3], [1], { kind: 'most', limit: 2 }, false],
    ['never, missed by one run', [1, 2, 90], [1], { kind: 'never', limit: 2 }, false],
    ['mostTimes the reference', [6], [10], { kind: 'mostTimes', limit: 0.6 }, true],
    ['mostTimes, missed', [7], [10], { kind: 'mostTimes', limit: 0.6 }, false],
    ['timesFaster', [1], [8], { kind: 'timesFaster', limit: 8 }, true],
    ['timesFaster, missed', [1], [7], { kind: 'timesFaster', limit: 8 }, false],
  ] as const)('judge an aim: %s', (_, runs, reference, aim, met) => {
    expect(judge(row(runs, reference, aim)).met).toBe(met);
  });

  it('judge nothing without an aim', () => {
    expect(judge(row([1], [2])).met).toBeUndefined();
  });

  it('show median, spread, reference, ratio and a missed aim', () => {
    const text = rowTable([judge(row([10, 30, 20], [2], { kind: 'mostTimes', limit: 1.12 }))]);
    const cells = text
      .split('\n')[2]
      ?.split('|')
      .map((cell) => cell.trim());
    expect(cells).toEqual(['', 'Work', '', '20 ms (10 to 30)', '2 ms, other work', '10', '<= 1.12', 'NO', '']);
  });

  it('keep three significant digits of what is no whole number', () => {
    expect([1234, 0.12345, 12.345, 1234.5].map(figure)).toEqual(['1234', '0.123', '12.3', '1235']);
  });
});
