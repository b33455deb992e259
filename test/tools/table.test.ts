import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderTable } from '../../src/tools/terminal.ts';

describe('table', () => {
  it('separates columns by two spaces, aligns numbers right, and leaves no trailing spaces', () => {
    expect(
      renderTable([
        ['ID', 'NAME', 'HOSTS'],
        [1, 'Größe', 12],
        [1000, 'x', 3],
      ]),
    ).toBe(['  ID  NAME   HOSTS', '   1  Größe     12', '1000  x          3'].join('\n'));
  });

  it('escapes characters that could move the cursor or hide text', () => {
    expect(renderTable([['a\nb\u001b[2J\u202e\u2028\u0085']])).toBe('a\\u000ab\\u001b[2J\\u202e\\u2028\\u0085');
  });

  it('measures names in any script by their width on a terminal', () => {
    expect(
      renderTable([
        ['日本語', 'x'],
        ['e\u0301', 'x'],
        ['हिन्दी', 'x'],
        ['🛒 shop', 'x'],
      ]),
    ).toBe(['日本語   x', 'e\u0301        x', 'हिन्दी    x', '🛒 shop  x'].join('\n'));
  });

  it('shortens cells of the widest columns in the middle, so that each line fits', () => {
    const rows = [
      ['ID', 'NAME', 'TAGS'],
      [1, 'short', 'team=shop environment=production'],
      [2, 'こんにちは世界、これは長い名前です', ''],
    ];
    expect(renderTable(rows, 40).split('\n')).toEqual([
      'ID  NAME               TAGS',
      ' 1  short              team=sho…oduction',
      ' 2  こんにち…名前です',
    ]);
  });

  it('accepts more rows than a function may have arguments', () => {
    const rows = Array.from({ length: 200_000 }, (_, row) => [row, 'x']);
    expect(renderTable(rows).split('\n')).toHaveLength(rows.length);
  });

  it('has one line per row, whatever the cells contain', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.integer()), { minLength: 1 }), (rows) => {
        const text = renderTable(rows);
        expect(text.split(/[\n\r\v\f\u0085\u2028\u2029]/u)).toHaveLength(rows.length);
      }),
    );
  });
});
