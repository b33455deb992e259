import { MAX_BUCKETS, PLANNED_FACETS } from '../../nrql/facets.ts';
import { expectedRows, type QueryKind, type QueryPart } from './batching.ts';
import { metricDataParts, rowsRead, selectorOf, metricDataOf } from './batchReads.ts';
import { stepOf } from './nrql.ts';
import { ITSELF, type FoundRows, type TimesliceQuery } from './rows.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { readTimeslices } from './timeslices.ts';
import { ZERO_WITHOUT_ROW } from './metricSelector.ts';
import { mergeColumns } from '../../formulas/metricInputs.ts';
import {
  sharedRange,
  type BatchRead,
  type CallOptions,
  type MetricDataResult,
  type MetricDataSubject,
  type MetricSeries,
  type MinuteSeries,
  type SeriesChunk,
  type SeriesLimits,
  type SeriesRead,
  type TimeRange,
} from '../upstreamReader.ts';
import type { Timeslice } from '../types.ts';
import { HOUR_S, MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';
import { READS } from '../../reads/reads.ts';

/** The most rows (buckets times facets) that a query is planned for: half of the most that a response may have. */
const PLANNED_BUCKET_ROWS = 25_000;
/** 360 minutes are the most whole hours, and 360 hours the most whole days, that fit into MAX_BUCKETS buckets. */
const LIMITS: SeriesLimits = {
  longestByMinute: 360 * MINUTE_S,
  longestByHour: 360 * HOUR_S,
  shortestByHour: 0,
  stepOf,
};

/** Reads metric data minute by minute or hour by hour. */
export function metricSeriesRead(account: NerdGraphAccount): SeriesRead {
  return {
    ...rowsRead<MetricDataSubject, MetricSeries, SeriesChunk>(account, {
      partsOf: metricDataParts,
      maxRows: (chunk) => facetLimit(Math.min(MAX_BUCKETS, bucketsOf(chunk))),
      queriesOf: (parts, kind, chunk) => queriesOver(account, parts, kind, chunk),
      read: readRange,
      valueOf: ({ hostKey }, { own, range: { granule } }) => {
        const metrics = [...(own.buckets.get(hostKey ?? ITSELF) ?? [])];
        return {
          granule,
          metrics: metrics.map(([name, list]) => [name, list.toSorted((a, b) => a.from - b.from)]),
        };
      },
    }),
    limits: LIMITS,
    summarize,
  };
}

/** A chunk in as many ranges as its rows need, each with the same parts. */
function queriesOver(
  { memory }: NerdGraphAccount,
  parts: readonly QueryPart[],
  kind: QueryKind,
  chunk: SeriesChunk,
): readonly TimesliceQuery[] {
  const rows = parts.map((part) => expectedRows(part, 'application', memory));
  const most = Math.floor(PLANNED_BUCKET_ROWS / (Math.max(...rows) + 1));
  const buckets = Math.max(1, Math.min(MAX_BUCKETS, bucketsOf(chunk), most));
  const limits = { maxRows: facetLimit(buckets), bucketMinutes: chunk.granule / MINUTE_S };
  const { readFrom, to, granule } = chunk;
  // Whole steps, at least one.
  const step = stepOf(buckets * granule);
  const seconds = Math.max(step, Math.floor((buckets * granule) / step) * step);
  return Array.from({ length: Math.ceil((to - readFrom) / seconds) }, (_, index) => {
    const from = readFrom + index * seconds;
    return { ...kind, ...limits, parts, range: { from, to: Math.min(to, from + seconds) } };
  });
}

/** New Relic may return another window than requested; a missing part at either end is read in further queries. */
async function readRange(account: NerdGraphAccount, query: TimesliceQuery, call: CallOptions): Promise<FoundRows> {
  const found = await readTimeslices(account, query, call);
  const { range } = query;
  const lacking = new Map<string, { readonly range: TimeRange; readonly parts: QueryPart[] }>();
  for (const part of query.parts) {
    const rows = found.get(part.id);
    for (const gap of gapsIn(range, rows?.window)) {
      if (gap.to - gap.from >= range.to - range.from) {
        const words = 'the response is for another time than requested';
        if (rows !== undefined) rows.failure = account.transport.failure(READS[query.read].group, words);
        break;
      }
      const key = `${gap.from} ${gap.to}`;
      const alike = lacking.get(key) ?? { range: gap, parts: [] };
      alike.parts.push(part);
      lacking.set(key, alike);
    }
  }
  for (const gap of lacking.values()) {
    const rest = await readRange(account, { ...query, ...gap }, call);
    for (const [id, rows] of rest) found.get(id)?.append(rows);
  }
  return found;
}

function summarize(timeslices: ReadonlyMap<string, readonly Timeslice[]>, range: TimeRange): MetricDataResult {
  const rows = [...timeslices].map(
    ([name, inside]) => [name, mergeColumns(inside.map(({ columns }) => columns))] as const,
  );
  // The window is the requested range even where buckets are missing.
  return metricDataOf({ names: ZERO_WITHOUT_ROW }, new Map(rows), range);
}

const COUNTERS: QueryKind = {
  read: 'counters',
  groupBy: 'application',
  columns: 'sums',
  bucketMinutes: 1,
  keepsUnreadable: true,
  // Each read covers the last ten minutes again, so no minute is lost by the omission.
  maxOmissionMs: 10 * MINUTE_MS,
};

/** Reads minutes for counters. A response for a part of the range is used for that part; no further call reads the rest. */
export function counterRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MinuteSeries> {
  // Parsing a response with more rows would block the event loop for too long.
  const most = ({ from, to }: TimeRange): number => Math.floor(PLANNED_FACETS / ((to - from) / MINUTE_S));
  return rowsRead(account, {
    partsOf: ({ applicationId, metrics }) => [
      { id: applicationId, selector: selectorOf(metrics, 'names'), kind: COUNTERS },
    ],
    maxRows: most,
    valueOf: (_, { own, range }) => ({
      window: sharedRange(own.window ?? range, range),
      metrics: own.buckets.get(ITSELF) ?? new Map(),
    }),
  });
}

/** The parts of the range outside the response's window; none where the window is unknown. */
function gapsIn(range: TimeRange, window: TimeRange | undefined): TimeRange[] {
  if (window === undefined) return [];
  const before = { from: range.from, to: Math.min(range.to, window.from) };
  const after = { from: Math.max(range.from, window.to), to: range.to };
  return [before, after].filter(({ from, to }) => from < to);
}

/** The most facets that a query with this number of buckets is planned for: both facets and rows are limited. */
function facetLimit(buckets: number): number {
  return Math.min(PLANNED_FACETS, Math.max(1, Math.floor(PLANNED_BUCKET_ROWS / buckets) - 1));
}

function bucketsOf({ readFrom, to, granule }: SeriesChunk): number {
  return Math.ceil((to - readFrom) / granule);
}
