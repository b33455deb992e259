import { Turns } from '../eventLoop/turns.ts';
import type { Block } from '../metrics/sample.ts';
import { answerFamilies, type AnswerFamilies } from './answerFamilies.ts';
import { writeAnswer } from './answerPieces.ts';
import { answerRows } from './answerRows.ts';
import type { AnswerCounts } from './counts.ts';
import type { Format } from './format.ts';
import { CONTENT_TYPES } from './format.ts';
import type { GzipStart } from './gzip.ts';
import { COMPRESSED_AT_ONCE, GZIP_PIECE, GzipWriter, gzipWith } from './gzip.ts';
import { KeptAnswers } from './keptAnswers.ts';
import { END_OF_ANSWER } from './metadata.ts';
import type { OwnMetrics } from './own.ts';
import { ownText } from './own.ts';
import type { RenderedAnswer } from './rendered.ts';

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

export interface CountedAnswer extends RenderedAnswer, AnswerCounts {}

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
