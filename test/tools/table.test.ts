import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { table } from '../../src/tools/terminal.ts';

describe('table', () => {
  it('sets columns two spaces apart, numbers to the right, and leaves no space at the end of a line', () => {
    expect(
      table([
        ['ID', 'NAME', 'HOSTS'],
        [1, 'Größe', 12],
        [1000, 'x', 3],
      ]),
    ).toBe(['ID    NAME   HOSTS', '   1  Größe     12', '1000  x          3'].join('\n'));
  });

  it('shows what could move the cursor or hide text', () => {
    expect(table([['a\nb\u001b[2J\u202e\u2028\u0085']])).toBe('a\\u000ab\\u001b[2J\\u202e\\u2028\\u0085');
  });

  it('takes more rows than a function may have arguments', () => {
    const rows = Array.from({ length: 200_000 }, (_, row) => [row, 'x']);
    expect(table(rows).split('\n')).toHaveLength(rows.length);
  });

  it('has one line per row, with any cells', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.integer()), { minLength: 1 }), (rows) => {
        const text = table(rows);
        expect(text.split(/[\n\r\v\f\u0085\u2028\u2029]/u)).toHaveLength(rows.length);
      }),
    );
  });
});
