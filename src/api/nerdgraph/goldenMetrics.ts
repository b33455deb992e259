import { Size, type QueryKind, type QueryPart } from './batching.ts';
import type { AccountMemory } from './accountMemory.ts';
import { MetricSelector } from './metricSelector.ts';
import type { FoundRows } from './rows.ts';
import { countQueries, readTimeslices, type PartsQuery } from './timeslices.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import type { GoldenSource } from '../../nrql/goldenMetric.ts';
import { numbersOf } from '../../nrql/queryRows.ts';
import {
  ownRange,
  type BatchRead,
  type GoldenResult,
  type GoldenSubject,
  type Outcome,
  type TimeRange,
} from '../upstreamReader.ts';
import type { UpstreamError } from '../upstreamError.ts';

const GOLDEN_READ = 'golden_metrics';

/** An entity of a call, and the selected columns of each of its sources. */
interface Entity<T extends GoldenSubject> {
  readonly subject: T;
  readonly selectors: Selectors;
}

type Selectors = ReadonlyMap<GoldenSource, MetricSelector>;

/** Reads golden metrics: one query per source reads many entities. */
export function goldenMetricsRead(account: NerdGraphAccount): BatchRead<GoldenSubject, GoldenResult> {
  return {
    plan: (subjects, range) => {
      const entities = takeEntities(account.memory, subjects);
      const queried = ownRange(entities[0].subject, range);
      const sources = [...new Set(entities.flatMap(({ selectors }) => [...selectors.keys()]))];
      const queries = (): readonly PartsQuery[] =>
        sources.map((source) => ({ parts: partsOf(entities, source), query: { ...kindOf(source), range: queried } }));
      const isCounted = entities.length < 2 || account.memory.failures.hasSuspects;
      return {
        subjects: entities.map(({ subject }) => subject),
        calls: isCounted ? countQueries(account, queries()) : sources.length,
        read: async (call) => {
          const rows = await Promise.all(queries().map((each) => readTimeslices(account, each, call)));
          const found = new Map(sources.map((source, index) => [source, rows[index]]));
          return entities.map(({ subject }) => outcomeOf(subject, found, queried));
        },
      };
    },
  };
}

/** Takes the entities of the next call: of one type and one window, as many as one query for each source can carry. */
function takeEntities<T extends GoldenSubject>(
  memory: AccountMemory,
  subjects: Iterable<T>,
): readonly [Entity<T>, ...Entity<T>[]] {
  const { failures } = memory;
  const sizes = new Map<GoldenSource, Size>();
  // Entities with the same columns have the same list object, so they can share one selector for each source.
  const known = new Map<GoldenSubject['columns'], Selectors>();
  let first: Entity<T> | undefined;
  const others: Entity<T>[] = [];
  for (const subject of subjects) {
    const { type, window, endsBefore, guid, columns } = subject;
    if (first !== undefined) {
      const { subject: other } = first;
      const isAlike = type === other.type && window === other.window && endsBefore === other.endsBefore;
      if (!isAlike || failures.isSuspect(GOLDEN_READ, other.guid)) break;
      if (failures.isSuspect(GOLDEN_READ, guid)) continue;
    }
    const selectors = known.get(columns) ?? selectorsOf(columns);
    known.set(columns, selectors);
    let fits = true;
    for (const [source, selector] of selectors) {
      const size = sizes.get(source) ?? new Size(memory, kindOf(source));
      sizes.set(source, size);
      size.add(partOf(subject, selector));
      fits &&= size.fits;
    }
    if (first !== undefined && !fits) break;
    const entity = { subject, selectors };
    if (first === undefined) first = entity;
    else others.push(entity);
  }
  if (first === undefined) throw new RangeError('no subjects');
  return [first, ...others];
}

function kindOf(source: GoldenSource): QueryKind {
  return { read: GOLDEN_READ, groupBy: 'entity', golden: source };
}

function selectorsOf(columns: GoldenSubject['columns']): Selectors {
  const selects = new Map<GoldenSource, Set<string>>();
  for (const { source, select } of columns) selects.set(source, (selects.get(source) ?? new Set()).add(select));
  return new Map([...selects].map(([source, of]) => [source, new MetricSelector([...of])]));
}

function partOf({ guid, type }: GoldenSubject, selector: MetricSelector): QueryPart {
  return { id: guid, selector, displayName: `${type} ${guid}` };
}

function partsOf(entities: readonly Entity<GoldenSubject>[], source: GoldenSource): readonly QueryPart[] {
  return entities.flatMap(({ subject, selectors }) => {
    const selector = selectors.get(source);
    return selector === undefined ? [] : [partOf(subject, selector)];
  });
}

/**
 * The golden metrics of one entity. Null, and a missing row, mean that a metric has no value. Readable metrics are published, because
 * one bad definition must not hide the others.
 */
function outcomeOf(
  { guid, columns, unread }: GoldenSubject,
  found: ReadonlyMap<GoldenSource, FoundRows | undefined>,
  queried: TimeRange,
): Outcome<GoldenResult> {
  let window: TimeRange | undefined;
  const values = new Map<string, { readonly percentile: string | undefined; readonly value: number }[]>();
  const failures = new Map<string, UpstreamError>();
  const notNumbers: string[] = [];
  for (const { name, source, select } of columns) {
    const rows = found.get(source)?.get(guid);
    window ??= rows?.window;
    const failure = rows?.failure ?? rows?.failures.get(select);
    if (failure !== undefined) {
      failures.set(name, failure);
      continue;
    }
    const written = rows?.columns.get(select) ?? null;
    const { numbers, isBad } = numbersOf(written, 1);
    if (isBad) notNumbers.push(name);
    // A single percentile, as of `percentile(x, 75)`, is published without the label `percentile`.
    const isOne = typeof written === 'object' && written !== null && Object.keys(written).length === 1;
    const read = numbers.map(([percentile, value]) => ({ percentile: isOne ? undefined : percentile, value }));
    if (read.length > 0) values.set(name, read);
  }
  const [error = unread] = failures.values();
  if (error !== undefined && failures.size === columns.length) return { error };
  return { value: { window: window ?? queried, values, failures, notNumbers } };
}
