// eslint-disable-next-line no-restricted-imports -- a hash depends on its argument only
import { createHash } from 'node:crypto';
import type { Group } from '../reads/reads.ts';
import type { Family, Labels, Sample } from './family.ts';

export interface WrittenLabels {
  readonly labels: Labels;
  readonly bytes: Buffer;
}

/** One family with one set of labels beyond the labels of the entity: a sample without its value. */
export interface Column {
  readonly family: Family;
  readonly labels: Labels;
  /** The labels as they are written; empty where there are none. */
  readonly labelBytes: Buffer;
  /** Equal for columns that write the same series with their labels in another order. */
  readonly seriesKey: string;
}

export type Columns = readonly Column[];

/** Samples as they are kept: a value is the text that an exposition shows, which takes a quarter of the memory of samples. */
export interface WrittenSamples {
  readonly columns: Columns;
  readonly values: readonly string[];
}

/** A number of series of one family that were left out of an exposition, all from the samples of one task. */
export interface DroppedSeries {
  readonly family: string;
  readonly series: number;
  /** Identifies the read of their values; the object is only compared. */
  readonly reading: object;
}

/** The samples of one task in one group, with the labels that all of them carry. */
export interface Block {
  readonly group: Group;
  readonly labels: Labels;
  readonly labelBytes: Buffer;
  readonly samples: WrittenSamples;
}

const NO_LABELS: Labels = {};
const NO_COLUMNS: Columns = [];

export const NO_SAMPLES: WrittenSamples = { columns: NO_COLUMNS, values: [] };

/** Below this size a map is not searched for entries whose object was garbage-collected. */
const FEW = 64;

/** Writes samples once, so that expositions only copy them. One writer serves the process: equal columns are shared. */
export class SampleWriter {
  /** Columns by family and by labels as they are written, kept as long as samples have them. */
  readonly #columns = new WeakMap<Family, Map<string, WeakRef<Column>>>();
  /** The newest columns, by group and number of samples: the next samples of that group mostly have the same. */
  readonly #newest = new Map<string, WeakRef<Columns>>();

  /**
   * Leaves out values that are not finite, and repeated series, which only custom metrics can have.
   *
   * @param before the earlier samples of the task, for a group whose tasks differ in their columns
   */
  write(group: Group, samples: readonly Sample[], before?: WrittenSamples): WrittenSamples {
    if (samples.length === 0) return NO_SAMPLES;
    const layout = `${group} ${samples.length}`;
    const expected = before?.columns ?? this.#newest.get(layout)?.deref() ?? NO_COLUMNS;
    const taken = group === 'custom_metrics' ? new Set<string>() : undefined;
    const list: Column[] = [];
    const values: string[] = [];
    for (const { family, labels = NO_LABELS, value } of samples) {
      const next = expected[list.length];
      const column = next?.family === family && isEqual(next.labels, labels) ? next : this.#columnOf(family, labels);
      if (!Number.isFinite(value) || taken?.has(column.seriesKey) === true) continue;
      taken?.add(column.seriesKey);
      list.push(column);
      values.push(String(value));
    }
    const isExpected = list.length === expected.length && list.every((each, at) => each === expected[at]);
    const columns = isExpected ? expected : list;
    if (!isExpected && before === undefined) this.#newest.set(layout, new WeakRef(columns));
    return { columns, values };
  }

  #columnOf(family: Family, labels: Labels): Column {
    let ofFamily = this.#columns.get(family);
    if (ofFamily === undefined) this.#columns.set(family, (ofFamily = new Map<string, WeakRef<Column>>()));
    const pairs = labelPairs(labels);
    const text = pairs.join();
    const known = ofFamily.get(text)?.deref();
    if (known !== undefined) return known;
    const seriesKey = `${family.name} ${pairs.sort().join()}`;
    const column = { family, labels, labelBytes: Buffer.from(text, 'utf8'), seriesKey };
    ofFamily.set(text, new WeakRef(column));
    const { size } = ofFamily;
    // Entries whose object is gone are removed when the size is a power of two: a search at each insertion would cost the square
    // of the number of series.
    if (size >= FEW && (size & (size - 1)) === 0) {
      for (const [other, kept] of ofFamily) if (kept.deref() === undefined) ofFamily.delete(other);
    }
    return column;
  }
}

function isEqual(a: Labels, b: Labels): boolean {
  if (a === b) return true;
  const names = Object.keys(a);
  let at = 0;
  for (const name in b) {
    if (name !== names[at] || a[name] !== b[name]) return false;
    at += 1;
  }
  return at === names.length;
}

export function readSamples({ columns, values }: WrittenSamples): Sample[] {
  return columns.map(({ family, labels }, index) => {
    return { family, labels: labels === NO_LABELS ? undefined : labels, value: Number(values[index]) };
  });
}

const MAX_LABEL_BYTES = 1024;

/** The end of a value that was cut: a mark and a hash of the whole value, so that different values stay different. */
const CUT_MARK = '…';
const HASH_DIGITS = 12;

const ROOM = MAX_LABEL_BYTES - Buffer.byteLength(CUT_MARK) - HASH_DIGITS;
const MAX_UNIT_BYTES = 3;

const SPECIAL = /[\\"\n\ud800-\udfff]/;

/**
 * A label value as it is written between the quotes: whole characters, at most 1,024 bytes, escaped (the same in both formats).
 */
export function labelValueText(value: string): string {
  return shortened(value).replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

export function labelPairs(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => {
    // Most values are written as they are.
    const isPlain = value.length * MAX_UNIT_BYTES <= MAX_LABEL_BYTES && !SPECIAL.test(value);
    return `${name}="${isPlain ? value : labelValueText(value)}"`;
  });
}

export function writeLabels(labels: Labels, before?: WrittenLabels): WrittenLabels {
  if (before !== undefined && isEqual(before.labels, labels)) return before;
  return { labels, bytes: Buffer.from(labelPairs(labels).join(',')) };
}

export function bracedLabels(pairs: string): string {
  return pairs === '' ? ' ' : `{${pairs}} `;
}

/** A label value in whole characters, at most 1,024 bytes long; different values stay different. */
export function shortened(original: string): string {
  const value = original.toWellFormed();
  if (Buffer.byteLength(value) <= MAX_LABEL_BYTES) return value;
  let kept = '';
  let bytes = 0;
  for (const character of value) {
    bytes += Buffer.byteLength(character);
    if (bytes > ROOM) break;
    kept += character;
  }
  const hash = createHash('sha256').update(Buffer.from(original, 'utf16le')).digest('hex');
  return kept + CUT_MARK + hash.slice(0, HASH_DIGITS);
}
