// eslint-disable-next-line no-restricted-imports -- a hash depends on its argument only
import { createHash } from 'node:crypto';
import type { Group } from '../reads/reads.ts';
import type { Family, Labels, Sample } from './family.ts';

export interface WrittenLabels {
  readonly labels: Labels;
  /** The labels as an exposition has them, without braces. */
  readonly text: string;
}

/** One family with one set of labels beyond the labels of the entity: a sample without its value. */
export interface Column extends WrittenLabels {
  readonly family: Family;
  /** The text with the labels in the order of their names: columns with equal ones write the same series. */
  readonly sortedText: string;
}

/** The samples of one read, in two lists of one length: with shared columns they take a quarter of the memory. */
export interface PackedSamples {
  readonly columns: readonly Column[];
  /** Finite numbers in base units. */
  readonly values: readonly number[];
}

/** A number of series of one family that were left out of an exposition, all from the samples of one task. */
export interface DroppedSeries {
  readonly family: string;
  readonly series: number;
  /** Identifies the read of their values; the object is only compared. */
  readonly reading: object;
}

/** The samples of one task in one group, with the labels that all of them carry. */
export interface Block extends WrittenLabels {
  readonly group: Group;
  readonly samples: PackedSamples;
}

const NO_LABELS: Labels = {};

export const NO_SAMPLES: PackedSamples = { columns: [], values: [] };

/** The column of each family without labels of its own. */
const unlabelled = new WeakMap<Family, Column>();

/** The most lists of columns that a group shares. */
const SHARED_LISTS = 8;

/**
 * The lists of columns that were packed last in each group, the newest first. Most applications, and most hosts, have one of a few
 * lists. Sharing them saves memory, and half the processor time of an exposition.
 */
const sharedLists = new Map<Group, readonly (readonly Column[])[]>();

/**
 * Packs the samples of one read. Leaves out values that are not finite, and repeated series, which only custom metrics can have.
 *
 * @param before the samples of the read before, whose columns are used again
 */
export function packSamples(group: Group, samples: readonly Sample[], before = NO_SAMPLES): PackedSamples {
  const taken = group === 'custom_metrics' ? new Set<string>() : undefined;
  const likely = before.columns.length > 0 ? before.columns : (sharedLists.get(group)?.[0] ?? []);
  const columns: Column[] = [];
  const values: number[] = [];
  for (const { family, labels = NO_LABELS, value } of samples) {
    if (!Number.isFinite(value)) continue;
    const known = likely[columns.length];
    const column = known?.family === family && isEqual(known.labels, labels) ? known : columnOf(family, labels);
    if (taken !== undefined) {
      const key = seriesKey(column);
      if (taken.has(key)) continue;
      taken.add(key);
    }
    columns.push(column);
    values.push(value);
  }
  // A copy has no room for more elements, as a list that grew has.
  return { columns: isSameList(columns, likely) ? likely : shareList(group, columns), values: values.slice() };
}

/** Returns the shared list that equals `columns`. Queries share none: each query has families of its own. */
function shareList(group: Group, columns: readonly Column[]): readonly Column[] {
  if (group === 'queries') return columns.slice();
  const known = sharedLists.get(group) ?? [];
  const shared = known.find((list) => isSameList(list, columns)) ?? columns.slice();
  sharedLists.set(group, [shared, ...known.filter((list) => list !== shared)].slice(0, SHARED_LISTS));
  return shared;
}

function isSameList(a: readonly Column[], b: readonly Column[]): boolean {
  return a.length === b.length && a.every((column, index) => isSameColumn(column, b[index]));
}

function isSameColumn(a: Column, b: Column | undefined): boolean {
  return a === b || (a.family === b?.family && isEqual(a.labels, b.labels));
}

function columnOf(family: Family, labels: Labels): Column {
  const known = labels === NO_LABELS ? unlabelled.get(family) : undefined;
  if (known !== undefined) return known;
  const pairs = labelPairs(labels);
  const text = pairs.join();
  const column = { family, labels, text, sortedText: pairs.length > 1 ? pairs.sort().join() : text };
  if (labels === NO_LABELS) unlabelled.set(family, column);
  return column;
}

/** Equal for columns that write the same series, in any order of their labels. */
export function seriesKey({ family, sortedText }: Column): string {
  return `${family.name} ${sortedText}`;
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
  return { labels, text: labelPairs(labels).join() };
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
