import { Facets, hasOthers, MAX_FACETS } from './facets.ts';
import { findIncompleteMessage, describeIncomplete } from './incompleteResult.ts';

export interface RowRules {
  /** New Relic's names of the facets, in the order of the query; undefined: the name is unknown. */
  readonly facets: readonly (string | undefined)[];
  readonly labels: readonly string[];
  readonly metrics: readonly {
    /** The key of the column; undefined: the only column of the query. */
    readonly column: string | undefined;
    readonly scale: number;
    /** True for a percentile function: the value is an object with a number for each percentile. */
    readonly hasPercentiles: boolean;
    /** True for a column with a filter: null is normal if no record matches. */
    readonly isFiltered: boolean;
  }[];
  /** The expected key of the only column. New Relic may use another key. */
  readonly onlyColumn: string | undefined;
  /** LIMIT of the query, in facets; undefined: the response must have all facets. */
  readonly limit: number | undefined;
  /** The result is incomplete if the sum of the column `value` over all rows reaches `at_least`. */
  readonly failAt: { readonly value: string; readonly at_least: number } | undefined;
  readonly maxSeries: number;
}

export interface QueryRows {
  readonly rows: readonly unknown[];
  /** Names of the facets in the order of `facet` in a row; empty if New Relic does not name them. */
  readonly facets: readonly string[];
  readonly otherResult: unknown;
  readonly messages?: readonly string[];
}

export interface RowReading {
  readonly series: readonly (readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[])[];
  readonly cut: readonly number[];
  readonly dropped: Readonly<Record<(typeof ROW_DROP_REASONS)[number], number>>;
  /** Columns with a value that is not a number, sorted. An empty text means an only column of unknown name. */
  readonly badColumns: readonly string[];
  /** Columns of metrics that are null in every row, sorted; empty if `numberColumns` is empty. */
  readonly nullColumns: readonly string[];
  /** All columns that have a number other than 0 in some row. */
  readonly numberColumns: readonly string[];
  readonly columns: readonly string[];
}

export const ROW_DROP_REASONS = ['not_a_number', 'repeated'] as const;

export const PERCENTILE_LABEL = 'percentile';

const RESERVED_MEMBERS: readonly string[] = ['facet', 'beginTimeSeconds', 'endTimeSeconds'];

/** Rejects unreadable rows. The message says what is wrong. */
export class UnreadableRows extends Error {
  override readonly name = 'UnreadableRows';
}

/** Explains why the rows are incomplete. Returns undefined for complete rows. Throws UnreadableRows. */
export function explainIncomplete(
  { rows, facets, otherResult, messages = [] }: QueryRows,
  rules: RowRules,
): string | undefined {
  const { limit, failAt } = rules;
  if (limit === undefined && rows.length >= MAX_FACETS) {
    return `the result has ${rows.length} rows, the maximum of New Relic: narrow the query, or set "limit"`;
  }
  if (limit === undefined && hasOthers(otherResult)) {
    return 'New Relic left out rows (otherResult): narrow the query, or set "limit"';
  }
  const words = findIncompleteMessage(messages, limit !== undefined);
  if (words !== undefined) return describeIncomplete(words);
  if (failAt === undefined || rows.length === 0) return undefined;
  const others = collectOtherNames(facets, rules);
  const written = rows.map((row) => (isRecord(row) ? row[findKey(row, failAt.value, others)] : undefined));
  const numbers = written.filter((each) => isNumber(each));
  if (numbers.length === 0) throw new UnreadableRows('no row has a number in the column that "fail_at" names');
  const sum = numbers.reduce((total, each) => total + each, 0);
  return sum >= failAt.at_least
    ? `the sum of the column of "fail_at" is ${sum}, and reaches at_least (${failAt.at_least})`
    : undefined;
}

/** Reads rows into series: numbers times their scale, in the order of the rows. Throws UnreadableRows. */
export function readRows({ rows, facets }: QueryRows, rules: RowRules): RowReading {
  const facetsOfRows = new Facets(facets, rules.facets);
  const notColumns = new Set([...RESERVED_MEMBERS, ...facets, ...rules.facets, facets.join('')]);
  const others = collectOtherNames(facets, rules);
  const seriesByMetric = rules.metrics.map((): RowReading['series'][number][number][] => []);
  const cut = rules.metrics.map(() => 0);
  const bad = new Set<string>();
  const onlyNull = new Map(rules.metrics.filter(({ isFiltered }) => !isFiltered).map((metric) => [metric, '']));
  const withNumbers = new Set<string>();
  const columns = new Set<string>();
  const seen = new Set<string>();
  const dropped = { not_a_number: 0, repeated: 0 };
  const add = (index: number, labels: Readonly<Record<string, string>>, value: number): void => {
    const series = seriesByMetric[index];
    if (series === undefined || series.length >= rules.maxSeries) cut[index] = (cut[index] ?? 0) + 1;
    else series.push({ labels, value });
  };
  for (const row of rows) {
    if (!isRecord(row)) throw new UnreadableRows('a row is not an object');
    const values = facetsOfRows.readLabels(row);
    if (values === undefined) throw new UnreadableRows('a row lacks its facets');
    for (const name in row) {
      if (notColumns.has(name)) continue;
      columns.add(name);
      if (!withNumbers.has(name) && hasNumber(row[name])) withNumbers.add(name);
    }
    const [only = ''] = values;
    const key = values.length === 1 ? only : JSON.stringify(values);
    if (seen.has(key)) {
      dropped.repeated += 1;
      continue;
    }
    seen.add(key);
    const labels: Record<string, string> = {};
    for (const [index, name] of rules.labels.entries()) labels[name] = values[index] ?? '';
    let isBad = false;
    for (const [index, metric] of rules.metrics.entries()) {
      const name = findKey(row, metric.column ?? findOnlyColumn(row, notColumns, rules.onlyColumn), others);
      const written = Object.hasOwn(row, name) ? row[name] : undefined;
      const read = readNumbers(written, metric.scale, metric.hasPercentiles);
      if (written !== null) onlyNull.delete(metric);
      else if (onlyNull.has(metric)) onlyNull.set(metric, name);
      for (const [percentile, value] of read.numbers) {
        add(index, percentile === undefined ? labels : { ...labels, [PERCENTILE_LABEL]: percentile }, value);
      }
      if (read.isBad) bad.add(name);
      isBad ||= read.isBad;
    }
    if (isBad) dropped.not_a_number += 1;
  }
  const nullColumns = withNumbers.size === 0 ? [] : [...new Set(onlyNull.values())].sort();
  const badColumns = [...bad].sort();
  const numberColumns = [...withNumbers];
  return { series: seriesByMetric, cut, dropped, badColumns, nullColumns, numberColumns, columns: [...columns] };
}

