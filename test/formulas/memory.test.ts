import { describe, expect, it } from 'vitest';
import { memoryBytes } from '../../src/formulas/memory.ts';

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
