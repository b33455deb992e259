import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { inSlices } from '../eventLoop/turns.ts';
import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import { unitOf, type Family, type Labels } from '../metrics/family.ts';
import {
  addBraces,
  writeLabelPairs,
  type Block,
  type Column,
  type DroppedSeries,
  type PackedSamples,
} from '../metrics/writeSamples.ts';
import type { Group } from '../reads/reads.ts';
import { END_OF_EXPOSITION, writeMetadata, type Format } from './formats.ts';
import type { SeriesMask } from './seriesMask.ts';

/** Neighbouring columns of one family, from `start` to before `end`, in blocks with the same list of columns. */
interface Run {
  readonly blocks: readonly Block[];
  readonly start: number;
  end: number;
}

/** Successive blocks of one group with the same list of columns. The families are found once for all the blocks. */
interface AlikeBlocks {
  readonly columns: readonly Column[];
  readonly blocks: Block[];
  /** As in {@link FamilySeries}. */
  mayRepeat: boolean;
}

/** A family of an exposition, and where its series are. */
export interface FamilySeries {
  readonly family: Family;
  runs: Run[];
  series: number;
  /** True if the mask changed a label, because two series may now have equal labels. */
  mayRepeat: boolean;
}

/**
 * Finds the series of each family, and hides keys in labels. Drops a series if an earlier series has the same labels
 * now. Keeps families in the order of their first appearance, and series in the order of their blocks. All blocks of a
 * family belong to one group. Drops whole families, the largest first, until at most `maxSeries` series remain
 * (`collection.max_series` in docs/configuration.md); among equally large families, the first by name. Rejects with the
 * reason of `signal` when it is aborted.
 */
export async function findFamilies(
  blocks: readonly Block[],
  maxSeries: number,
  mask: SeriesMask,
  signal?: AbortSignal,
): Promise<{ readonly families: ReadonlyMap<string, FamilySeries>; readonly dropped: readonly DroppedSeries[] }> {
  const families = new Map<string, FamilySeries>();
  const alike: AlikeBlocks[] = [];
  const latest = new Map<Group, AlikeBlocks>();
  const take = (block: Block): void => {
    const shown = mask.block(block);
    const { columns } = shown.samples;
    let found = latest.get(block.group);
    if (found?.columns !== columns) {
      alike.push((found = { columns, blocks: [], mayRepeat: false }));
      latest.set(block.group, found);
    }
    found.blocks.push(shown);
    found.mayRepeat ||= shown !== block;
  };
  await inSlices(blocks, take, signal);
  await inSlices(alike, (each) => addRuns(families, each), signal);
  const dropped: DroppedSeries[] = [];
  for (const each of families.values()) if (each.mayRepeat) dropped.push(...(await dropRepeated(each, signal)));
  const largestFirst = [...families.values()].sort(
    (a, b) => b.series - a.series || (a.family.name < b.family.name ? -1 : 1),
  );
  let series = largestFirst.reduce((sum, each) => sum + each.series, 0);
  for (const largest of largestFirst) {
    if (series <= maxSeries) break;
    series -= largest.series;
    const { name } = largest.family;
    families.delete(name);
    const byRead = new Map<PackedSamples, number>();
    await inSlices(
      blocksOf(largest.runs),
      ({ block: { samples }, start, end }) => byRead.set(samples, (byRead.get(samples) ?? 0) + end - start),
      signal,
    );
    dropped.push(...droppedSeries(name, byRead));
  }
  return { families, dropped };
}

function droppedSeries(family: string, byRead: ReadonlyMap<PackedSamples, number>): DroppedSeries[] {
  return Array.from(byRead, ([reading, series]) => ({ family, series, reading }));
}

