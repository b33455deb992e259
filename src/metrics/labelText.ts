import type { Labels, WrittenLabels } from './sample.ts';

/** Longest label value that is written, in bytes of UTF-8 before escaping; the mark of a cut is within it. */
const MAX_LABEL_BYTES = 1024;
const CUT_MARK = '…';

const ROOM = MAX_LABEL_BYTES - utf8Length(CUT_MARK);
const LONGEST_UNIT = 3;

/** Matches whatever keeps a short value from being written as it is. */
const SPECIAL = /[\\"\n\ud800-\udfff]/;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** A label value as it stands between the quotes: whole characters, at most 1,024 bytes, escaped (the same in both formats). */
export function labelValueText(value: string): string {
  if (value.length * LONGEST_UNIT <= MAX_LABEL_BYTES && !SPECIAL.test(value)) {
    return value;
  }
  return cut(value.replace(LONE_SURROGATES, '\ufffd'))
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

function cut(value: string): string {
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
  return kept + CUT_MARK;
}

function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}
