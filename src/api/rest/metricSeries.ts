import type { MetricDataAnswer, MetricSeries, SeriesChunk, TimeRange } from '../reader.ts';
import { secondsOf } from '../timeslice.ts';
import type { MetricData, Timeslice } from '../types.ts';
import { isMerged, mergeTimeslices } from './mergeTimeslices.ts';

/**
 * Agents report these only with something in them, while upstream fills every timeslice of a series: zeros are then its
 * filling, which a summarized answer would not have (no memory, a threshold of 0, no errors where there may be no such metric).
 */
const NEVER_ZERO: ReadonlySet<string> = new Set(['Errors/all', 'Apdex', 'EndUser/Apdex', 'Memory/Physical']);

/** What a series keeps of an answer: the timeslices of the chunk, with the values that `summarizeSeries` reads. */
export function toSeries(data: MetricData, names: readonly string[], chunk: SeriesChunk): MetricSeries {
  const metrics = names.flatMap((name) => {
    const timeslices = (data.get(name) ?? []).flatMap((timeslice) => spread(timeslice, chunk));
    const kept = timeslices.filter(({ from }) => from >= chunk.from).map(withMergedValues);
    const reported = kept.filter(({ values }) => !NEVER_ZERO.has(name) || !isFilling(values));
    return reported.length === 0 ? [] : [[name, reported] as const];
  });
  const lengths = metrics.flatMap(([, timeslices]) => timeslices.filter(hasValues).map(secondsOf));
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return { granule: longest === 0 ? chunk.granule : longest, metrics };
}

/** What a summarized call for the window would have answered, from the timeslices that lie in it. */
export function summarizeSeries(
  timeslices: ReadonlyMap<string, readonly Timeslice[]>,
  range: TimeRange,
  granule: number,
): MetricDataAnswer {
  const data = new Map<string, readonly Timeslice[]>();
  let reports = false;
  for (const [name, inside] of timeslices) {
    if (inside.length === 0) continue;
    reports ||= inside.some(({ values }) => Object.values(values).some((value) => value !== 0));
    data.set(name, [{ ...range, values: joined(inside, secondsOf(range), granule) }]);
  }
  // Upstream fills a series with zeros; an application that reported nothing at all is not found in a summarized answer.
  return { data: reports ? data : new Map(), datastores: undefined };
}

function joined(timeslices: readonly Timeslice[], length: number, granule: number): Timeslice['values'] {
  // A timeslice whose values are not known makes the whole window unknown: a part would give wrong sums.
  if (!timeslices.every(hasValues)) return {};
  const [first] = timeslices;
  return length === granule && first !== undefined ? first.values : mergeTimeslices(timeslices, length);
}

/** The reader's one timeslice over the whole range without values says "not known": that holds for each granule of it. */
function spread(timeslice: Timeslice, { granule }: SeriesChunk): Timeslice[] {
  const length = secondsOf(timeslice);
  if (hasValues(timeslice) || length <= granule) return [timeslice];
  return Array.from({ length: Math.ceil(length / granule) }, (_, index) => {
    const from = timeslice.from + index * granule;
    return { from, to: from + granule, values: {} };
  });
}

function withMergedValues({ from, to, values }: Timeslice): Timeslice {
  return { from, to, values: Object.fromEntries(Object.entries(values).filter(([name]) => isMerged(name))) };
}

function isFilling(values: Timeslice['values']): boolean {
  const numbers = Object.values(values);
  return numbers.length > 0 && numbers.every((number) => number === 0);
}

function hasValues({ values }: Timeslice): boolean {
  return Object.keys(values).length > 0;
}
