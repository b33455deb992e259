import type { NeededPart, QueryKind } from './batching.ts';
import { rowsRead } from './batchReads.ts';
import { MetricSelector } from './metricSelector.ts';
import type { SubjectRows } from './rows.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import type { GoldenSource } from '../../nrql/goldenMetric.ts';
import { isRecord, numbersOf } from '../../nrql/queryRows.ts';
import { readStatement } from '../../nrql/statement.ts';
import { ownRange, type BatchRead, type GoldenResult, type GoldenSubject, type TimeRange } from '../upstreamReader.ts';

/** Reads golden metrics: one query for each source reads many entities of one type. */
export function goldenMetricsRead(account: NerdGraphAccount): BatchRead<GoldenSubject, GoldenResult> {
  const kinds = new WeakMap<GoldenSource, QueryKind>();
  // Entities with the same columns have the same list object, so they share one selector for each source.
  const shared = new WeakMap<GoldenSubject['columns'], readonly Pick<NeededPart, 'kind' | 'selector'>[]>();

  const partsOfColumns = (columns: GoldenSubject['columns']): readonly Pick<NeededPart, 'kind' | 'selector'>[] => {
    const selects = new Map<GoldenSource, Set<string>>();
    for (const { source, select } of columns) selects.set(source, (selects.get(source) ?? new Set()).add(select));
    return [...selects].map(([golden, names]) => {
      const kind = kinds.get(golden) ?? { read: 'golden_metrics', groupBy: 'entity', golden };
      kinds.set(golden, kind);
      return { kind, selector: new MetricSelector([...names]) };
    });
  };

  return rowsRead<GoldenSubject, GoldenResult>(account, {
    keyOf: ({ type, window, endsBefore }) => `${type} ${window} ${endsBefore}`,
    rangeOf: ownRange,
    partsOf: ({ type, guid, columns }) => {
      const parts = shared.get(columns) ?? partsOfColumns(columns);
      shared.set(columns, parts);
      return parts.map(({ kind, selector }) => ({ kind, selector, id: guid, displayName: `${type} ${guid}` }));
    },
    valueOf: (subject, { parts, rowsOf, range }) =>
      resultOf(subject, new Map(parts.map((part) => [part.kind.golden, rowsOf(part)])), range),
  });
}

/** The golden metrics of one entity; a missing row is no value. One bad definition hides no others: all must fail to throw. */
function resultOf(
  { columns, unread }: GoldenSubject,
  found: ReadonlyMap<GoldenSource | undefined, SubjectRows>,
  queried: TimeRange,
): GoldenResult {
  let window: TimeRange | undefined;
  const values: GoldenResult['values'][number][] = [];
  const failures: GoldenResult['failures'][number][] = [];
  const notNumbers: string[] = [];
  for (const { name, source, select } of columns) {
    const rows = found.get(source);
    window ??= rows?.window;
    const failure = rows?.failure ?? rows?.failures.get(select);
    if (failure !== undefined) {
      failures.push([name, failure]);
      continue;
    }
    const written = rows?.columns.get(select) ?? null;
    const members = isRecord(written) ? Object.keys(written).length : 0;
    const hasPercentiles = members > 0 && (readStatement(`SELECT ${select}`).columns[0]?.percentiles ?? 0) > 0;
    const { numbers, isBad } = numbersOf(written, 1, hasPercentiles);
    if (isBad) notNumbers.push(name);
    // A single percentile, as of `percentile(x, 75)`, is published without the label `percentile`.
    for (const [percentile, value] of numbers) {
      values.push({ metric: name, percentile: members === 1 ? undefined : percentile, value });
    }
  }
  const [[, error] = [undefined, unread]] = failures;
  if (error !== undefined && failures.length === columns.length) throw error;
  return { window: window ?? queried, values, failures, notNumbers };
}