/** Deduplicates the series by labels, because Prometheus rejects a scrape that repeats a series. */
async function dropRepeated(family: FamilySeries, signal: AbortSignal | undefined): Promise<DroppedSeries[]> {
  const taken = new Set<string>();
  const byRead = new Map<PackedSamples, number>();
  const runs: Run[] = [];
  const take = ({ block, index }: { readonly block: Block; readonly index: number }): void => {
    const { samples } = block;
    const key = writeLabelPairs({ ...block.labels, ...samples.columns[index]?.labels })
      .sort()
      .join();
    if (taken.has(key)) {
      byRead.set(samples, (byRead.get(samples) ?? 0) + 1);
      return;
    }
    taken.add(key);
    const last = runs.at(-1);
    if (last?.blocks[0] === block && last.end === index) last.end += 1;
    else runs.push({ blocks: [block], start: index, end: index + 1 });
  };
  await inSlices(seriesOf(family.runs), take, signal);
  family.runs = runs;
  family.series = taken.size;
  return droppedSeries(family.family.name, byRead);
}

function* blocksOf(
  runs: readonly Run[],
): Generator<{ readonly block: Block; readonly start: number; readonly end: number }> {
  for (const { blocks, start, end } of runs) for (const block of blocks) yield { block, start, end };
}

function* seriesOf(runs: readonly Run[]): Generator<{ readonly block: Block; readonly index: number }> {
  for (const { block, start, end } of blocksOf(runs)) {
    for (let index = start; index < end; index += 1) yield { block, index };
  }
}

function addRuns(families: Map<string, FamilySeries>, { columns, blocks, mayRepeat }: AlikeBlocks): void {
  let found: FamilySeries | undefined;
  let run: Run | undefined;
  let index = 0;
  for (const { family } of columns) {
    if (found === undefined || run === undefined || found.family.name !== family.name) {
      found = families.get(family.name);
      if (found === undefined) families.set(family.name, (found = { family, runs: [], series: 0, mayRepeat: false }));
      found.mayRepeat ||= mayRepeat;
      found.runs.push((run = { blocks, start: index, end: index }));
    }
    index += 1;
    run.end = index;
    found.series += blocks.length;
  }
}

export interface ExpositionForm {
  readonly format: Format;
  readonly gzip: boolean;
}

/** A family of the exporter, of the client library, or of `/probe`, with new values for every exposition. */
export interface OwnFamily extends Pick<ExporterFamily, 'name' | 'help' | 'type'> {
  readonly series: readonly {
    /** `_bucket`, `_sum` or `_count` for a histogram, else empty. */
    readonly suffix: string;
    readonly labels: Labels;
    readonly value: number;
  }[];
}

/**
 * Renders an exposition into a body: first the collected families, then `exporterFamilies`. Has the limit and the
 * errors of {@link encodeBody}.
 */
export async function writeExposition(
  families: ReadonlyMap<string, FamilySeries>,
  exporterFamilies: readonly OwnFamily[],
  { format, gzip }: ExpositionForm,
  mask: SeriesMask,
  signal?: AbortSignal,
  limit?: number,
): Promise<readonly Buffer[]> {
  return await encodeBody(writeText(families, exporterFamilies, format, mask), gzip, signal, limit);
}

/** Characters in a part of the text. One part per line would make rendering 50 % slower. */
const PART = 16 * 1024;

/** Bytes in a piece of a body. */
const PIECE = 128 * 1024;

/** Bytes that the thread pool compresses at a time. Each handover to the pool costs CPU time. */
const COMPRESSED_PIECE = 512 * 1024;

/** Yields the text of the families, in parts of about {@link PART} characters. */
function* writeText(
  families: ReadonlyMap<string, FamilySeries>,
  exporterFamilies: readonly OwnFamily[],
  format: Format,
  mask: SeriesMask,
): Generator<string, void, undefined> {
  let part = '';
  for (const { family, runs } of families.values()) {
    part += writeMetadata({ ...family, help: mask.text(family.help) }, format);
    const open = `${family.name}{`;
    for (const { blocks, start, end } of runs) {
      for (const { text: labels, samples } of blocks) {
        const { columns, values } = samples;
        for (let index = start; index < end; index += 1) {
          const { text = '' } = columns[index] ?? {};
          if (labels === '') part += `${family.name}${addBraces(text)}${values[index]}\n`;
          else if (text === '') part += `${open}${labels}} ${values[index]}\n`;
          else part += `${open}${labels},${text}} ${values[index]}\n`;
          if (part.length < PART) continue;
          yield part;
          part = '';
        }
      }
    }
  }
  yield part;
  yield* writeExporterFamilies(exporterFamilies, families, format, mask);
  if (format === 'openmetrics') yield END_OF_EXPOSITION;
}

