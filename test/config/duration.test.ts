import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../src/config/duration.ts';

describe('a duration', () => {
  it.each([
    ['0s', 0],
    ['1ms', 1],
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['90m', 5_400_000, '1h30m'],
    ['007s', 7_000, '7s'],
  ])('of %s is %i milliseconds, and is printed in its shortest form', (text, milliseconds, written = text) => {
    expect(parseDuration(text)).toBe(milliseconds);
    expect(formatDuration(milliseconds)).toBe(written);
  });

  it.each([
    '',
    '5',
    's',
    '1.5h',
    '-5m',
    '+5m',
    '5 m',
    '5m ',
    ' 5m',
    '5M',
    '30m1h',
    '1m1m',
    '5min',
    '1w',
    '5m\n',
    '٣s',
    '1e3s',
  ])('cannot be %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('is unchanged after printing and parsing', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (milliseconds) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});
