import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderTable } from '../../src/tools/terminal.ts';

describe('table', () => {
  it('sets columns two spaces apart, numbers to the right, and leaves no space at the end of a line', () => {
    expect(
      renderTable([
        ['ID', 'NAME', 'HOSTS'],
        [1, 'Größe', 12],
        [1000, 'x', 3],
      ]),
    ).toBe(['  ID  NAME   HOSTS', '   1  Größe     12', '1000  x          3'].join('\n'));
  });

  it('shows what could move the cursor or hide text', () => {
    expect(renderTable([['a\nb\u001b[2J\u202e\u2028\u0085']])).toBe('a\\u000ab\\u001b[2J\\u202e\\u2028\\u0085');
  });

  it('measures names in any script as a terminal shows them', () => {
    expect(
      renderTable([
        ['日本語', 'x'],
        ['e\u0301', 'x'],
        ['हिन्दी', 'x'],
        ['🛒 shop', 'x'],
      ]),
    ).toBe(['日本語   x', 'e\u0301        x', 'हिन्दी    x', '🛒 shop  x'].join('\n'));
  });

  it('cuts the middle out of the cells of the widest columns, so that each line fits', () => {
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

  it('takes more rows than a function may have arguments', () => {
    const rows = Array.from({ length: 200_000 }, (_, row) => [row, 'x']);
    expect(renderTable(rows).split('\n')).toHaveLength(rows.length);
  });

  it('has one line per row, with any cells', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.integer()), { minLength: 1 }), (rows) => {
        const text = renderTable(rows);
        expect(text.split(/[\n\r\v\f\u0085\u2028\u2029]/u)).toHaveLength(rows.length);
      }),
    );
  });
});
