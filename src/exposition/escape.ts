import type { Format } from './format.ts';

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

/** HELP text; OpenMetrics escapes the quote as well. */
export function helpText(help: string, format: Format): string {
  const escaped = help.replace(LONE_SURROGATES, '\ufffd').replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
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
