import { describe, expect, it } from 'vitest';
import { cpuRatio } from '../../src/formulas/cpu.ts';

describe('cpuRatio', () => {
  it('is the hundredth of a percentage, as in 15.7 s of CPU time over 30 minutes', () => {
    expect(cpuRatio(0.871)).toBeCloseTo(15_700 / 1000 / 1800, 4);
    expect(cpuRatio(250)).toBe(2.5);
  });

  it('is absent where the percentage is', () => {
    expect(cpuRatio(undefined)).toBeUndefined();
  });
});
