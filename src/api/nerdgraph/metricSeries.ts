import { MAX_BUCKETS, PLANNED_FACETS } from '../../nrql/facets.ts';
import { expectedRows, type NeededPart, type QueryPart } from './batching.ts';
import { limitMetricDataKinds, buildMetricData, makeMetricDataPart } from './metricData.ts';
import { ZERO_WITHOUT_ROW } from './metricSelector.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { joinRows, NextCall, makeQueries } from './nextCall.ts';
import { stepOf } from './nrql.ts';
import { ITSELF, type FoundRows, type TimesliceQuery } from './rows.ts';
import { countQueries, readTimeslices } from './timeslices.ts';
import { mergeColumns } from '../../formulas/metricInputs.ts';
import type {
  CallOptions,
  MetricDataResult,
  MetricDataSubject,
  MetricSeries,
  Outcome,
  SeriesChunk,
  SeriesLimits,
  SeriesRead,
  TimeRange,
} from '../upstreamReader.ts';
import { getOrAdd } from '../maps.ts';
import type { Timeslice } from '../types.ts';
import { HOUR_S, MINUTE_S } from '../../formulas/units.ts';
import { READS } from '../../reads/reads.ts';

/** Planned rows of a query, which are buckets times facets: half of New Relic's limit for a response. */
const PLANNED_BUCKET_ROWS = 25_000;
/** `MAX_BUCKETS` buckets have room for 360 minutes, in whole hours, and for 360 hours, in whole days. */
const LIMITS: SeriesLimits = {
  longestByMinute: 360 * MINUTE_S,
  longestByHour: 360 * HOUR_S,
  shortestByHour: 0,
  stepOf,
};

/** Reads metric data minute by minute or hour by hour. */
export function createMetricSeriesRead(account: NerdGraphAccount): SeriesRead {
  return {
    limits: LIMITS,
    take<T extends MetricDataSubject>(subjects: Iterable<T>, chunk: SeriesChunk) {
      const next = new NextCall<T>(account.memory);
      const kinds = limitMetricDataKinds(limitFacets(Math.min(MAX_BUCKETS, countBuckets(chunk))));
      for (const subject of subjects) if (!next.add(subject, [makeMetricDataPart(subject, kinds)])) break;
      return next.makeBatchWithCalls(countQueries(account.memory, makeRangeQueries(account, next.parts, chunk)));
    },
    async read(subjects, chunk, call) {
      const parts = subjects.map((subject) => makeMetricDataPart(subject));
      const queries = makeRangeQueries(account, parts, chunk);
      const found = joinRows(await Promise.all(queries.map((query) => readRange(account, query, call))));
      return subjects.map(({ applicationId, hostKey }): Outcome<MetricSeries> => {
        const rows = found.get(applicationId);
        const error = rows?.failureOf(hostKey);
        if (error !== undefined) return { error };
        const timeslices = [...(rows?.buckets.get(hostKey ?? ITSELF) ?? [])];
        const metrics = timeslices.map(([name, list]) => [name, list.toSorted((a, b) => a.from - b.from)] as const);
        return { value: { granule: chunk.granule, metrics } };
      });
    },
    summarize,
  };
}

function makeRangeQueries(
  { memory }: NerdGraphAccount,
  parts: readonly NeededPart[],
  chunk: SeriesChunk,
): readonly TimesliceQuery[] {
  const { readFrom, to, granule } = chunk;
  return makeQueries(parts, chunk).flatMap((query) => {
    const rows = query.parts.map((part) => expectedRows(part, 'application', memory));
    const maxBuckets = Math.floor(PLANNED_BUCKET_ROWS / (Math.max(...rows) + 1));
    const buckets = Math.max(1, Math.min(MAX_BUCKETS, countBuckets(chunk), maxBuckets));
    const limits = { maxRows: limitFacets(buckets), bucketMinutes: granule / MINUTE_S };
    // A range has whole steps, at least one.
    const step = stepOf(buckets * granule);
    const seconds = Math.max(step, Math.floor((buckets * granule) / step) * step);
    return Array.from({ length: Math.ceil((to - readFrom) / seconds) }, (_, index) => {
      const from = readFrom + index * seconds;
      return { ...query, ...limits, range: { from, to: Math.min(to, from + seconds) } };
    });
  });
}

/** Reads a range. New Relic may return a shorter window; further queries read the gaps at both ends. */
async function readRange(account: NerdGraphAccount, query: TimesliceQuery, call: CallOptions): Promise<FoundRows> {
  const found = await readTimeslices(account, query, call);
  const { range } = query;
  const lacking = new Map<string, { readonly range: TimeRange; readonly parts: QueryPart[] }>();
  for (const part of query.parts) {
    const rows = found.get(part.id);
    for (const gap of findGaps(range, rows?.window)) {
      if (gap.to - gap.from >= range.to - range.from) {
        const words = 'the response is for another time than requested';
        if (rows !== undefined) rows.failure = account.transport.failure(READS[query.read].group, words);
        break;
      }
      getOrAdd(lacking, `${gap.from} ${gap.to}`, () => ({ range: gap, parts: [] })).parts.push(part);
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
  // The window is the requested range even if buckets are missing.
  return buildMetricData({ names: ZERO_WITHOUT_ROW }, new Map(rows), range);
}

/** Finds the parts of the range outside the response's window; none if the window is unknown. */
function findGaps(range: TimeRange, window: TimeRange | undefined): TimeRange[] {
  if (window === undefined) return [];
  const before = { from: range.from, to: Math.min(range.to, window.from) };
  const after = { from: Math.max(range.from, window.to), to: range.to };
  return [before, after].filter(({ from, to }) => from < to);
}

/** Returns the planned facets of a query with this number of buckets. New Relic limits both facets and rows. */
function limitFacets(buckets: number): number {
  return Math.min(PLANNED_FACETS, Math.max(1, Math.floor(PLANNED_BUCKET_ROWS / buckets) - 1));
}

function countBuckets({ readFrom, to, granule }: SeriesChunk): number {
  return Math.ceil((to - readFrom) / granule);
}
