import type { Block } from '../metrics/sample.ts';
import type { Format } from './format.ts';
import type { GzipStart } from './gzip.ts';
import { COMPRESSED_AT_ONCE, GzipWriter } from './gzip.ts';
import type { Layout } from './layout.ts';
import { layOut } from './layout.ts';
import { piecesOf } from './pieces.ts';
import { inSlices } from './slices.ts';
import type { LabelText } from './labelText.ts';

/**
 * The collected part of the answers for one list of blocks. Everything is made when it is first asked for, once for all who
 * ask, in slices that let other work through, and kept.
 */
export class Snapshot {
  readonly #blocks: readonly Block[];
  readonly #maxSeries: number;
  readonly #earlier: readonly LabelText[];
  readonly #pieces = new Map<Format, Promise<readonly Buffer[]>>();
  readonly #compressed = new Map<Format, Promise<GzipStart>>();
  #layout: Promise<Layout> | undefined;
  #entities: readonly LabelText[] = [];

  /** `earlier` is the snapshot that this one takes the place of. */
  constructor(blocks: readonly Block[], maxSeries: number, earlier: Snapshot | undefined) {
    this.#blocks = [...blocks];
    this.#maxSeries = maxSeries;
    this.#earlier = earlier === undefined ? [] : earlier.#entities;
  }

  /** True when an answer made of these blocks would be the same. */
  holds(blocks: readonly Block[], maxSeries: number): boolean {
    if (this.#maxSeries !== maxSeries || this.#blocks.length !== blocks.length) {
      return false;
    }
    return this.#blocks.every(({ labels, samples }, place) => {
      const block = blocks[place];
      return block?.samples === samples && block.labels === labels;
    });
  }

  layout(): Promise<Layout> {
    this.#layout ??= this.#layOut();
    return this.#layout;
  }

  pieces(format: Format): Promise<readonly Buffer[]> {
    return madeOnce(this.#pieces, format, async () => {
      const pieces: Buffer[] = [];
      await inSlices(piecesOf(await this.layout(), format, Infinity), (piece) => void pieces.push(piece));
      return pieces;
    });
  }

  /** Does not keep the uncompressed pieces: most scrapers only ever ask for gzip. */
  compressed(format: Format): Promise<GzipStart> {
    return madeOnce(this.#compressed, format, async () => {
      const gzip = new GzipWriter();
      await inSlices(piecesOf(await this.layout(), format, COMPRESSED_AT_ONCE), (piece) => gzip.add(piece));
      return gzip.finish();
    });
  }

  async #layOut(): Promise<Layout> {
    const layout = await inSlices(layOut(this.#blocks, this.#earlier, this.#maxSeries), () => undefined);
    this.#entities = layout.entities;
    return layout;
  }
}

function madeOnce<T>(made: Map<Format, Promise<T>>, format: Format, make: () => Promise<T>): Promise<T> {
  let promise = made.get(format);
  if (promise === undefined) {
    promise = make();
    made.set(format, promise);
  }
  return promise;
}
