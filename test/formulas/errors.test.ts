import { describe, expect, it } from 'vitest';
import { errorRatio, errorsPerSecond } from '../../src/formulas/ratesAndScores.ts';
import { known } from './support.ts';

/** A count, undefined where it was answered and cannot be read, or that upstream has no such metric. */
type Count = number | undefined | 'absent';

const windowOf = <Value extends string>(value: Value, count: Count) =>
  count === 'absent' ? undefined : known({ [value]: count } as Partial<Record<Value, number | undefined>>);

describe('errorRatio and errorsPerSecond', () => {
  it.each([
    ['of an application with errors', 'application', 5, 19_608, 4, 0.00025494595145829083, 5 / 1800],
    ['of an application without errors', 'application', 0, 100, 0, 0, 0],
    ['without background transactions', 'application', 1, 4, 'absent', 0.25, 1 / 1800],
    ['without web requests', 'application', 1, 'absent', 4, 0.25, 1 / 1800],
    ['without Errors/all while there are requests', 'application', 'absent', 3, 1, 0, 0],
    ['without Errors/all, with background work only', 'application', 'absent', 0, 1, 0, 0],
    ['without Errors/all and without web requests', 'application', 'absent', 'absent', 4, 0, 0],
    ['without requests and without Errors/all', 'application', 'absent', 0, 0, undefined, undefined],
    ['of which nothing is known', 'application', 'absent', 'absent', 'absent', undefined, undefined],
    ['with errors and no requests', 'application', 3, 0, 0, undefined, 3 / 1800],
    ['with fewer than no requests', 'application', 3, -4, 0, undefined, 3 / 1800],
    ['whose error count cannot be read', 'application', undefined, 3, 1, undefined, undefined],
    ['whose web requests cannot be read', 'application', 1, undefined, 4, undefined, 1 / 1800],
    ['whose background transactions cannot be read', 'application', 1, 4, undefined, undefined, 1 / 1800],
    ['whose requests cannot be read, without Errors/all', 'application', 'absent', undefined, 0, undefined, undefined],
    ['of a host with errors', 'host', 2, 8, 'absent', 0.25, 2 / 1800],
    ['of a host without Errors/all', 'host', 'absent', 8, 0, undefined, undefined],
  ] as const)('%s', (_, scope, errors, webCalls, otherCalls, ratio, rate) => {
    const inputs = {
      scope,
      errors: windowOf('error_count', errors),
      web: windowOf('call_count', webCalls),
      nonWeb: windowOf('call_count', otherCalls),
    };
    if (ratio === undefined) expect(errorRatio(inputs)).toBeUndefined();
    else expect(errorRatio(inputs)).toBeCloseTo(ratio, 14);
    expect(errorsPerSecond(inputs, 1800)).toBe(rate);
  });
});
