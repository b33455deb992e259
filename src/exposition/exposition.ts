import { TimeSlice } from '../eventLoop/turns.ts';
import type { Block } from '../metrics/sample.ts';
import {
  answerFamilies,
  type AnswerFamilies,
  answerRows,
  type AnswerCounts,
  type AnswerRows,
} from './answerFamilies.ts';
import { writeAnswer } from './answerText.ts';
import { type Format, CONTENT_TYPES, END_OF_ANSWER } from './formats.ts';
import { type GzipStart, COMPRESSED_AT_ONCE, GZIP_PIECE, GzipWriter, gzipWith } from './gzip.ts';
import { type OwnMetrics, ownText } from './ownFamilies.ts';

/** Bytes of a piece of an answer that is not compressed. */
const PIECE = 128 * 1024;

export interface RenderOptions {
  readonly format: Format;
  readonly gzip: boolean;
  /** `collection.max_series`: whole families are left out beyond it. */
  readonly maxSeries: number;
  /** Aborted when nobody waits for the answer any more: it need not be begun. */
  readonly gone?: AbortSignal;
}

interface CountedAnswer extends RenderedAnswer, AnswerCounts {}

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
  readonly #kept = new KeptAnswers<Collected>();

  /** `own` is asked once it is known what the answer holds; undefined: the collected part only. */
  async render(blocks: readonly Block[], own: OwnMetrics | undefined, options: RenderOptions): Promise<CountedAnswer> {
    const { format, gzip, maxSeries, gone } = options;
    const slice = new TimeSlice();
    const rows = await answerRows(blocks, slice);
    const make = async (): Promise<Collected> => {
      const families = await answerFamilies(rows, maxSeries, slice);
      const collected = gzip ? compressed(families, format, slice) : pieces(families, format, slice);
      return { counts: families.counts, start: await collected };
    };
    const collected = await this.#kept.of({ kind: `${format} ${gzip} ${maxSeries}`, rows, gone }, make);
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

async function pieces(families: AnswerFamilies, format: Format, slice: TimeSlice): Promise<readonly Buffer[]> {
  const all: Buffer[] = [];
  await writeAnswer(families, format, { size: PIECE, inUse: Infinity, take: (piece) => void all.push(piece) }, slice);
  return all;
}

/** Does not keep the uncompressed pieces: most scrapers only ever ask for gzip. */
async function compressed(families: AnswerFamilies, format: Format, slice: TimeSlice): Promise<GzipStart> {
  const gzip = new GzipWriter();
  const taker = { size: GZIP_PIECE, inUse: COMPRESSED_AT_ONCE, take: (piece: Buffer) => gzip.add(piece) };
  await writeAnswer(families, format, taker, slice);
  return gzip.finish();
}

/** Answers of fewer series are not kept: they are made quickly, and would replace a large one. */
const LEAST_SERIES = 2000;

interface Wanted {
  /** Format, compression and limit. */
  readonly kind: string;
  readonly rows: AnswerRows;
  readonly gone: AbortSignal | undefined;
}

interface Kept<T> extends Omit<Wanted, 'rows' | 'gone'> {
  /** Of the rows only these: the others would keep the values of an earlier refresh in memory. */
  readonly labels: AnswerRows['labels'];
  readonly numbers: AnswerRows['numbers'];
  /** While it is being made; who waits for it. */
  making: { readonly answer: Promise<T>; readonly waiters: (AbortSignal | undefined)[] } | undefined;
  /** Once it is made, as long as somebody takes it. */
  made: WeakRef<object> | undefined;
}

/**
 * Large answers, for whoever asks for the same again: the newest of each kind, which the second Prometheus of a pair asks
 * for, and all that are being made or taken. They are made one after the other, so that one is in memory at a time.
 */
class KeptAnswers<T extends object> {
  readonly #newest = new Map<string, T>();
  #kept: Kept<T>[] = [];
  #last: Promise<unknown> = Promise.resolve();

  /** The kept answer of this kind if it was made of the same rows, else what `make` makes. */
  async of(wanted: Wanted, make: () => Promise<T>): Promise<T> {
    if (wanted.rows.series < LEAST_SERIES) return await make();
    this.#kept = this.#kept.filter(({ making, made }) => making !== undefined || made?.deref() !== undefined);
    const same = this.#kept.find((kept) => isOf(kept, wanted));
    if (same?.making !== undefined) {
      same.making.waiters.push(wanted.gone);
      return await same.making.answer;
    }
    const made = same?.made?.deref() as T | undefined;
    return made ?? (await this.#make(wanted, make));
  }

  #make({ kind, rows: { labels, numbers }, gone }: Wanted, make: () => Promise<T>): Promise<T> {
    const waiters = [gone];
    const answer = this.#last.then(async () => {
      if (waiters.every((waiter) => waiter?.aborted === true)) throw new Error('nobody waits for the answer');
      const made = await make();
      this.#newest.set(kind, made);
      kept.made = new WeakRef(made);
      return made;
    });
    const kept: Kept<T> = { kind, labels, numbers, making: { answer, waiters }, made: undefined };
    this.#kept.push(kept);
    const end = (): void => {
      kept.making = undefined;
    };
    this.#last = answer.then(end, end);
    return answer;
  }
}

function isOf<T>({ kind, labels, numbers }: Kept<T>, wanted: Wanted): boolean {
  return kind === wanted.kind && isSame(numbers, wanted.rows.numbers) && isSame(labels, wanted.rows.labels);
}

function isSame<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  if (a.length !== b.length) return false;
  for (let place = 0; place < a.length; place += 1) if (a[place] !== b[place]) return false;
  return true;
}

/** An answer ready to be written: the pieces are written one after the other, with back pressure. */
export interface RenderedAnswer {
  readonly contentType: string;
  readonly contentEncoding: 'gzip' | undefined;
  readonly pieces: readonly Buffer[];
  /** Whoever takes the pieces keeps this, so that others are given the same pieces meanwhile. */
  readonly madeOf: object;
}
