import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { inSlices } from '../eventLoop/turns.ts';
import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import { unitOf, type Family, type Labels } from '../metrics/family.ts';
import {
  bracedLabels,
  labelPairs,
  type Block,
  type Column,
  type DroppedSeries,
  type PackedSamples,
} from '../metrics/writeSamples.ts';
import type { Group } from '../reads/reads.ts';
import { END_OF_EXPOSITION, metadata, type Format } from './formats.ts';
import type { SeriesMask } from './seriesMask.ts';

/** Blocks that share their list of columns, and in it neighbouring columns of one family, from `start` to before `end`. */
interface Run {
  readonly blocks: readonly Block[];
  readonly start: number;
  end: number;
}

/** Successive blocks of one group that share their list of columns: their families are found once for all of them. */
interface AlikeBlocks {
  readonly columns: readonly Column[];
  readonly blocks: Block[];
  /** As in {@link FamilySeries}. */
  mayRepeat: boolean;
}

/** A family of an exposition, and the places of its series. */
export interface FamilySeries {
  readonly family: Family;
  runs: Run[];
  series: number;
  /** True where labels are published otherwise than they were read, so that two series can have become equal. */
  mayRepeat: boolean;
}

/**
 * Finds the series of each family, and hides keys in their labels. Of series that become equal by that, the first stays. Families
 * are in the order of their first appearance, series in the order of their blocks: all blocks of a family are of one group. Where
 * there are more than `maxSeries` series, whole families are left out, the largest first, of equally large ones the first by name
 * (`collection.max_series` in docs/configuration.md). Rejects with the reason of the signal once that is aborted.
 */
export async function familiesOf(
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

/** Leaves out series that repeat the labels of an earlier one: Prometheus refuses a scrape that has a series twice. */
async function dropRepeated(family: FamilySeries, signal: AbortSignal | undefined): Promise<DroppedSeries[]> {
  const taken = new Set<string>();
  const byRead = new Map<PackedSamples, number>();
  const runs: Run[] = [];
  const take = ({ block, index }: { readonly block: Block; readonly index: number }): void => {
    const { samples } = block;
    const key = labelPairs({ ...block.labels, ...samples.columns[index]?.labels })
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

/** A family of the exporter itself, of the client library, or of `/probe`; its values are new for every exposition. */
export interface OwnFamily extends Pick<ExporterFamily, 'name' | 'help' | 'type'> {
  readonly series: readonly {
    /** `_bucket`, `_sum` or `_count` after the family's name (histograms only), else empty. */
    readonly suffix: string;
    readonly labels: Labels;
    readonly value: number;
  }[];
}

/**
 * An exposition ready to be sent: the collected families, then the exporter's own. Ends and rejects as {@link bodyOf}.
 */
export async function writeExposition(
  families: ReadonlyMap<string, FamilySeries>,
  own: readonly OwnFamily[],
  { format, gzip }: ExpositionForm,
  mask: SeriesMask,
  signal?: AbortSignal,
  limit?: number,
): Promise<readonly Buffer[]> {
  return await bodyOf(textOf(families, own, format, mask), gzip, signal, limit);
}

/** Characters of a part of the text: a part for each line would take half as long again. */
const PART = 16 * 1024;

/** Bytes of a piece of a body. */
const PIECE = 128 * 1024;

/** Bytes that the thread pool compresses at a time: each hand-over costs processor time. */
const COMPRESSED_PIECE = 512 * 1024;

/** The text of the families, in parts of about {@link PART} characters. */
function* textOf(
  families: ReadonlyMap<string, FamilySeries>,
  own: readonly OwnFamily[],
  format: Format,
  mask: SeriesMask,
): Generator<string, void, undefined> {
  let part = '';
  for (const { family, runs } of families.values()) {
    part += metadata({ ...family, help: mask.text(family.help) }, format);
    const open = `${family.name}{`;
    for (const { blocks, start, end } of runs) {
      for (const { text: labels, samples } of blocks) {
        const { columns, values } = samples;
        for (let index = start; index < end; index += 1) {
          const { text = '' } = columns[index] ?? {};
          if (labels === '') part += `${family.name}${bracedLabels(text)}${values[index]}\n`;
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
  yield* ownText(own, families, format, mask);
  if (format === 'openmetrics') yield END_OF_EXPOSITION;
}

/**
 * The text of the families, in small pieces: with many accounts it is long. Left out are values that are not finite, series that
 * become equal to an earlier one when keys are hidden, families without a series, and a family whose name the collected data have taken: Prometheus refuses a scrape that has two families of
 * one name.
 */
export function* ownText(
  families: readonly OwnFamily[],
  taken: ReadonlyMap<string, unknown>,
  format: Format,
  mask: SeriesMask,
): Generator<string, void, undefined> {
  for (const family of families) {
    if (taken.has(family.name) || !family.series.some(({ value }) => Number.isFinite(value))) continue;
    yield metadata({ ...family, unit: unitOf(family.name) }, format);
    const shown = family.series.map(({ labels }) => mask.labels(labels));
    const mayRepeat = shown.some((labels, index) => labels !== family.series[index]?.labels);
    const written = new Set<string>();
    for (const [index, { suffix, value }] of family.series.entries()) {
      if (!Number.isFinite(value)) continue;
      const { le, ...others } = shown[index] ?? {};
      // OpenMetrics writes a bucket's bound as a float: `1.0`, not `1`.
      const bound = format === 'openmetrics' && le !== undefined && /^-?\d+$/.test(le) ? `${le}.0` : le;
      const pairs = labelPairs(bound === undefined ? others : { ...others, le: bound });
      const series = `${family.name}${suffix}${bracedLabels(pairs.join(','))}`;
      if (written.has(series)) continue;
      if (mayRepeat) written.add(series);
      yield `${series}${value}\n`;
    }
  }
}

/**
 * Of 14.4 MB of series, level 1 makes 1.8 MB in 39 ms; level 6 saves 5 % more and takes two and a half times as long, and the
 * larger window of the default takes 44 ms for 3 % more bytes.
 */
const GZIP = {
  level: constants.Z_BEST_SPEED,
  windowBits: 13,
  chunkSize: 64 * 1024,
  writableHighWaterMark: 2 * COMPRESSED_PIECE,
};

/**
 * The body of a response: its text in pieces. Where `gzip`, the thread pool compresses a piece while the next one is written. A
 * body that exceeds `limit` bytes ends soon after them, incomplete. Rejects once the signal is aborted.
 */
export async function bodyOf(
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

/** Writes text into pieces of `size` bytes, or a part of a character less. The last piece can be shorter. */
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
