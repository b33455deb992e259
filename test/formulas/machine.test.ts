import { describe, expect, it } from 'vitest';
import { cpuRatio, memoryBytes } from '../../src/formulas/ratesAndScores.ts';

describe('memoryBytes', () => {
  it('counts a megabyte as 1024² bytes', () => {
    expect(memoryBytes(512)).toBe(536_870_912);
    expect(memoryBytes(0)).toBe(0);
  });

  it('is absent where the value is, or where it is no finite number', () => {
    expect(memoryBytes(undefined)).toBeUndefined();
    expect(memoryBytes(Number.MAX_VALUE)).toBeUndefined();
  });
});

describe('cpuRatio', () => {
  it('is the hundredth of a percentage, as in 15.7 s of CPU time over 30 minutes', () => {
    expect(cpuRatio(0.871)).toBeCloseTo(15_700 / 1000 / 1800, 4);
    expect(cpuRatio(250)).toBe(2.5);
  });

  it('is absent where the percentage is', () => {
    expect(cpuRatio(undefined)).toBeUndefined();
  });
});
