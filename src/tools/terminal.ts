import process from 'node:process';
import { SingleBar } from 'cli-progress';
import { escapeUnsafe } from '../log/logger.ts';

/** A whole minute as text: `2026-11-20T08:00Z`. */
export function formatMinute(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 16)}Z`;
}

/** Shows the progress of a command on standard error: a bar on a terminal, else a line every few seconds. */
export interface Progress {
  /** `total` may grow while more work becomes known. */
  update(done: number, total: number): void;
  stop(): void;
}

const LINE_EVERY_MS = 5_000;

/** Work that takes less time shows no progress, in milliseconds. */
const QUIET_MS = 2_000;

export function showProgress(what: string): Progress {
  const bar = new SingleBar({
    format: `${what} [{bar}] {value}/{total}`,
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: LINE_EVERY_MS,
    hideCursor: true,
    clearOnComplete: process.stderr.isTTY,
  });
  const since = Date.now();
  let started = false;
  return {
    update: (done, total) => {
      if (!started && Date.now() - since < QUIET_MS) return;
      if (!started) bar.start(total, done);
      started = true;
      bar.setTotal(total);
      bar.update(done);
    },
    stop: () => {
      if (started) bar.stop();
    },
  };
}

/** The line width when neither a terminal nor COLUMNS gives one. */
const USUAL_LENGTH = 160;

export function lineLength(): number {
  const given = Number(process.env['COLUMNS']);
  if (Number.isInteger(given) && given > 0) return given;
  return process.stdout.isTTY ? process.stdout.columns : USUAL_LENGTH;
}

/**
 * Rows as columns of text, two spaces apart, numbers aligned right. The first row is the heading.
 *
 * @param maxWidth characters of the longest line; the cells of the widest columns lose their middle to fit
 * @param whole index of a column whose cells keep all of their text, and continue on further lines instead
 */
export function table(rows: readonly (readonly (string | number)[])[], maxWidth = Infinity, whole?: number): string {
  // Not Math.max(...rows), because a list of names can exceed the number of arguments of a call.
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, lengthOf(row[column])), 0),
  );
  for (let over = widths.reduce((sum, width) => sum + width + 2, -2) - maxWidth; over > 0; over -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = Math.max(1, (widths[widest] ?? 0) - 1);
  }
  return rows
    .flatMap((row) => {
      if (whole === undefined) return [row];
      const parts = pieces(text(row[whole]), widths[whole] ?? 0);
      return parts.map((part, line) => row.map((cell, column) => (column === whole ? part : line === 0 ? cell : '')));
    })
    .map((row) => {
      const cells = row.map((cell, column) => {
        const width = widths[column] ?? 0;
        const shown = cut(text(cell), width);
        const padding = ' '.repeat(width - lengthOf(shown));
        return typeof cell === 'number' ? padding + shown : shown + padding;
      });
      const line = cells.join('  ').trimEnd();
      return line.length <= maxWidth ? line : Array.from(line).slice(0, maxWidth).join('');
    })
    .join('\n');
}

/** The text in pieces of at most `width` characters, which end after a `,`, `{` or space, else a `_`, where one is near. */
function pieces(long: string, width: number): string[] {
  const found: string[] = [];
  let left = Array.from(long);
  while (left.length > width) {
    const line = left.slice(0, width);
    const ends = [',{ ', '_'].map((marks) => line.findLastIndex((character) => marks.includes(character)) + 1);
    const end = ends.find((each) => each > width / 2) ?? width;
    found.push(line.slice(0, end).join(''));
    left = left.slice(end);
  }
  return [...found, left.join('')];
}

export function wrapped(sentence: string, maxWidth: number): string {
  const lines: string[] = [];
  for (const word of text(sentence).split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && lengthOf(last) + 1 + lengthOf(word) <= maxWidth)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(cut(word, maxWidth));
  }
  return lines.join('\n');
}

/** The text, without its middle where it is too long. */
function cut(long: string, width: number): string {
  if (long.length <= width) return long;
  const characters = Array.from(long);
  if (characters.length <= width) return long;
  const end = Math.floor((width - 1) / 2);
  const begin = characters.slice(0, Math.max(0, width - 1 - end)).join('');
  return `${begin}…${characters.slice(characters.length - end).join('')}`;
}

function lengthOf(cell: string | number | undefined): number {
  return Array.from(text(cell)).length;
}

/** Shows control and invisible characters as text, because foreign names must not move the cursor or hide text. */
function text(cell: string | number | undefined): string {
  return cell === undefined ? '' : escapeUnsafe(String(cell));
}

/** The lines of a text, each with its control and invisible characters shown as text. */
export function escapeLines(lines: string): string {
  return lines.split('\n').map(escapeUnsafe).join('\n');
}

/** A JSON document as text that ends in a line feed. Unsafe characters are escaped as JSON does, so no value changes. */
export function jsonText(document: object): string {
  return `${escapeLines(JSON.stringify(document, undefined, 2))}\n`;
}
