import { describe, expect, it } from 'vitest';
import { apdexScore, callRate, errorRatio } from '../../src/formulas/ratesAndScores.ts';
import { averageTime, responseTime, timePerRequest, totalTime } from '../../src/formulas/responseTimes.ts';
import { inColumns } from '../support/restColumns.ts';

/** Worked by hand from the vendor's descriptions of the calculations, with figures of our own. */
describe('calculations worked by hand', () => {
  const values = { call_count: 2400, average_call_time: 180, average_response_time: 175 };
  const web = inColumns('HttpDispatcher', values);
  const queue = inColumns('WebFrontend/QueueTime', { call_count: 1200, average_response_time: 30 });
  const datastore = inColumns('Datastore/MySQL/allWeb', { call_count: 7200, average_response_time: 8 });
  const external = inColumns('External/allWeb', { call_count: 600, average_response_time: 220 });

  it('response time: 180 ms, and 1200 × 30 ms of queueing over 2400 requests, are 195 ms', () => {
    expect(responseTime(web, queue)).toBeCloseTo(0.195, 12);
    expect(responseTime(web, undefined)).toBeCloseTo(0.18, 12);
    expect(responseTime(inColumns('HttpDispatcher', { ...values, call_count: 0 }), queue)).toBeNaN();
  });

  it('component time: 7200 calls of 8 ms over 2400 requests are 24 ms', () => {
    expect(timePerRequest(datastore, 2400)).toBeCloseTo(0.024, 12);
  });

  it('total time: 200 ms less 24 ms and 55 ms are 121 ms', () => {
    expect(
      totalTime(web, inColumns('WebTransactionTotalTime', { average_response_time: 200 }), [datastore, external]),
    ).toBeCloseTo(0.121, 12);
  });

  it('error rate: 6 errors of 23992 web requests and 8 others are 0.025 percent', () => {
    const errors = inColumns('Errors/all', { error_count: 6 });
    expect(errorRatio({ scope: 'application', errors, web: { count: 23_992 }, nonWeb: { count: 8 } })).toBe(0.00025);
  });

  it('Apdex: 340 satisfied, 40 tolerating and 20 frustrated requests score 0.9', () => {
    const zones = { s: 340, t: 40, f: 20, count: 400 };
    expect(apdexScore({ count: 340, sum: 40, exclusive: 20 })).toBe(0.9);
    const score = (zones.s + zones.t / 2) / zones.count;
    expect(apdexScore(inColumns('Apdex', { ...zones, score }))).toBe(0.9);
  });

  it('CPU: 9 s of CPU time in half an hour are 0.5 percent', () => {
    expect(inColumns('CPU/User Time', { percent: 0.5 }, 1800).sum).toBeCloseTo(9, 12);
  });

  it('rate: a rate printed with three digits is taken as it is, the calls where it was rounded to 0', () => {
    const rate = (of: Parameters<typeof inColumns>[1], seconds: number) =>
      callRate(inColumns('HttpDispatcher', of), seconds);
    expect(rate({ call_count: 45_660, requests_per_minute: 45_700 }, 60)).toBe(45_700 / 60);
    expect(rate({ call_count: 36, requests_per_minute: 0 }, 86_400)).toBe(36 / 86_400);
  });

  it('average: 0.273 s are 273 ms', () => {
    expect(averageTime(inColumns('EndUser', { call_count: 3, average_response_time: 273 }))).toBeCloseTo(0.273, 12);
  });
});
