import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { secondsOf } from '../../src/api/types.ts';
import { parseTime } from '../../src/api/http/validation.ts';
import { formatTime } from '../../src/api/rest/restClient.ts';

describe('secondsOf', () => {
  it.each([
    ['an exclusive end', 0, 1800, 1800],
    ['an inclusive end', 0, 1799, 1800],
    ['one minute with an inclusive end', 60, 119, 60],
    ['a timeslice that is too short', 0, 20, 60],
    ['a timeslice that ends before it begins', 120, 0, 60],
    ['a day', 0, 86_400, 86_400],
  ])('counts whole minutes for %s', (_, from, to, expected) => {
    expect(secondsOf({ from, to })).toBe(expected);
  });
});

describe('formatTime', () => {
  it('writes UTC with a Z and without a fraction', () => {
    expect(formatTime(1_795_226_400)).toBe('2026-11-21T02:00:00Z');
  });

  it('gives a text that is read back as the same time', () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (time) => parseTime(formatTime(time)) === time));
  });
});

describe('parseTime', () => {
  it.each([
    ['2015-06-08T14:44:26+00:00', 1_433_774_666],
    ['2015-06-08T14:44:26Z', 1_433_774_666],
    ['2015-06-08T16:44:26+02:00', 1_433_774_666],
    ['2015-06-08T16:44:26+0200', 1_433_774_666],
    ['2015-06-08T14:44:26.500Z', 1_433_774_666.5],
  ])('reads %s', (text, expected) => {
    expect(parseTime(text)).toBe(expected);
  });

  it.each([
    '',
    '2015',
    '2015-06-08',
    '2015-06-08T14:44:26',
    '2015-13-08T14:44:26Z',
    '1433774666',
    'June 8, 2015',
    'now',
  ])('refuses "%s"', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });
});
