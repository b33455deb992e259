import { describe, expect, it } from 'vitest';
import { totalTime } from '../../src/formulas/responseTimes.ts';
import { known } from './support.ts';

describe('totalTime', () => {
  const datastore = { call_count: 4000, average_response_time: 5 };
  const external = { call_count: 300, average_response_time: 100 };

  it.each([
    ['subtracts the component times', [1000, 120, 110], [datastore, external], 0.07],
    ['is the whole without components', [1000, 120, 110], [], 0.12],
    ['takes off nothing for a component without calls', [1000, 120, 110], [{ call_count: 0 }], 0.12],
    ['starts from the web average where the total time is absent', [1000, 'absent', 110], [datastore], 0.09],
    ['starts from the web average where the total time is 0', [1000, 0, 110], [datastore], 0.09],
    ['is published below zero', [1000, 40, 110], [datastore, external], -0.01],
    ['is absent where both averages are', [1000, 'absent', undefined], [datastore], undefined],
    ['is absent where the total time cannot be read', [1000, undefined, 110], [datastore], undefined],
    ['is absent where the total time is 0 and nothing stands in for it', [1000, 0, undefined], [], undefined],
    ['is absent without web requests', [0, 120, 110], [datastore], undefined],
    ['is absent where the number of web requests is absent', [undefined, 120, 110], [datastore], undefined],
    ['is absent where nothing of a component can be read', [1000, 120, 110], [datastore, {}], undefined],
    ['is absent where the average of a component cannot be read', [1000, 120, 110], [{ call_count: 3 }], undefined],
    [
      'is absent where a component overflows',
      [1, 120, 110],
      [{ call_count: 1e308, average_response_time: 1e9 }],
      undefined,
    ],
  ] as const)('%s', (_, [call_count, total, webAverage], components, expected) => {
    const web = known({ call_count, average_response_time: webAverage });
    const result = totalTime(web, total === 'absent' ? undefined : known({ average_response_time: total }), components);
    if (expected === undefined) expect(result).toBeUndefined();
    else expect(result).toBeCloseTo(expected, 12);
  });
});
