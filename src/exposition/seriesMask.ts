import type { Labels } from '../metrics/family.ts';
import { writeLabels, type Block, type Column, type PackedSamples } from '../metrics/writeSamples.ts';

/**
 * Hides keys in texts and labels of an exposition. Searches each label once, and again after a key is added: a search
 * on every scrape would take as long as the render. Also replaces lone surrogates by U+FFFD. Both can make two
 * series equal, so only blocks that the mask changed need a search for duplicates.
 */
export class SeriesMask {
  /** Hides keys in a text. */
  readonly text: (text: string) => string;
  readonly #countKeys: () => number;
  #searchedKeyCount = 0;
  /** Labels, and lists of columns, that contain no key. */
  #clean = new WeakSet<Labels | readonly Column[]>();
  /** Masked samples, by their original samples. */
  #masked = new WeakMap<PackedSamples, PackedSamples>();

  /** @param countKeys returns the number of keys, which never decreases */
  constructor(text: (text: string) => string, countKeys: () => number) {
    this.text = text;
    this.#countKeys = countKeys;
  }

  /** Masks the labels. Returns the same object if nothing changes. */
  labels(labels: Labels): Labels {
    const shown = (value: string): string => this.text(value).toWellFormed();
    if (Object.values(labels).every((value) => shown(value) === value)) return labels;
    return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, shown(value)]));
  }

  /** Masks the labels of a block. Returns the same object if nothing changes, as is usual. */
  block(block: Block): Block {
    if (this.#countKeys() !== this.#searchedKeyCount) this.#forget();
    const { labels, samples } = block;
    if (this.#clean.has(labels) && this.#clean.has(samples.columns)) return block;
    const shown = this.labels(labels);
    if (shown === labels) this.#clean.add(labels);
    const masked = this.#samples(samples);
    return shown === labels && masked === samples ? block : { ...block, ...writeLabels(shown), samples: masked };
  }

  #samples(samples: PackedSamples): PackedSamples {
    const known = this.#clean.has(samples.columns) ? samples : this.#masked.get(samples);
    if (known !== undefined) return known;
    const columns = samples.columns.map((column) => {
      const labels = this.labels(column.labels);
      return labels === column.labels ? column : { ...column, ...writeLabels(labels) };
    });
    if (columns.every((column, index) => column === samples.columns[index])) {
      this.#clean.add(samples.columns);
      return samples;
    }
    const masked = { columns, values: samples.values };
    this.#masked.set(samples, masked);
    return masked;
  }

  #forget(): void {
    this.#searchedKeyCount = this.#countKeys();
    this.#clean = new WeakSet();
    this.#masked = new WeakMap();
  }
}
