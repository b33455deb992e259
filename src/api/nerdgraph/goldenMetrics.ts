import type { NeededPart, QueryKind } from './batching.ts';
import { MetricSelector } from './metricSelector.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { NextCall, makeQueries } from './nextCall.ts';
import type { FoundRows } from './rows.ts';
import { readTimeslices } from './timeslices.ts';
import type { GoldenSource } from '../../nrql/goldenMetric.ts';
import { isRecord, readNumbers } from '../../nrql/queryRows.ts';
import { readStatement } from '../../nrql/statement.ts';
import { getOrAdd } from '../maps.ts';
import {
  resolveWindow,
  type BatchRead,
  type GoldenResult,
  type GoldenSubject,
  type Outcome,
  type TimeRange,
} from '../upstreamReader.ts';

/** Reads golden metrics of many entities of one type, with one query for each source. */
export function createGoldenMetricsRead(account: NerdGraphAccount): BatchRead<GoldenSubject, GoldenResult> {
  const kinds = new WeakMap<GoldenSource, QueryKind>();
  // Entities with equal columns have the same list object, so they share one selector for each source.
  const shared = new WeakMap<GoldenSubject['columns'], readonly Pick<NeededPart, 'kind' | 'selector'>[]>();

  const makeColumnParts = (columns: GoldenSubject['columns']): readonly Pick<NeededPart, 'kind' | 'selector'>[] => {
    const selects = new Map<GoldenSource, Set<string>>();
    for (const { source, select } of columns) getOrAdd(selects, source, () => new Set<string>()).add(select);
    return Array.from(selects, ([golden, names]) => ({
      kind: getOrAdd(kinds, golden, () => ({ read: 'golden_metrics', groupBy: 'entity', golden })),
      selector: new MetricSelector([...names]),
    }));
  };

  const makeParts = ({ type, guid, columns }: GoldenSubject): readonly NeededPart[] => {
    const parts = getOrAdd(shared, columns, () => makeColumnParts(columns));
    return parts.map(({ kind, selector }) => ({ kind, selector, id: guid, displayName: `${type} ${guid}` }));
  };

  return {
    take<T extends GoldenSubject>(subjects: Iterable<T>, range: TimeRange) {
      const next = new NextCall<T>(account.memory);
      for (const subject of subjects) {
        const { type, window, endsBefore } = subject;
        if (!next.add(subject, makeParts(subject), `${type} ${window} ${endsBefore}`)) break;
      }
      return next.makeBatch(range);
    },
    async read(subjects, requested, call) {
      const [first] = subjects;
      const range = first === undefined ? requested : resolveWindow(first, requested);
      const readsBySource = makeQueries(subjects.flatMap(makeParts), range).map(
        async (query) => [query.golden, await readTimeslices(account, query, call)] as const,
      );
      const found = new Map(await Promise.all(readsBySource));
      return subjects.map((subject) => makeOutcome(found, subject, range));
    },
  };
}

function makeOutcome(
  found: ReadonlyMap<GoldenSource | undefined, FoundRows>,
  { guid, columns, unread }: GoldenSubject,
  queried: TimeRange,
): Outcome<GoldenResult> {
  let window: TimeRange | undefined;
  const values: GoldenResult['values'][number][] = [];
  const failures: GoldenResult['failures'][number][] = [];
  const notNumbers: string[] = [];
  for (const { name, source, select } of columns) {
    const rows = found.get(source)?.get(guid);
    window ??= rows?.window;
    const failure = rows?.failure ?? rows?.failures.get(select);
    if (failure !== undefined) {
      failures.push([name, failure]);
      continue;
    }
    const written = rows?.columns.get(select) ?? null;
    const members = isRecord(written) ? Object.keys(written).length : 0;
    const hasPercentiles = members > 0 && (readStatement(`SELECT ${select}`).columns[0]?.percentiles ?? 0) > 0;
    const { numbers, isBad } = readNumbers(written, 1, hasPercentiles);
    if (isBad) notNumbers.push(name);
    // A single percentile, such as `percentile(x, 75)`, has no label `percentile`.
    for (const [percentile, value] of numbers) {
      values.push({ metric: name, percentile: members === 1 ? undefined : percentile, value });
    }
  }
  const [[, error] = [undefined, unread]] = failures;
  if (error !== undefined && failures.length === columns.length) return { error };
  return { value: { window: window ?? queried, values, failures, notNumbers } };
}
