// eslint-disable-next-line no-restricted-imports -- a hash depends on its argument only
import { createHash } from 'node:crypto';
import type { Group, Column, Columns, Family, Labels, Sample, WrittenSamples, WrittenLabels } from './sample.ts';

const NO_LABELS: Labels = {};
const NO_COLUMNS: Columns = { list: [], addedNames: [] };

/** The samples of an entity that has none. */
export const NO_SAMPLES: WrittenSamples = { number: 0, columns: NO_COLUMNS, values: [], refused: 0 };

/** Columns that were made, as long as their families and labels exist. */
const columnsByFamily = new WeakMap<Family, WeakMap<Labels, Column>>();

/**
 * The columns of a group's newest samples, by how many samples there were: the next ones mostly have the same. They are not kept
 * here, but by the samples that have them.
 */
const newestColumns = new Map<Group, Map<number, WeakRef<Columns>>>();

/** Numbers of samples that are looked up before those of columns that have gone are forgotten. */
const MANY_COUNTS = 64;

let written = 0;

/**
 * Writes the samples of an entity when they arrive, so that an answer has only to put them together.
 *
 * Only custom metrics are searched for series that come twice. Everything else has an id among the labels of its entity,
 * and its families have each series once.
 */
export function writeSamples(group: Group, samples: readonly Sample[]): WrittenSamples {
  if (samples.length === 0) return NO_SAMPLES;
  const expected = newestColumns.get(group)?.get(samples.length)?.deref() ?? NO_COLUMNS;
  const series = group === 'custom_metrics' ? new Set<string>() : undefined;
  const list: Column[] = [];
  const values: string[] = [];
  for (const { family, labels = NO_LABELS, value } of samples) {
    const column = columnOf(family, labels, expected.list[list.length]);
    if (!Number.isFinite(value) || series?.has(column.seriesKey) === true) continue;
    series?.add(column.seriesKey);
    list.push(column);
    values.push(String(value));
  }
  const columns = isSame(list, expected.list) ? expected : columnsOf(list);
  if (columns !== expected) remember(group, samples.length, columns);
  written += 1;
  return { number: written, columns, values, refused: samples.length - list.length };
}

/** The samples that were written, with their values as numbers again. */
export function readSamples({ columns, values }: WrittenSamples): Sample[] {
  return columns.list.map(({ family, labels }, place) => {
    return { family, labels: labels === NO_LABELS ? undefined : labels, value: Number(values[place]) };
  });
}

/** Without the samples that have a label of their entity again; those count as refused. */
export function withoutLabelsOf(entity: Labels, samples: WrittenSamples): WrittenSamples {
  const { number, columns, values, refused } = samples;
  if (!hasOne(entity, columns.addedNames)) return samples;
  const isKept = columns.list.map(({ labels }) => !Object.keys(labels).some((name) => Object.hasOwn(entity, name)));
  const list = columns.list.filter((_, place) => isKept[place]);
  return {
    number,
    columns: columnsOf(list),
    values: values.filter((_, place) => isKept[place]),
    refused: refused + columns.list.length - list.length,
  };
}

function hasOne(labels: Labels, names: readonly string[]): boolean {
  for (const name of names) if (Object.hasOwn(labels, name)) return true;
  return false;
}

function remember(group: Group, count: number, columns: Columns): void {
  const byCount = newestColumns.get(group) ?? new Map<number, WeakRef<Columns>>();
  newestColumns.set(group, byCount.set(count, new WeakRef(columns)));
  if (byCount.size <= MANY_COUNTS) return;
  for (const [other, kept] of byCount) if (kept.deref() === undefined) byCount.delete(other);
}

function columnOf(family: Family, labels: Labels, expected: Column | undefined): Column {
  if (expected?.family === family && expected.labels === labels) return expected;
  let ofFamily = columnsByFamily.get(family);
  if (ofFamily === undefined) columnsByFamily.set(family, (ofFamily = new WeakMap()));
  let column = ofFamily.get(labels);
  if (column === undefined) {
    const seriesKey = `${family.name} ${labelPairs(labels).sort().join()}`;
    ofFamily.set(labels, (column = { family, labels, labelBytes: labelBytes(labels), seriesKey }));
  }
  return column;
}

function columnsOf(list: readonly Column[]): Columns {
  return { list, addedNames: [...new Set(list.flatMap(({ labels }) => Object.keys(labels)))] };
}

function isSame(a: readonly Column[], b: readonly Column[]): boolean {
  return a.length === b.length && a.every((column, place) => column === b[place]);
}

/** Longest label value that is written, in bytes of UTF-8 before escaping. */
const MAX_LABEL_BYTES = 1024;

/** What follows a value that was cut: a mark, and a hash of the whole, so that different values stay different. */
const CUT_MARK = '…';
const HASH_DIGITS = 12;

const ROOM = MAX_LABEL_BYTES - utf8Length(CUT_MARK) - HASH_DIGITS;
const LONGEST_UNIT = 3;

/** Matches whatever keeps a short value from being written as it is. */
const SPECIAL = /[\\"\n\ud800-\udfff]/;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** A label value as it stands between the quotes: whole characters, at most 1,024 bytes, escaped (the same in both formats). */
export function labelValueText(value: string): string {
  if (value.length * LONGEST_UNIT <= MAX_LABEL_BYTES && !SPECIAL.test(value)) {
    return value;
  }
  return cut(value.replace(LONE_SURROGATES, '\ufffd'), value)
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('"', '\\"');
}

/** `name="value"` of every label, in order. */
export function labelPairs(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}="${labelValueText(value)}"`);
}

/** `a="1",b="2"` as bytes, in the order given. */
export function labelBytes(labels: Labels): Buffer {
  return Buffer.from(labelPairs(labels).join(','), 'utf8');
}

/** Writes the labels of an entity; `before` where they have not changed, so that an answer made of them can be kept. */
export function writeLabels(labels: Labels, before: WrittenLabels | undefined): WrittenLabels {
  const names = Object.keys(labels);
  const isUnchanged =
    before !== undefined &&
    names.length === Object.keys(before.labels).length &&
    names.every((name) => before.labels[name] === labels[name]);
  return isUnchanged ? before : { labels, bytes: labelBytes(labels) };
}

/** What stands between a name and a value: one space where there are no labels. */
export function bracedLabels(pairs: string): string {
  return pairs === '' ? ' ' : `{${pairs}} `;
}

function cut(value: string, original: string): string {
  if (value.length * LONGEST_UNIT <= MAX_LABEL_BYTES || utf8Length(value) <= MAX_LABEL_BYTES) {
    return value;
  }
  let kept = '';
  let bytes = 0;
  for (const character of value) {
    bytes += utf8Length(character);
    if (bytes > ROOM) {
      break;
    }
    kept += character;
  }
  const hash = createHash('sha256').update(Buffer.from(original, 'utf16le')).digest('hex');
  return kept + CUT_MARK + hash.slice(0, HASH_DIGITS);
}

function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}
