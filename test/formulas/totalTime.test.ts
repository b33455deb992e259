import { describe, expect, it } from 'vitest';
import { totalTime } from '../../src/formulas/totalTime.ts';

describe('totalTime', () => {
  const datastore = { calls: 4000, averageResponseTime: 5 };
  const external = { calls: 300, averageResponseTime: 100 };
  const absent = { calls: undefined, averageResponseTime: undefined };

  it.each([
    ['subtracts the component times', [1000, 120, 110], [datastore, external], 0.07],
    ['ignores absent components', [1000, 120, 110], [datastore, absent], 0.1],
    ['is the whole without components', [1000, 120, 110], [], 0.12],
    ['starts from the web average where the total time is absent', [1000, undefined, 110], [datastore], 0.09],
    ['starts from the web average where the total time is 0', [1000, 0, 110], [datastore], 0.09],
    ['is published below zero', [1000, 40, 110], [datastore, external], -0.01],
    ['is absent where both averages are', [1000, undefined, undefined], [datastore], undefined],
    ['is absent where the total time is 0 and nothing stands in for it', [1000, 0, undefined], [], undefined],
    ['is absent without web requests', [0, 120, 110], [datastore], undefined],
    ['is absent where the number of web requests is absent', [undefined, 120, 110], [datastore], undefined],
    ['is absent where a component overflows', [1, 120, 110], [{ calls: 1e308, averageResponseTime: 1e9 }], undefined],
  ] as const)('%s', (_, [webRequests, totalAverage, webAverage], components, expected) => {
    const result = totalTime({ webRequests, totalAverage, webAverage }, components);
    if (expected === undefined) expect(result).toBeUndefined();
    else expect(result).toBeCloseTo(expected, 12);
  });
});
