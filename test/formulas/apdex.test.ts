import { describe, expect, it } from 'vitest';
import { apdexScore } from '../../src/formulas/ratesAndScores.ts';
import { known } from './support.ts';

describe('apdexScore', () => {
  it.each([
    ['is the score', 0.9, 200, [170, 20, 10], 0.9],
    ['is a true 0 where there are requests', 0, 3, [0, 0, 3], 0],
    ['is the score of a single request', 0.5, 1, [0, 1, 0], 0.5],
    ['is absent where the count is 0', 0, 0, [0, 0, 0], undefined],
    ['is absent over nothing, whatever it says', 1, 0, [0, 0, 0], undefined],
    ['is absent where the score is', undefined, 200, [170, 20, 10], undefined],
    ['takes the zones for an absent count', 0, undefined, [0, 0, 3], 0],
    ['takes the middle zone for an absent count', 0, undefined, [0, 2, 0], 0],
    ['takes the first zone for an absent count', 0, undefined, [2, 0, 0], 0],
    ['is absent where the zones of an absent count are 0', 0, undefined, [0, 0, 0], undefined],
    ['is the score where neither count nor zones are known', 0.8, undefined, [undefined, undefined, undefined], 0.8],
    ['is the score where the first zone of an absent count is unknown', 0.8, undefined, [undefined, 2, 0], 0.8],
    ['is the score where the middle zone of an absent count is unknown', 0.8, undefined, [8, undefined, 0], 0.8],
    ['is the score where the last zone of an absent count is unknown', 0.8, undefined, [8, 2, undefined], 0.8],
    ['is absent where 0 may be a score over nothing', 0, undefined, [0, undefined, 1], undefined],
  ] as const)('%s', (_, score, count, [s, t, f], expected) => {
    expect(apdexScore(known({ score, count, s, t, f }))).toBe(expected);
  });

  it('is absent where upstream has no such metric', () => {
    expect(apdexScore(undefined)).toBeUndefined();
  });
});
