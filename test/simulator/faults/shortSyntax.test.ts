import { describe, expect, it } from 'vitest';
import { CALL_KINDS, EFFECTS, FAULT_SYNTAX, parseFault } from '../../../simulator/faults/faultRules.ts';

describe('the short form of a fault', () => {
  it.each([
    ['hang', { effect: 'hang' }],
    ['status=503,on=metric_data,times=3', { effect: 'status', status: 503, on: 'metric_data', times: 3 }],
    ['rate-limit', { effect: 'rate-limit', header: 'reset', seconds: 30 }],
    ['rate-limit=retry-after, seconds=5', { effect: 'rate-limit', header: 'retry-after', seconds: 5 }],
    ['delay=1500,app=1000002,skip=2', { effect: 'delay', milliseconds: 1500, app: 1_000_002, skip: 2 }],
    ['numbers=-1.5e3', { effect: 'numbers', value: '-1.5e3' }],
    ['numbers=7', { effect: 'numbers', value: '7' }],
    ['redirect=https://a.test/?b=c,status=301', { effect: 'redirect', location: 'https://a.test/?b=c', status: 301 }],
    ['huge,path=/v2/*', { effect: 'huge', megabytes: 50, path: '/v2/*' }],
    ['graphql-error=TIMEOUT,message=too slow', { effect: 'graphql-error', class: 'TIMEOUT', message: 'too slow' }],
  ])('reads %s', (text, rule) => {
    expect(parseFault(text)).toMatchObject(rule);
  });

  it.each([
    ['explode', /unknown effect "explode"; one of status, /],
    ['hang=3', /"hang" takes no value/],
    ['status=99', /^status: /],
    ['status', /^status: /],
    ['hang,on=everything', /^on: must be of applications, /],
    ['on=metric_data', /^a rule begins with its effect, such as "status=503,on=metric_data"/],
    ['hang,colour=red', /colour/],
    ['hang,times', /"times" must be name=value/],
    ['hang,times=0', /^times: /],
    ['numbers=NaN', /JSON number/],
  ])('refuses %s', (text, message) => {
    expect(() => parseFault(text)).toThrow(message);
  });
});

describe('the help of --fault', () => {
  it('names every effect and kind in lines that fit a terminal', () => {
    for (const name of [...EFFECTS, ...CALL_KINDS]) expect(FAULT_SYNTAX).toMatch(new RegExp(`\\b${name}\\b`));
    expect(Math.max(...FAULT_SYNTAX.split('\n').map((line) => line.length))).toBeLessThanOrEqual(76);
  });
});
