import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import { unitOf } from '../metrics/family.ts';
import type { Block, Labels } from '../metrics/sample.ts';
import { bracedLabels, labelPairs } from '../metrics/writeSamples.ts';
import {
  expositionFamilies,
  expositionRows,
  type ExpositionCounts,
  type ExpositionRows,
} from './expositionFamilies.ts';
import { expositionPieces } from './expositionText.ts';
import { type Format, END_OF_EXPOSITION, metadata } from './formats.ts';
import { COMPRESSED, GzipStart } from './gzip.ts';

/** The pieces of an uncompressed exposition, in bytes; all of them stay valid. */
const PLAIN = { size: 128 * 1024, inUse: Infinity };

export interface RenderOptions {
  readonly format: Format;
  readonly gzip: boolean;
  /** `collection.max_series`: whole families are left out beyond it. */
  readonly maxSeries: number;
  /** Aborted when the client has left: then the exposition is not started. */
  readonly gone?: AbortSignal;
}

/** The collected part of an exposition, without its end. */
interface CollectedExposition {
  readonly format: Format;
  readonly counts: ExpositionCounts;
  readonly start: readonly Buffer[] | GzipStart;
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

/** An exposition ready to be written, piece by piece, with back pressure. */
export interface RenderedExposition {
  readonly format: Format;
  readonly contentEncoding: 'gzip' | undefined;
  readonly pieces: readonly Buffer[];
  /** While a writer holds this reference, `Exposition` finds the collected part again and shares its pieces. */
  readonly madeOf: CollectedExposition;
}

/** The exposition with the exporter's own families after the collected ones. */
export async function finishExposition(
  collected: CollectedExposition,
  own: readonly OwnFamily[],
): Promise<RenderedExposition> {
  const { format, counts, start } = collected;
  const end = format === 'openmetrics' ? END_OF_EXPOSITION : '';
  const rest = Buffer.from(ownText(own, counts.series, format).join('') + end, 'utf8');
  const compressed = start instanceof GzipStart;
  return {
    format,
    contentEncoding: compressed ? 'gzip' : undefined,
    pieces: compressed ? await start.endedBy(rest) : [...start, rest],
    madeOf: collected,
  };
}

/**
 * The text of each family. Left out are values that are not finite, families without a series, and a family whose name
 * the collected data have taken: Prometheus refuses a scrape that has two families of one name.
 */
export function ownText(
  families: readonly OwnFamily[],
  taken: ReadonlyMap<string, number>,
  format: Format,
): readonly string[] {
  return families
    .filter(({ name }) => !taken.has(name))
    .map((family) => ({ ...family, series: family.series.filter(({ value }) => Number.isFinite(value)) }))
    .filter(({ series }) => series.length > 0)
    .map((family) => {
      const unit = unitOf(family.name);
      const lines = family.series.map(({ suffix, labels, value }) => {
        const { le, ...others } = labels;
        const ordered = le === undefined ? others : { ...others, le: format === 'openmetrics' ? canonical(le) : le };
        return `${family.name}${suffix}${bracedLabels(labelPairs(ordered).join(','))}${value}\n`;
      });
      return metadata({ ...family, unit }, format) + lines.join('');
    });
}

/** OpenMetrics writes a bucket's bound as a float: `1.0`, not `1`. */
function canonical(bound: string): string {
  return /^-?\d+$/.test(bound) ? `${bound}.0` : bound;
}

/** An exposition with fewer series is not kept: it is made quickly, and would take the place of a large one. */
const MIN_SERIES = 2000;

interface Kept {
  /** Format, compression and limit. */
  readonly kind: string;
  /** Labels and versions identify the rows; keeping the rows themselves would keep the values of an earlier refresh in memory. */
  readonly labels: ExpositionRows['labels'];
  readonly versions: ExpositionRows['versions'];
  /** The `gone` signal of each request that waits for the exposition. */
  readonly waiters: (AbortSignal | undefined)[];
  /** Set while the exposition is being made. */
  making: Promise<CollectedExposition> | undefined;
  /** The finished exposition, as long as a writer or `Exposition` holds it. */
  made: WeakRef<CollectedExposition> | undefined;
}

/**
 * Collects expositions from blocks (docs/architecture.md): names, labels and values, which are text already, are copied in the
 * order of the families.
 *
 * A large exposition is kept while it is made or written, and the newest of each kind longer, because the second Prometheus of
 * a pair requests the same one. Large expositions are made one after the other, because each takes memory while it is made.
 */
export class Exposition {
  /** By format and compression. */
  readonly #newest = new Map<string, CollectedExposition>();
  #kept: Kept[] = [];
  #last: Promise<unknown> = Promise.resolve();

  /** Returns the kept exposition of this kind if it was made of the same rows, else a new one. */
  async collect(blocks: readonly Block[], options: RenderOptions): Promise<CollectedExposition> {
    const rows = await expositionRows(blocks);
    const { series, labels, versions } = rows;
    if (series < MIN_SERIES) return await collect(rows, options);
    const kind = `${options.format} ${options.gzip} ${options.maxSeries}`;
    this.#kept = this.#kept.filter(({ making, made }) => making !== undefined || made?.deref() !== undefined);
    const same = this.#kept.find(
      (kept) => kind === kept.kind && isSame(versions, kept.versions) && isSame(labels, kept.labels),
    );
    const made = same?.made?.deref();
    if (made !== undefined) return made;
    const kept = same ?? { kind, labels, versions, waiters: [], making: undefined, made: undefined };
    kept.waiters.push(options.gone);
    return await (kept.making ?? this.#make(kept, () => collect(rows, options)));
  }

  #make(kept: Kept, make: () => Promise<CollectedExposition>): Promise<CollectedExposition> {
    this.#kept.push(kept);
    kept.making = this.#last.then(async () => {
      if (kept.waiters.every((waiter) => waiter?.aborted === true))
        throw new Error('all clients of this exposition have left');
      const made = await make();
      this.#newest.set(`${made.format} ${made.start instanceof GzipStart}`, made);
      kept.made = new WeakRef(made);
      return made;
    });
    const end = (): void => {
      kept.making = undefined;
      kept.waiters.length = 0;
    };
    this.#last = kept.making.then(end, end);
    return kept.making;
  }
}

/** A compressed exposition keeps no uncompressed pieces: most scrapers only ever request gzip. */
async function collect(rows: ExpositionRows, { format, gzip, maxSeries }: RenderOptions): Promise<CollectedExposition> {
  const { families, counts } = await expositionFamilies(rows, maxSeries);
  const pieces: Buffer[] = [];
  const gzipped = new GzipStart();
  for await (const piece of expositionPieces(rows, families, format, gzip ? COMPRESSED : PLAIN)) {
    if (gzip) await gzipped.add(piece);
    else pieces.push(piece);
  }
  return { format, counts, start: gzip ? await gzipped.compressed() : pieces };
}

function isSame<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
