import { describe, expect, it } from 'vitest';
import { errorRatio } from '../../src/formulas/errorRatio.ts';
import { errorsPerSecond } from '../../src/formulas/errorsPerSecond.ts';

describe('errorRatio and errorsPerSecond', () => {
  it.each([
    ['an application with errors', 'application', true, 5, 19_608, 4, 0.00025494595145829083, 5 / 1800],
    ['an application without errors', 'application', true, 0, 100, 0, 0, 0],
    ['an absent count of background transactions', 'application', true, 1, 4, undefined, 0.25, 1 / 1800],
    ['an absent count of web requests', 'application', true, 1, undefined, 4, 0.25, 1 / 1800],
    ['an application whose Errors/all is absent while there are requests', 'application', false, undefined, 3, 1, 0, 0],
    [
      'an application whose Errors/all is absent, with background work only',
      'application',
      false,
      undefined,
      0,
      1,
      0,
      0,
    ],
    [
      'an application without requests and without Errors/all',
      'application',
      false,
      undefined,
      0,
      0,
      undefined,
      undefined,
    ],
    [
      'an application of which nothing is known',
      'application',
      false,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ],
    ['an application with errors and no requests', 'application', true, 3, 0, 0, undefined, 3 / 1800],
    ['an application with fewer than no requests', 'application', true, 3, -4, 0, undefined, 3 / 1800],
    ['an application whose Errors/all has no error count', 'application', true, undefined, 3, 1, undefined, undefined],
    ['a host with errors', 'host', true, 2, 8, undefined, 0.25, 2 / 1800],
    ['a host whose Errors/all is absent', 'host', false, undefined, 8, 0, undefined, undefined],
  ] as const)('%s', (_, scope, answered, errorCount, webCalls, otherCalls, ratio, rate) => {
    const counts = { scope, answered, errorCount, webCalls, otherCalls };
    if (ratio === undefined) expect(errorRatio(counts)).toBeUndefined();
    else expect(errorRatio(counts)).toBeCloseTo(ratio, 14);
    expect(errorsPerSecond(counts, 1800)).toBe(rate);
  });
});
