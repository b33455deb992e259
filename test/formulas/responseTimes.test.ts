import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { averageTime, responseTime, timePerRequest, totalTime } from '../../src/formulas/derivedValues.ts';
import { inColumns } from '../support/restColumns.ts';

const WEB = 'HttpDispatcher';

describe('responseTime', () => {
  it.each([
    ['adds the queue per web request', [1000, 100, 90], [500, 20], 0.11],
    ['counts an absent queue as 0', [1000, 100, 90], 'absent', 0.1],
    ['counts a queue of 0 calls as 0', [1000, 100, 90], [0, 0], 0.1],
    ['counts a queue of 0 calls without an average as 0', [1000, 100, 90], [0, undefined], 0.1],
    ['counts a queue of 0 milliseconds as 0', [1000, 100, 90], [500, 0], 0.1],
    ['takes the average response time where the average call time is absent', [1000, undefined, 90], [500, 20], 0.1],
    ['takes the average response time where the average call time is 0', [1000, 0, 90], [500, 20], 0.1],
    ['is 0 where both averages are 0', [1000, 0, 0], 'absent', 0],
    ['is absent where both averages are absent', [1000, undefined, undefined], [500, 20], undefined],
    ['is absent where the call time is 0 and nothing stands in for it', [1000, 0, undefined], [500, 20], undefined],
    ['is absent without web requests', [0, 100, 90], [0, 0], undefined],
    ['is absent where the number of web requests is absent', [undefined, 100, 90], [500, 20], undefined],
    ['is absent where the queue has calls and no average', [1000, 100, 90], [500, undefined], undefined],
    ['is absent where the queue has an average and no calls', [1000, 100, 90], [undefined, 20], undefined],
    ['is absent where nothing of the queue can be read', [1000, 100, 90], [undefined, undefined], undefined],
  ] as const)('%s', (_, [call_count, average_call_time, average_response_time], queue, expected) => {
    const web = inColumns(WEB, { call_count, average_call_time, average_response_time });
    const [calls, average] = queue === 'absent' ? [] : queue;
    const queued =
      queue === 'absent' ? undefined : inColumns(WEB, { call_count: calls, average_response_time: average });
    const result = responseTime(web, queued);
    if (expected === undefined) expect(result).toBeNaN();
    else expect(result).toBeCloseTo(expected, 12);
  });

  it('is absent where upstream has no web requests at all', () => {
    expect(responseTime(undefined, { count: 500, sum: 10 })).toBeNaN();
  });

  it('is never shorter than the average call time', () => {
    const figure = fc.double({ min: 0.001, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(figure, figure, figure, figure, (call_count, average_call_time, calls, average) => {
        const queue = inColumns(WEB, { call_count: calls, average_response_time: average });
        const web = inColumns(WEB, { call_count, average_call_time });
        expect(responseTime(web, queue)).toBeGreaterThanOrEqual(average_call_time / 1000);
      }),
    );
  });
});

describe('timePerRequest', () => {
  it.each([
    ['is the time per web request in seconds', 4000, 5, 1000, 0.02],
    ['may be shorter than one call', 500, 20, 1000, 0.01],
    ['is 0 without calls', 0, 0, 1000, 0],
    ['needs no average without calls', 0, undefined, 1000, 0],
    ['is absent where the number of calls is absent', undefined, 5, 1000, undefined],
    ['is absent where the average is absent', 4000, undefined, 1000, undefined],
    ['is absent without web requests', 4000, 5, 0, undefined],
    ['is absent where the number of web requests is absent', 4000, 5, undefined, undefined],
    ['is absent where the product is no finite number', Number.MAX_VALUE, 5, 1, undefined],
  ])('%s', (_, call_count, average_response_time, requests, expected) => {
    const time = timePerRequest(inColumns(WEB, { call_count, average_response_time }), requests);
    if (expected === undefined) expect(time).not.toSatisfy(Number.isFinite);
    else expect(time).toBeCloseTo(expected, 12);
  });

  it('is absent where upstream has no such metric', () => {
    expect(timePerRequest(undefined, 1000)).toBeNaN();
  });
});

describe('averageTime', () => {
  it.each([
    ['is the average in seconds', 364, 99_770, 0.364],
    ['is 0 where upstream says 0', 0, 5, 0],
    ['is absent without calls', 0, 0, undefined],
    ['is absent without calls, whatever the average says', 2110, 0, undefined],
    ['is absent where the number of calls is absent', 364, undefined, undefined],
    ['is absent where the average is absent', undefined, 5, undefined],
  ])('%s', (_, average_response_time, call_count, expected) => {
    const time = averageTime(inColumns(WEB, { average_response_time, call_count }));
    if (expected === undefined) expect(time).toBeNaN();
    else expect(time).toBeCloseTo(expected, 12);
  });

  it('is absent where upstream has no such metric', () => {
    expect(averageTime(undefined)).toBeNaN();
  });
});

describe('totalTime', () => {
  const datastore = { call_count: 4000, average_response_time: 5 };
  const external = { call_count: 300, average_response_time: 100 };

  it.each([
    ['subtracts the component times', [1000, 120, 110], [datastore, external], 0.07],
    ['is the whole time without components', [1000, 120, 110], [], 0.12],
    ['subtracts nothing for a component without calls', [1000, 120, 110], [{ call_count: 0 }], 0.12],
    ['starts from the web average where the total time is absent', [1000, 'absent', 110], [datastore], 0.09],
    ['starts from the web average where the total time is 0', [1000, 0, 110], [datastore], 0.09],
    ['may be below zero', [1000, 40, 110], [datastore, external], -0.01],
    ['is absent where both averages are absent', [1000, 'absent', undefined], [datastore], undefined],
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
    const web = inColumns(WEB, { call_count, average_response_time: webAverage });
    const whole = total === 'absent' ? undefined : inColumns(WEB, { average_response_time: total });
    const result = totalTime(
      web,
      whole,
      components.map((component) => inColumns(WEB, component)),
    );
    if (expected === undefined) expect(result).not.toSatisfy(Number.isFinite);
    else expect(result).toBeCloseTo(expected, 12);
  });
});
