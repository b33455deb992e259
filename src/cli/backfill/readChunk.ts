import { UpstreamError } from '../../api/errors.ts';
import type { UpstreamReader } from '../../api/oldReader.ts';
import type { CallOptions } from '../../api/reader.ts';
import type { MetricData, Timeslice } from '../../api/types.ts';
import { batches, CAUTIOUS_NAMES } from '../../api/rest/nameBatches.ts';
import type { BatchSize } from '../../collect/metricData.ts';
import { METRIC } from '../../formulas/names.ts';
import { usedValues } from '../../metrics/window.ts';
import { secondsOf } from '../../api/timeslice.ts';
import type { Chunk } from './chunks.ts';

/** What is kept of the answers for one chunk; also how it is written to disk. */
export interface ReadChunk {
  readonly from: number;
  readonly to: number;
  /** Seconds per timeslice as answered. */
  readonly granule: number;
  /** By metric name, oldest first, the values that a calculation reads. */
  readonly metrics: readonly (readonly [name: string, timeslices: readonly Timeslice[]])[];
}

export interface ChunkSubject {
  readonly applicationId: number;
  readonly hostKey?: string;
}

/**
 * Agents report these only with something in them, while upstream fills every timeslice of a series: zeros are then its
 * filling, which a summarized answer would not have (no memory, a threshold of 0, no errors where there may be no such metric).
 */
const NEVER_ZERO: ReadonlySet<string> = new Set([METRIC.errors, METRIC.apdex, METRIC.endUserApdex, METRIC.memory]);

const REFUSALS = new Set([400, 414, 422]);

/** Reads the timeslices of one application or host over a chunk. Rejects when any call fails. */
export async function readChunk(
  reader: UpstreamReader,
  subject: ChunkSubject,
  names: readonly string[],
  chunk: Chunk,
  size: BatchSize,
  call: CallOptions,
): Promise<ReadChunk> {
  const data = await readNames(reader, subject, names, chunk, size, call);
  const metrics = names.flatMap((name) => {
    const timeslices = (data.get(name) ?? []).flatMap((timeslice) => spread(timeslice, chunk));
    const kept = timeslices.filter((slice) => slice.from >= chunk.from).map((slice) => keepUsed(name, slice));
    const reported = kept.filter(({ values }) => !NEVER_ZERO.has(name) || !isFilling(values));
    return reported.length === 0 ? [] : [[name, reported] as const];
  });
  const lengths = metrics.flatMap(([, timeslices]) => timeslices.filter(hasValues).map(secondsOf));
  const granule = lengths.reduce((longest, length) => Math.max(longest, length), 0) || chunk.granule;
  return { from: chunk.from, to: chunk.to, granule, metrics };
}

/** Half of the names would give wrong calculations: all or nothing, fewer at a time once a list was refused as too long. */
async function readNames(
  reader: UpstreamReader,
  subject: ChunkSubject,
  names: readonly string[],
  { readFrom, to }: Chunk,
  size: BatchSize,
  call: CallOptions,
): Promise<MetricData> {
  const read = async (most: number): Promise<MetricData> => {
    const data = new Map<string, readonly Timeslice[]>();
    for (const batch of batches(names, most)) {
      const query = { ...subject, names: batch, from: readFrom, to, summarize: false };
      for (const [name, timeslices] of await reader.readMetricData(query, call)) data.set(name, timeslices);
    }
    return data;
  };
  try {
    return await read(size.names);
  } catch (error) {
    const refused = error instanceof UpstreamError && REFUSALS.has(error.failure.status ?? 0);
    if (!refused || Math.min(size.names, names.length) <= CAUTIOUS_NAMES) throw error;
    const data = await read(CAUTIOUS_NAMES);
    // Only now it is known that the number of names was what upstream refused.
    size.names = CAUTIOUS_NAMES;
    return data;
  }
}

/** The reader's one timeslice over the whole range without values says "not known": that holds for each granule of it. */
function spread(timeslice: Timeslice, { granule }: Chunk): Timeslice[] {
  const length = secondsOf(timeslice);
  if (hasValues(timeslice) || length <= granule) return [timeslice];
  return Array.from({ length: Math.ceil(length / granule) }, (_, index) => {
    const from = timeslice.from + index * granule;
    return { from, to: from + granule, values: {} };
  });
}

function keepUsed(name: string, { from, to, values }: Timeslice): Timeslice {
  const used = usedValues(name).flatMap((value) => {
    const number = Object.hasOwn(values, value) ? values[value] : undefined;
    return number === undefined ? [] : [[value, number] as const];
  });
  return { from, to, values: Object.fromEntries(used) };
}

function isFilling(values: Timeslice['values']): boolean {
  const numbers = Object.values(values);
  return numbers.length > 0 && numbers.every((number) => number === 0);
}

function hasValues({ values }: Timeslice): boolean {
  return Object.keys(values).length > 0;
}
