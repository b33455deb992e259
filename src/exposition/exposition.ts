import { Turns } from '../eventLoop/turns.ts';
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

/** Steps of making an answer, each well below a microsecond, that are done before other work may go on. */
const STEPS_PER_TURN = 8192;

/** Bytes of a piece of an answer that is not compressed. */
const PIECE = 128 * 1024;

export interface RenderOptions {
  readonly format: Format;
  readonly gzip: boolean;
  /** `collection.max_series`: whole families are left out beyond it. */
  readonly maxSeries: number;
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
    const { format, gzip, maxSeries } = options;
    const turns = new Turns(STEPS_PER_TURN);
    const rows = await answerRows(blocks, turns);
    const { counts, start } = await this.#kept.of(`${format} ${gzip}`, rows, maxSeries, async () => {
      const families = await answerFamilies(rows, maxSeries, turns);
      const collected = gzip ? compressed(families, format, turns) : pieces(families, format, turns);
      return { counts: families.counts, start: await collected };
    });
    const ownFamilies = own === undefined ? [] : await own(counts);
    const end = format === 'openmetrics' ? END_OF_ANSWER : '';
    const rest = Buffer.from(ownText(ownFamilies, counts.series, format).join('') + end, 'utf8');
    return {
      ...counts,
      contentType: CONTENT_TYPES[format],
      contentEncoding: gzip ? 'gzip' : undefined,
      pieces: 'crc' in start ? await gzipWith(start, rest) : [...start, rest],
    };
  }
}

async function pieces(families: AnswerFamilies, format: Format, turns: Turns): Promise<readonly Buffer[]> {
  const all: Buffer[] = [];
  await writeAnswer(families, format, { size: PIECE, inUse: Infinity, take: (piece) => void all.push(piece) }, turns);
  return all;
}

/** Does not keep the uncompressed pieces: most scrapers only ever ask for gzip. */
async function compressed(families: AnswerFamilies, format: Format, turns: Turns): Promise<GzipStart> {
  const gzip = new GzipWriter();
  const taker = { size: GZIP_PIECE, inUse: COMPRESSED_AT_ONCE, take: (piece: Buffer) => gzip.add(piece) };
  await writeAnswer(families, format, taker, turns);
  return gzip.finish();
}

/** Answers of fewer series are not kept: they are made quickly, and would replace a large one. */
const LEAST_SERIES = 2000;

interface Kept<T> {
  readonly maxSeries: number;
  /** Of the rows only these: the others would keep the values of an earlier refresh in memory. */
  readonly labels: AnswerRows['labels'];
  readonly numbers: AnswerRows['numbers'];
  readonly answer: Promise<T>;
}

/**
 * The newest answer of each kind, for whoever asks for the same again: the second Prometheus of a pair, or a scraper that
 * asks while the answer is being made.
 */
class KeptAnswers<T> {
  readonly #byKind = new Map<string, Kept<T>>();

  /** The kept answer of this kind if it was made of the same rows, else what `make` makes. */
  of(kind: string, rows: AnswerRows, maxSeries: number, make: () => Promise<T>): Promise<T> {
    if (rows.series < LEAST_SERIES) return make();
    const { labels, numbers } = rows;
    const kept = this.#byKind.get(kind);
    if (kept?.maxSeries === maxSeries && isSame(kept.numbers, numbers) && isSame(kept.labels, labels)) {
      return kept.answer;
    }
    const answer = make();
    this.#byKind.set(kind, { maxSeries, labels, numbers, answer });
    return answer;
  }
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
}
