/** Whether a value read from JSON is an object or a list, so that its members can be looked at. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** The most that an answer may hold. What is beyond is not parsed: it would cost more memory and time than the body is long. */
export interface Bounds {
  /** As sent, and as unpacked. */
  readonly bytes: number;
  /** Objects, lists and their members, however deep. */
  readonly elements: number;
}

const MIB = 1024 * 1024;

/** By kind of answer, some times as much as the widest that the service can mean (docs/errors.md). */
export const BOUNDS = {
  /** A page of a list, or one record: 200 applications with a few thousand hosts each. */
  list: { bytes: 8 * MIB, elements: 400_000 },
  /** 30 metrics with three hours of minutes. */
  metricData: { bytes: 4 * MIB, elements: 150_000 },
  /** 5,000 rows. */
  query: { bytes: 16 * MIB, elements: 250_000 },
  /** Up to 50,000 rows of buckets; only commands read them. */
  series: { bytes: 16 * MIB, elements: 1_000_000 },
} as const satisfies Record<string, Bounds>;

/** The service's own answers are nested 12 deep. */
const DEEPEST = 32;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * What a JSON text has too much of, told in one pass before it is parsed; undefined where it is within bounds. A text that is
 * no JSON may pass: parsing it fails.
 */
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

/** Where the text that begins with a quote at `start` ends; the end of all where it does not. */
function endOfText(text: string, start: number): number {
  for (let end = start; ;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
}
