import { isList, hasMembers, type Json } from './validation.ts';

/** Limits beyond which a response is not parsed: parsing takes far more memory and time than its length suggests. */
export interface Bounds {
  /** Limit for the body both as sent and as unpacked. */
  readonly bytes: number;
  /** Limit for the objects, lists and their members together, at any depth. */
  readonly elements: number;
  /** Set where only numbers of the response are used: no text of it is shown, so a key in it need not be hidden. */
  readonly onlyNumbers?: true;
}

const MIB = 1024 * 1024;

/** Limits by kind of response, several times larger than the largest genuine response (docs/errors.md). */
export const BOUNDS = {
  /** Enough for a page of a list or one record: 200 applications with a few thousand hosts each. */
  list: { bytes: 8 * MIB, elements: 400_000 },
  /** Enough for 30 metrics with three hours of minutes. */
  metricData: { bytes: 4 * MIB, elements: 150_000, onlyNumbers: true },
  /** Enough for 5,000 rows. */
  query: { bytes: 16 * MIB, elements: 250_000 },
  /** Enough for 50,000 rows of buckets; only commands read them. */
  series: { bytes: 16 * MIB, elements: 1_000_000 },
} as const satisfies Record<string, Bounds>;

/** New Relic's own responses are nested 12 deep. */
const DEEPEST = 32;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The limit that a JSON text exceeds, found before it is parsed. Text that is not JSON may pass. */
export function tooMuchOf(text: string, elements: number): 'nesting' | 'elements' | undefined {
  let depth = 0;
  let found = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        index = endOfText(text, index);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        found += 1;
        if (depth > DEEPEST) return 'nesting';
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
        found += 1;
        if (found > elements) return 'elements';
        break;
    }
  }
  return undefined;
}

/** The position after the string that begins with a quote at `start`, or the end of the text if the string is not closed. */
function endOfText(text: string, start: number): number {
  for (let end = start; ;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
}

/** True when objects or lists of a parsed value are nested too deep. */
export function isTooDeep(value: Json | readonly unknown[], levels = DEEPEST): boolean {
  if (levels === 0) return true;
  if (isList(value)) {
    for (const each of value) if (hasMembers(each) && isTooDeep(each, levels - 1)) return true;
    return false;
  }
  for (const name in value) {
    const member = value[name];
    if (hasMembers(member) && isTooDeep(member, levels - 1)) return true;
  }
  return false;
}
