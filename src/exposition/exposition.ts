import type { Block } from '../metrics/sample.ts';
import type { AnswerCounts } from './counts.ts';
import type { Format } from './format.ts';
import { CONTENT_TYPES } from './format.ts';
import { gzipWith } from './gzip.ts';
import { END_OF_ANSWER } from './metadata.ts';
import type { OwnMetrics } from './own.ts';
import { ownText } from './own.ts';
import type { RenderedAnswer } from './rendered.ts';
import { Snapshots } from './snapshots.ts';

export interface RenderOptions {
  readonly format: Format;
  readonly gzip: boolean;
  /** The guard of contract 2: whole families are left out beyond it. */
  readonly maxSeries: number;
}

export interface CountedAnswer extends RenderedAnswer, AnswerCounts {}

/**
 * Makes answers from blocks (contract 3 and 5). The collected part is kept as long as the same blocks are asked for; the
 * exporter's own families are new each time and follow it. The bytes are those of the plain path (plain.ts).
 */
export class Exposition {
  readonly #snapshots = new Snapshots();
  /** `own` is asked once it is known what the answer holds; undefined: the collected part only. */
  async render(blocks: readonly Block[], own: OwnMetrics | undefined, options: RenderOptions): Promise<CountedAnswer> {
    const { format } = options;
    const snapshot = this.#snapshots.of(blocks, options.maxSeries);
    const { series, dropped, refused, duplicates } = await snapshot.layout();
    const counts = { series, dropped, refused, duplicates };
    const start = options.gzip ? await snapshot.compressed(format) : await snapshot.pieces(format);
    const ownFamilies = own === undefined ? [] : await own(counts);
    const end = format === 'openmetrics' ? END_OF_ANSWER : '';
    const rest = Buffer.from(ownText(ownFamilies, series, format).join('') + end, 'utf8');
    return {
      ...counts,
      contentType: CONTENT_TYPES[format],
      contentEncoding: options.gzip ? 'gzip' : undefined,
      pieces: 'crc' in start ? await gzipWith(start, rest) : [...start, rest],
    };
  }
}
