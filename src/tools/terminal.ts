import process from 'node:process';
import { styleText } from 'node:util';
import { SingleBar } from 'cli-progress';
import stringWidth from 'string-width';
import { escapeLines, escapeUnsafe } from '../text/escaping.ts';

/** Formats a whole minute: `2026-11-20T08:00Z`. */
export function formatMinute(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 16)}Z`;
}

/** Shorter work shows no progress, in milliseconds. */
const QUIET_MS = 2_000;

/** Shows progress as a bar on standard error, if it is a terminal. The total may grow. */
export function showProgress(what: string) {
  const bar = new SingleBar({
    format: `${what} [{bar}] {value}/{total}`,
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  const since = Date.now();
  let started = false;
  return {
    update: (done: number, total: number): void => {
      if (!started && Date.now() - since < QUIET_MS) return;
      if (!started) bar.start(total, done);
      started = true;
      bar.setTotal(total);
      bar.update(done);
    },
    stop: (): void => {
      if (started) bar.stop();
    },
  };
}

export function paint(style: Parameters<typeof styleText>[0], shown: string): string {
  return styleText(style, shown, { stream: process.stdout });
}

export function readLineLength(): number {
  const columns = Number(process.env['COLUMNS']);
  if (Number.isInteger(columns) && columns > 0) return columns;
  // 0 in a terminal that does not know its width.
  return (process.stdout.isTTY && process.stdout.columns) || Infinity;
}

export type Cell = string | number;

/** Renders rows as columns. The first row is the heading. Shortens the widest cells to fit the width. */
export function renderTable(rows: readonly (readonly Cell[])[], maxWidth = readLineLength()): string {
  // Not Math.max(...rows): the rows may exceed the arguments that a call can take.
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, measureWidth(escapeCell(row[column]))), 0),
  );
  for (let over = widths.reduce((sum, width) => sum + width + 2, -2) - maxWidth; over > 0; over -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = Math.max(1, (widths[widest] ?? 0) - 1);
  }
  return rows
    .map((row, index) => {
      const cells = row.map((cell, column) => {
        const width = widths[column] ?? 0;
        const shown = shorten(escapeCell(cell), width);
        const padding = ' '.repeat(width - measureWidth(shown));
        const painted = index === 0 ? paint('bold', shown) : shown;
        const isNumber = typeof (index === 0 ? rows[1]?.[column] : cell) === 'number';
        return isNumber ? padding + painted : painted + padding;
      });
      return cells.join('  ').trimEnd();
    })
    .join('\n');
}

export function wrapText(sentence: string, maxWidth = readLineLength()): string {
  const lines: string[] = [];
  for (const word of escapeCell(sentence).split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && measureWidth(last) + 1 + measureWidth(word) <= maxWidth)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

/** Replaces the middle of a wide text by an ellipsis. */
function shorten(long: string, width: number): string {
  let over = measureWidth(long) - width;
  if (over <= 0) return long;
  const characters = Array.from(new Intl.Segmenter().segment(long), ({ segment }) => segment);
  const begin = characters.splice(0, Math.ceil(characters.length / 2));
  // One more cell for the ellipsis.
  for (over += 1; over > 0;) {
    over -= measureWidth((begin.length > characters.length ? begin.pop() : characters.shift()) ?? '…');
  }
  return [...begin, '…', ...characters].join('');
}

/** Measures a text in cells of a terminal: 2 for a Chinese, Japanese or Korean character, 0 for an accent. */
function measureWidth(shown: string): number {
  return /^[\x20-\x7e]*$/.test(shown) ? shown.length : stringWidth(shown.replace(/(?!\uFE0F)[\p{Mn}\p{Me}]/gu, ''));
}

/** Escapes control and invisible characters: a name must not move the cursor or hide text. */
function escapeCell(cell: Cell | undefined): string {
  return escapeUnsafe(String(cell ?? ''));
}

/** Renders JSON with a line feed. Escapes unsafe characters as JSON does, so no value changes. */
export function renderJson(document: object): string {
  return `${escapeLines(JSON.stringify(document, undefined, 2))}\n`;
}
