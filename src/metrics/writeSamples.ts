// eslint-disable-next-line no-restricted-imports -- a hash depends on its argument only
import { createHash } from 'node:crypto';
import type { Group } from '../reads/reads.ts';
import type { Family, Labels, Sample } from './family.ts';

export interface WrittenLabels {
  readonly labels: Labels;
  /** The labels in the text of an exposition, without braces. */
  readonly text: string;
}

/** A family with a set of labels beyond the labels of the entity: a sample without its value. */
export interface Column extends WrittenLabels {
  readonly family: Family;
  /** The text with labels sorted by name. Columns with equal texts write the same series. */
  readonly sortedText: string;
}

/** The samples of one read, in two lists of equal length. Shared columns take a quarter of the memory. */
export interface PackedSamples {
  readonly columns: readonly Column[];
  /** Finite numbers in base units. */
  readonly values: readonly number[];
}

/** Number of series of a family that an exposition left out, all from the samples of one task. */
export interface DroppedSeries {
  readonly family: string;
  readonly series: number;
  /** Identifies the read of the values. The object is only compared. */
  readonly reading: object;
}

/** The samples of one task in one group, with their common labels. */
export interface Block extends WrittenLabels {
  readonly group: Group;
  readonly samples: PackedSamples;
}

const NO_LABELS: Labels = {};

export const NO_SAMPLES: PackedSamples = { columns: [], values: [] };

/** Columns of families without labels of their own. */
const unlabelled = new WeakMap<Family, Column>();

/** Maximum number of shared lists of columns in a group. */
const SHARED_LISTS = 8;

/**
 * The last packed lists of columns of each group, the newest first. Most applications, and most hosts, have one of a
 * few lists. Sharing saves memory, and half the processor time of an exposition.
 */
const sharedLists = new Map<Group, readonly (readonly Column[])[]>();

/**
 * Packs the samples of one read. Skips values that are not finite, and repeated series, which only custom metrics can
 * have.
 *
 * @param before the samples of the previous read; their columns are reused
 */
export function packSamples(group: Group, samples: readonly Sample[], before = NO_SAMPLES): PackedSamples {
  const taken = group === 'custom_metrics' ? new Set<string>() : undefined;
  const likely = before.columns.length > 0 ? before.columns : (sharedLists.get(group)?.[0] ?? []);
  const columns: Column[] = [];
  const values: number[] = [];
  for (const { family, labels = NO_LABELS, value } of samples) {
    if (!Number.isFinite(value)) continue;
    const known = likely[columns.length];
    const column = known?.family === family && isEqual(known.labels, labels) ? known : createColumn(family, labels);
    if (taken !== undefined) {
      const key = seriesKey(column);
      if (taken.has(key)) continue;
      taken.add(key);
    }
    columns.push(column);
    values.push(value);
  }
  // Copy: a list that grew has spare room, a copy has none.
  return { columns: isSameList(columns, likely) ? likely : shareList(group, columns), values: values.slice() };
}

/** Returns the shared list that equals `columns`. Queries share none: each query has its own families. */
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

function createColumn(family: Family, labels: Labels): Column {
  const known = labels === NO_LABELS ? unlabelled.get(family) : undefined;
  if (known !== undefined) return known;
  const pairs = writeLabelPairs(labels);
  const text = pairs.join();
  const column = { family, labels, text, sortedText: pairs.length > 1 ? pairs.sort().join() : text };
  if (labels === NO_LABELS) unlabelled.set(family, column);
  return column;
}

/** Returns a key that is equal for columns of the same series, in any order of labels. */
export function seriesKey({ family, sortedText }: Column): string {
  return `${family.name} ${sortedText}`;
}

function isEqual(a: Labels, b: Labels): boolean {
  if (a === b) return true;
  const names = Object.keys(a);
  let position = 0;
  for (const name in b) {
    if (name !== names[position] || a[name] !== b[name]) return false;
    position += 1;
  }
  return position === names.length;
}

const MAX_LABEL_BYTES = 1024;

/** The end of a shortened value: a mark and a hash of the whole value. Different values stay different. */
const CUT_MARK = '…';
const HASH_DIGITS = 12;

const ROOM = MAX_LABEL_BYTES - Buffer.byteLength(CUT_MARK) - HASH_DIGITS;
const MAX_UNIT_BYTES = 3;

const SPECIAL = /[\\"\n\ud800-\udfff]/;

/** Writes a label value without quotes: whole characters, at most 1,024 bytes, escaped (the same in both formats). */
export function writeLabelValue(value: string): string {
  return shortenLabelValue(value).replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

export function writeLabelPairs(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => {
    // Fast path: most values need no change.
    const isPlain = value.length * MAX_UNIT_BYTES <= MAX_LABEL_BYTES && !SPECIAL.test(value);
    return `${name}="${isPlain ? value : writeLabelValue(value)}"`;
  });
}

export function writeLabels(labels: Labels, before?: WrittenLabels): WrittenLabels {
  if (before !== undefined && isEqual(before.labels, labels)) return before;
  return { labels, text: writeLabelPairs(labels).join() };
}

export function addBraces(pairs: string): string {
  return pairs === '' ? ' ' : `{${pairs}} `;
}

/** Shortens a label value to 1,024 bytes in whole characters. Different values stay different. */
export function shortenLabelValue(original: string): string {
  const value = original.toWellFormed();
  if (Buffer.byteLength(value) <= MAX_LABEL_BYTES) return value;
  let prefix = '';
  let bytes = 0;
  for (const character of value) {
    bytes += Buffer.byteLength(character);
    if (bytes > ROOM) break;
    prefix += character;
  }
  const hash = createHash('sha256').update(Buffer.from(original, 'utf16le')).digest('hex');
  return prefix + CUT_MARK + hash.slice(0, HASH_DIGITS);
}
