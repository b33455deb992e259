import process from 'node:process';
import { SingleBar } from 'cli-progress';
import { escapeUnsafe } from '../log/logger.ts';

/** A whole minute for people: `2026-11-20T08:00Z`. */
export function formatMinute(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 16)}Z`;
}

/** Shows on standard error how far a command has come: a bar on a terminal, else a line every few seconds. */
export interface Progress {
  /** `total` may grow while more work becomes known. */
  update(done: number, total: number): void;
  stop(): void;
}

const LINE_EVERY_MS = 5_000;

/** What is over sooner shows nothing. */
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

/** Rows as columns of text, two spaces apart; numbers to the right. The first row is the heading. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  // Not Math.max(...rows): a list of names is longer than a call may have arguments.
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, lengthOf(row[column])), 0),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const padding = ' '.repeat((widths[column] ?? 0) - lengthOf(cell));
          return typeof cell === 'number' ? padding + text(cell) : text(cell) + padding;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function lengthOf(cell: string | number | undefined): number {
  return Array.from(text(cell)).length;
}

/** Names come from outside: what could move a terminal's cursor or hide text is shown, not obeyed. */
function text(cell: string | number | undefined): string {
  return cell === undefined ? '' : escapeUnsafe(String(cell));
}
