/** Rows as columns of text, two spaces apart; numbers to the right. The first row is the heading. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => lengthOf(row[column]))));
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

function text(cell: string | number | undefined): string {
  return cell === undefined ? '' : escapeControls(String(cell));
}

/** Names come from outside: what could move a terminal's cursor is shown, not obeyed. */
function escapeControls(value: string): string {
  return value.replace(/[\p{Cc}\p{Cf}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}
