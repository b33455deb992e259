import type { Labels } from '../metrics/family.ts';
import { writeLabels, type Block, type Column, type PackedSamples } from '../metrics/writeSamples.ts';

/**
 * Hides keys in what is published. Labels are searched when they are first seen, and again once there is a new key: a search at
 * each scrape would take as long as to write it. Lone surrogates become U+FFFD here already: a series can be equal to another one
 * only where its block has changed.
 */
export class SeriesMask {
  /** Hides keys in a text. */
  readonly text: (text: string) => string;
  readonly #keys: () => number;
  #searchedFor = 0;
  /** Labels and lists of columns without a key. */
  #clean = new WeakSet<Labels | readonly Column[]>();
  /** The samples without keys, by those with some. */
  #masked = new WeakMap<PackedSamples, PackedSamples>();

  /** @param keys gives the number of keys, which only grows */
  constructor(text: (text: string) => string, keys: () => number) {
    this.text = text;
    this.#keys = keys;
  }

  /** The labels as they are published; the same object where nothing changes. */
  labels(labels: Labels): Labels {
    const shown = (value: string): string => this.text(value).toWellFormed();
    if (Object.values(labels).every((value) => shown(value) === value)) return labels;
    return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, shown(value)]));
  }

  /** The block with its labels as they are published, mostly the block itself. */
  block(block: Block): Block {
    if (this.#keys() !== this.#searchedFor) this.#forget();
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
    this.#searchedFor = this.#keys();
    this.#clean = new WeakSet();
    this.#masked = new WeakMap();
  }
}