/**
 * Yields the text of the families in small pieces, because many accounts make it long. Drops values that are not
 * finite, and families without a finite value. Drops a series that the mask makes equal to an earlier series. Drops a
 * family whose name is in `taken`: Prometheus rejects a scrape with two families of one name.
 */
export function* writeExporterFamilies(
  families: readonly OwnFamily[],
  taken: ReadonlyMap<string, unknown>,
  format: Format,
  mask: SeriesMask,
): Generator<string, void, undefined> {
  for (const family of families) {
    if (taken.has(family.name) || !family.series.some(({ value }) => Number.isFinite(value))) continue;
    yield writeMetadata({ ...family, unit: unitOf(family.name) }, format);
    const shown = family.series.map(({ labels }) => mask.labels(labels));
    const mayRepeat = shown.some((labels, index) => labels !== family.series[index]?.labels);
    const written = new Set<string>();
    for (const [index, { suffix, value }] of family.series.entries()) {
      if (!Number.isFinite(value)) continue;
      const { le, ...otherLabels } = shown[index] ?? {};
      // OpenMetrics requires a bucket bound to be a float: `1.0`, not `1`.
      const bound = format === 'openmetrics' && le !== undefined && /^-?\d+$/.test(le) ? `${le}.0` : le;
      const pairs = writeLabelPairs(bound === undefined ? otherLabels : { ...otherLabels, le: bound });
      const series = `${family.name}${suffix}${addBraces(pairs.join(','))}`;
      if (written.has(series)) continue;
      if (mayRepeat) written.add(series);
      yield `${series}${value}\n`;
    }
  }
}

/**
 * Level 1 compresses 14.4 MB of series to 1.8 MB in 39 ms. Level 6 saves 5 % more, but takes 2.5 times as long. The
 * larger default window takes 44 ms, and its result is 3 % larger.
 */
const GZIP = {
  level: constants.Z_BEST_SPEED,
  windowBits: 13,
  chunkSize: 64 * 1024,
  writableHighWaterMark: 2 * COMPRESSED_PIECE,
};

/**
 * Encodes the text of a response into pieces. With `gzip`, the thread pool compresses a piece while the next piece is
 * written. A body above `limit` bytes is incomplete: it ends soon after the limit. Rejects when the signal is aborted.
 */
export async function encodeBody(
  parts: Iterable<string>,
  gzip: boolean,
  signal?: AbortSignal,
  limit = Infinity,
): Promise<readonly Buffer[]> {
  const body: Buffer[] = [];
  let bytes = 0;
  const add = (piece: Buffer): void => {
    body.push(piece);
    bytes += piece.length;
  };
  const pieces = function* (): Generator<Buffer> {
    for (const piece of encode(parts, gzip ? COMPRESSED_PIECE : PIECE)) {
      yield piece;
      if (bytes > limit) return;
    }
  };
  const collect = async (compressed: AsyncIterable<Buffer>): Promise<void> => {
    for await (const piece of compressed) add(piece);
  };
  if (gzip) await pipeline(pieces(), createGzip(GZIP), collect, { signal });
  else await inSlices(pieces(), add, signal);
  return body;
}

const encoder = new TextEncoder();

/** Yields the text in pieces of `size` bytes. A piece is a few bytes shorter where a character would be split. */
function* encode(parts: Iterable<string>, size: number): Generator<Buffer, void, undefined> {
  let piece = Buffer.allocUnsafeSlow(size);
  let length = 0;
  for (const part of parts) {
    let rest = part;
    while (rest !== '') {
      const { read, written } = encoder.encodeInto(rest, piece.subarray(length));
      length += written;
      rest = rest.slice(read);
      if (rest !== '') {
        yield piece.subarray(0, length);
        piece = Buffer.allocUnsafeSlow(size);
        length = 0;
      }
    }
  }
  yield piece.subarray(0, length);
}
