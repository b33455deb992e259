import { describe, expect, it } from 'vitest';
import { Suspects } from '../../../src/api/nerdgraph/batchHints.ts';
import { UpstreamError } from '../../../src/api/types.ts';

const KIND = 'application metrics';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function start() {
  let now = 0;
  return { suspects: new Suspects(() => now, 6 * HOUR), pass: (ms: number) => (now += ms) };
}

const failure = new UpstreamError('no', { reason: 'server', endpoint: 'graphql:hosts' });

describe('what once broke a query that others shared', () => {
  it('is asked alone until it has answered well 30 times, and begins anew when it breaks a query again', () => {
    const { suspects } = start();
    expect(suspects.has(KIND, 7)).toBe(false);
    for (let round = 0; round < 2; round += 1) {
      suspects.recordFailure(KIND, 7);
      for (let answer = 0; answer < 30; answer += 1) {
        expect(suspects.has(KIND, 7)).toBe(true);
        suspects.recordSuccess(KIND, 7);
      }
      expect(suspects.has(KIND, 7)).toBe(false);
    }
  });

  it('is one host of an application, or the application, in one kind of query', () => {
    const { suspects } = start();
    suspects.recordFailure(KIND, 7, 'a');
    const has = [suspects.has(KIND, 7), suspects.has(KIND, 7, 'b'), suspects.has('hosts', 7, 'a')];
    expect([suspects.has(KIND, 7, 'a'), ...has]).toEqual([true, false, false, false]);
  });

  it('is not asked any more after four failures in a minute, whatever was asked of it', () => {
    const { suspects, pass } = start();
    suspects.recordFailure(KIND, 7);
    for (const kind of [KIND, 'hosts', KIND]) suspects.recordOwnFailure(kind, 7, undefined, failure);
    pass(MINUTE / 2);
    expect(suspects.tooManyFailures(KIND, 7, undefined)).toBeUndefined();
    suspects.recordOwnFailure(KIND, 7, 'a', failure);
    expect(suspects.tooManyFailures(KIND, 7, undefined)).toBe(failure);
    expect(suspects.tooManyFailures(KIND, 8, undefined)).toBeUndefined();
    pass(MINUTE / 2);
    expect(suspects.tooManyFailures(KIND, 7, undefined)).toBeUndefined();
  });

  it('is forgotten an hour after it was asked for last', () => {
    const { suspects, pass } = start();
    suspects.recordFailure(KIND, 7);
    pass(HOUR);
    suspects.recordOwnFailure(KIND, 7, undefined, failure);
    pass(HOUR);
    suspects.forgetOld();
    expect(suspects.has(KIND, 7)).toBe(true);
    pass(1);
    suspects.forgetOld();
    expect(suspects.has(KIND, 7)).toBe(false);
  });
});

describe('an application that the service knows nothing of', () => {
  it('is left out for as long as metric names are kept', () => {
    const { suspects, pass } = start();
    suspects.unmatched(KIND, 7);
    expect([suspects.isUnmatched(KIND, 7), suspects.isUnmatched(KIND, 8)]).toEqual([true, false]);
    pass(6 * HOUR);
    suspects.forgetOld();
    expect(suspects.isUnmatched(KIND, 7)).toBe(false);
  });
});
