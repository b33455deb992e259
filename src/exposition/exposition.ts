import type { Block } from '../metrics/sample.ts';
import { answerFamilies, answerRows, type AnswerCounts, type AnswerRows } from './answerFamilies.ts';
import { answerPieces } from './answerText.ts';
import { type Format, CONTENT_TYPES, END_OF_ANSWER } from './formats.ts';
import { type GzipStart, COMPRESSED, GzipWriter, gzipWith } from './gzip.ts';
import { type OwnMetrics, ownText } from './ownFamilies.ts';

/** The pieces of an answer that is not compressed: all are kept. */
const PLAIN = { size: 128 * 1024, inUse: Infinity };

export interface RenderOptions {
  readonly format: Format;
  readonly gzip: boolean;
  /** `collection.max_series`: whole families are left out beyond it. */
  readonly maxSeries: number;
  /** Aborted when nobody waits for the answer any more: it need not be begun. */
  readonly gone?: AbortSignal;
}

/** An answer ready to be written: the pieces are written one after the other, with back pressure. */
export interface RenderedAnswer extends AnswerCounts {
  readonly contentType: string;
  readonly contentEncoding: 'gzip' | undefined;
  readonly pieces: readonly Buffer[];
  /** Whoever takes the pieces keeps this, so that others are given the same pieces meanwhile. */
  readonly madeOf: object;
}

/** The collected part of an answer, without its end. */
interface Collected {
  readonly counts: AnswerCounts;
  readonly start: readonly Buffer[] | GzipStart;
}

/**
 * Makes answers from blocks (docs/architecture.md). An answer copies names, labels and values, which are text already, in
 * the order of the families. The exporter's own families are new each time and come last.
 */
export class Exposition {
  readonly #kept = new KeptAnswers();

  /** `own` is asked once it is known what the answer holds; undefined: the collected part only. */
  async render(blocks: readonly Block[], own: OwnMetrics | undefined, options: RenderOptions): Promise<RenderedAnswer> {
    const { format, gzip, maxSeries, gone } = options;
    const rows = await answerRows(blocks);
    const collected = await this.#kept.of(`${format} ${gzip} ${maxSeries}`, rows, gone, () => collect(rows, options));
    const { counts, start } = collected;
    const ownFamilies = own === undefined ? [] : await own(counts);
    const end = format === 'openmetrics' ? END_OF_ANSWER : '';
    const rest = Buffer.from(ownText(ownFamilies, counts.series, format).join('') + end, 'utf8');
    return {
      ...counts,
      contentType: CONTENT_TYPES[format],
      contentEncoding: gzip ? 'gzip' : undefined,
      pieces: 'crc' in start ? await gzipWith(start, rest) : [...start, rest],
      madeOf: collected,
    };
  }
}

/** Where it compresses, it does not keep the uncompressed pieces: most scrapers only ever ask for gzip. */
async function collect(rows: AnswerRows, { format, gzip, maxSeries }: RenderOptions): Promise<Collected> {
  const families = await answerFamilies(rows, maxSeries);
  const { counts } = families;
  const pieces: Buffer[] = [];
  const compressed = new GzipWriter();
  for await (const piece of answerPieces(families, format, gzip ? COMPRESSED : PLAIN)) {
    if (gzip) await compressed.add(piece);
    else pieces.push(piece);
  }
  return { counts, start: gzip ? await compressed.finish() : pieces };
}

/** Answers of fewer series are not kept: they are made quickly, and would replace a large one. */
const LEAST_SERIES = 2000;

interface Kept {
  /** Format, compression and limit. */
  readonly kind: string;
  /** Of the rows only these: the others would keep the values of an earlier refresh in memory. */
  readonly labels: AnswerRows['labels'];
  readonly numbers: AnswerRows['numbers'];
  /** Who waits for it. */
  readonly waiters: (AbortSignal | undefined)[];
  /** While it is being made. */
  making: Promise<Collected> | undefined;
  /** Once it is made, as long as somebody takes it. */
  made: WeakRef<Collected> | undefined;
}

/**
 * Large answers, for whoever asks for the same again: the newest of each kind, which the second Prometheus of a pair asks
 * for, and all that are being made or taken. They are made one after the other, so that one is in memory at a time.
 */
class KeptAnswers {
  readonly #newest = new Map<string, Collected>();
  #kept: Kept[] = [];
  #last: Promise<unknown> = Promise.resolve();

  /** The kept answer of this kind if it was made of the same rows, else what `make` makes. */
  async of(
    kind: string,
    { series, labels, numbers }: AnswerRows,
    gone: AbortSignal | undefined,
    make: () => Promise<Collected>,
  ): Promise<Collected> {
    if (series < LEAST_SERIES) return await make();
    this.#kept = this.#kept.filter(({ making, made }) => making !== undefined || made?.deref() !== undefined);
    const same = this.#kept.find(
      (kept) => kind === kept.kind && isSame(numbers, kept.numbers) && isSame(labels, kept.labels),
    );
    const made = same?.made?.deref();
    if (made !== undefined) return made;
    const kept = same ?? { kind, labels, numbers, waiters: [], making: undefined, made: undefined };
    kept.waiters.push(gone);
    return await (kept.making ?? this.#make(kept, make));
  }

  #make(kept: Kept, make: () => Promise<Collected>): Promise<Collected> {
    this.#kept.push(kept);
    kept.making = this.#last.then(async () => {
      if (kept.waiters.every((waiter) => waiter?.aborted === true)) throw new Error('nobody waits for the answer');
      const made = await make();
      this.#newest.set(kept.kind, made);
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

function isSame<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  if (a.length !== b.length) return false;
  for (let place = 0; place < a.length; place += 1) if (a[place] !== b[place]) return false;
  return true;
}
