import { escapeUnsafe } from '../../log/logfmt.ts';

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