const MAX_NAMED = 20;

/** Describes problems of the columns for users, each in words that follow "the query has". */
export function describeColumnProblems(reading: RowReading): readonly string[] {
  const { badColumns, nullColumns, numberColumns, columns } = reading;
  const quote = (name: string): string => (name === '' ? 'its only column' : `"${name}"`);
  const named = (names: readonly string[]): string => names.slice(0, MAX_NAMED).map(quote).join(', ');
  const advice = badColumns.includes('') ? ': name one of them in "value"' : '';
  const existing = columns.length === 0 ? 'the rows have no columns' : `the columns are ${named(columns)}${advice}`;
  const advised = 'check the name in "value", and the spelling of the attribute';
  const elsewhere = `but numbers in ${named(numberColumns)}: ${advised}`;
  return [
    ...(badColumns.length === 0 ? [] : [`rows without a number in ${named(badColumns)}: ${existing}`]),
    ...(nullColumns.length === 0 ? [] : [`only null in ${named(nullColumns)}, ${elsewhere}`]),
  ];
}

function hasNumber(written: unknown): boolean {
  if (isRecord(written)) return Object.values(written).some((each) => isNumber(each) && each !== 0);
  return isNumber(written) && written !== 0;
}

function findOnlyColumn(row: object, notColumns: ReadonlySet<string | undefined>, expected?: string): string {
  if (expected !== undefined && Object.hasOwn(row, expected)) return expected;
  const columnNames = Object.keys(row).filter((name) => !notColumns.has(name));
  return (columnNames.length === 1 ? columnNames[0] : undefined) ?? expected ?? '';
}

/** Returns the keys that `findKey` must not take for another name: facets, and the columns of metrics. */
function collectOtherNames(facets: readonly string[], rules: RowRules): ReadonlySet<string | undefined> {
  return new Set([...RESERVED_MEMBERS, ...facets, ...rules.facets, ...rules.metrics.map(({ column }) => column)]);
}

/**
 * Returns the key of a column in a row. Without an exact match, takes the only key that differs in case alone: whether
 * New Relic keeps the case of a function in its key (`AVERAGE.duration`) is not documented.
 */
function findKey(row: object, name: string, others: ReadonlySet<string | undefined>): string {
  if (Object.hasOwn(row, name)) return name;
  const wanted = name.toLowerCase();
  const [key, another] = Object.keys(row).filter(
    (each) => each.length === name.length && each.toLowerCase() === wanted && !others.has(each),
  );
  return another === undefined ? (key ?? name) : name;
}

/** Reads the numbers of a column in one row, by percentile if it has percentiles. `isBad` means any other value. */
export function readNumbers(written: unknown, scale: number, hasPercentiles: boolean) {
  const numbers = new Map<string | undefined, number>();
  const value = scaleNumber(written, scale);
  if (typeof value === 'number') numbers.set(undefined, value);
  if (value !== undefined) return { numbers, isBad: false };
  // Keys of a histogram look like percentiles, too.
  const entries = isRecord(written) && hasPercentiles ? Object.entries(written) : [];
  if (entries.length === 0 || !entries.every(([key]) => isPercentile(key))) return { numbers, isBad: true };
  let isBad = false;
  for (const [key, each] of entries) {
    const number = scaleNumber(each, scale);
    const percentile = String(Number(key));
    if (number === undefined) isBad = true;
    else if (number !== null && !numbers.has(percentile)) numbers.set(percentile, number);
  }
  return { numbers, isBad };
}

function isPercentile(key: string): boolean {
  return /^[0-9]{1,3}(\.[0-9]{1,20})?$/.test(key) && Number(key) <= 100;
}

function scaleNumber(written: unknown, scale: number): number | null | undefined {
  if (written === null) return null;
  const number = typeof written === 'boolean' ? Number(written) : written;
  return isNumber(number) && isNumber(number * scale) ? number * scale : undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** True for an object that is not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
