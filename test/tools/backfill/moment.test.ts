import { describe, expect, it } from 'vitest';
import { parseMoment, resolveRange } from '../../../src/tools/backfill/backfillFlags.ts';
import { formatMinute } from '../../../src/tools/terminal.ts';
import { UsageError } from '../../../src/cli/process.ts';
import { isoTime, NOW as now } from './support.ts';

describe('parseMoment', () => {
  it.each([
    ['2026-10-14T10:00:00Z', '2026-10-14T10:00:00.000Z'],
    ['2026-10-14T12:00+02:00', '2026-10-14T10:00:00.000Z'],
    ['now', '2026-10-14T12:00:30.000Z'],
    ['7d', '2026-10-07T12:00:30.000Z'],
    ['-7d', '2026-10-07T12:00:30.000Z'],
    ['1h30m', '2026-10-14T10:30:30.000Z'],
  ])('reads %s', (text, time) => expect(isoTime(parseMoment(text, now / 1000))).toBe(time));

  it.each(['', 'yesterday', '2026-10-14T10:00:00', '2026-10-14', '2026-02-31T00:00:00Z', '1791979230', '7', '--7d'])(
    'refuses %j and says which forms are valid',
    (text) => expect(() => parseMoment(text, now / 1000)).toThrow('such as 2026-11-20T08:00:00Z'),
  );
});

describe('resolveRange', () => {
  const range = (from: string, to?: string) => resolveRange({ from, to }, now, 120_000);

  it.each([
    ['ends with the newest window without --to', '1h', undefined, '2026-10-14T11:00Z', '2026-10-14T11:58Z'],
    ['ends no later than the newest window', '1h', 'now', '2026-10-14T11:00Z', '2026-10-14T11:58Z'],
    [
      'rounds both ends down to the minute',
      '2026-10-14T10:00:59Z',
      '2026-10-14T10:30:59Z',
      '2026-10-14T10:00Z',
      '2026-10-14T10:30Z',
    ],
  ])('%s', (_, from, to, first, last) => {
    const found = range(from, to);
    expect([formatMinute(found.from), formatMinute(found.to)]).toEqual([first, last]);
  });

  it.each([
    ['--from is in the future', '2026-10-14T13:00:00Z', '2026-10-14T14:00:00Z'],
    ['--to is in the future', '1h', '2026-10-14T12:02:00Z'],
    ['must be before --to', '1h', '2h'],
    ['must be before --to', '1h', '1h'],
    ['must be before --to', '1m', undefined],
  ])('refuses a range with the message: %s', (message, from, to) => {
    expect(() => range(from, to)).toThrow(UsageError);
    expect(() => range(from, to)).toThrow(message);
  });
});
