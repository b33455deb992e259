/** A row of the table. All its figures come from the same run of the benchmark. */
export interface Row {
  readonly what: string;
  /** The measured exposition after a refresh. With a single Prometheus, every exposition is the first. */
  readonly exposition?: 'first' | 'following';
  readonly unit: 'calls' | 'ms' | 'MB' | 'series';
  readonly runs: readonly number[];
  readonly reference: { readonly what: string; readonly runs: readonly number[] };
  readonly aim: Aim | undefined;
}

/**
 * The limit is a maximum of the median (`most`), of every run (`never`), or of the median divided by the median of the
 * reference (`mostTimes`). `timesFaster` is a minimum of the inverse ratio.
 */
export interface Aim {
  readonly kind: 'most' | 'never' | 'mostTimes' | 'timesFaster';
  readonly limit: number;
}

/** A row with the results of its runs. */
export interface JudgedRow extends Row {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly referenceMedian: number;
  /** The median divided by the median of the reference. */
  readonly ratio: number;
  /** Undefined for rows without an aim. */
  readonly met: boolean | undefined;
}

export function judge(row: Row): JudgedRow {
  const referenceMedian = median(row.reference.runs);
  const rowMedian = median(row.runs);
  const ratio = rowMedian / referenceMedian;
  return {
    ...row,
    median: rowMedian,
    lowest: Math.min(...row.runs),
    highest: Math.max(...row.runs),
    referenceMedian,
    ratio,
    met: row.aim === undefined ? undefined : isMet(row.aim, row.runs, ratio),
  };
}

function isMet({ kind, limit }: Aim, runs: readonly number[], ratio: number): boolean {
  switch (kind) {
    case 'most':
      return median(runs) <= limit;
    case 'never':
      return runs.every((run) => run <= limit);
    case 'mostTimes':
      return ratio <= limit;
    case 'timesFaster':
      return 1 / ratio >= limit;
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** Writes a table in Markdown, for terminals and documents. */
export function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)));
  const written = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [written(head), written(widths.map((width) => '-'.repeat(width))), ...lines.map(written)].join('\n');
}

export function rowTable(rows: readonly JudgedRow[]): string {
  const head = ['What', 'Exposition', 'Median (lowest to highest)', 'Reference', 'Ratio', 'Aim', 'Met'];
  return table(
    head,
    rows.map((row) => [
      row.what,
      row.exposition ?? '',
      `${figure(row.median)} ${row.unit} (${figure(row.lowest)} to ${figure(row.highest)})`,
      `${figure(row.referenceMedian)} ${row.unit}, ${row.reference.what}`,
      ratioText(row),
      aimText(row),
      row.met === undefined ? '' : row.met ? 'yes' : 'NO',
    ]),
  );
}

/** Formats three significant digits, or more before the point. */
export function figure(value: number): string {
  return Number.isInteger(value)
    ? String(value)
    : value >= 100
      ? value.toFixed(0)
      : String(Number(value.toPrecision(3)));
}

function ratioText({ ratio, aim }: JudgedRow): string {
  if (!Number.isFinite(ratio)) return '';
  return aim?.kind === 'timesFaster' ? `${figure(1 / ratio)} times faster` : figure(ratio);
}

function aimText({ aim, unit }: JudgedRow): string {
  if (aim === undefined) return '';
  switch (aim.kind) {
    case 'most':
      return `<= ${aim.limit} ${unit}`;
    case 'never':
      return `never > ${aim.limit} ${unit}`;
    case 'mostTimes':
      return `<= ${figure(aim.limit)}`;
    case 'timesFaster':
      return `>= ${aim.limit} times faster`;
  }
}
