const SHORTEST = 4;
export const MASKED = '<secret>';

/** The number of consecutive characters of a secret that must not leave the process. */
const RUN = 12;

/** The number of characters that are hashed together. */
const HASHED = 3;

/** The size of the hash table, which excludes most of a text before a closer comparison: a hundred keys fill a third of it. */
const TABLE_SIZE = 65_536;

/** The most places of one text that are compared with the runs: an ordinary text has hardly any that may begin a run. */
const MAX_COMPARISONS = 100_000;

/** A New Relic key of any account, or the beginning of one; licence keys are 40 characters that end in NRAL. */
export const KEY_LIKE = /NR[A-Z]{2}-[A-Z0-9]+|\b[A-Z0-9]{36}NRAL\b/gi;

/** A whole key, because names such as `conrad-shop` contain a possible beginning of one. */
const WHOLE_KEY = /NR[A-Z]{2}-[A-Z0-9]{20,}|\b[A-Z0-9]{36}NRAL\b/gi;

/** A text of one repeated character. */
const ONE_CHARACTER = /^(.)\1*$/su;

/** An encoded character of an address, of JSON or of HTML; tried at one index of a text only. */
const ENCODED = /%(?:25)*([0-9a-f]{2})|\\u([0-9a-f]{4})|&#x([0-9a-f]{1,6});|&#([0-9]{1,7});|\\[nrt]?/iy;
const [PERCENT, BACKSLASH, AMPERSAND, UPPER_A, UPPER_Z, TO_LOWER] = [0x25, 0x5c, 0x26, 0x41, 0x5a, 0x20];

/**
 * The secrets of the process, hidden in every text that leaves it: a last line of defence behind code that keeps them out. No
 * run of 12 characters of a secret is shown, in any encoding (address, JSON, HTML, base64) or case, or split by white space; a
 * shorter secret is hidden as a whole. A secret of under four characters is not hidden: it would match everywhere.
 */
export class Secrets {
  readonly #known = new Set<string>();
  /** The runs of every secret and of its base64. */
  readonly #runs = new Set<string>();
  /** A mark at the hash of every three consecutive characters of a run. */
  readonly #table = new Uint8Array(TABLE_SIZE);
  /** The spellings of all secrets, longest first: hiding a shorter one first would leave the rest of a longer one visible. */
  #spellings: readonly string[] = [];

  /** Hides a secret from now on. */
  add(value: string): void {
    if (value.length < SHORTEST || this.#known.has(value)) return;
    this.#known.add(value);
    const all = new Set([...this.#spellings, ...spellings(value)]);
    this.#spellings = [...all].toSorted((a, b) => b.length - a.length);
    for (const form of [plainOf(value).text, ...base64Forms(value)]) {
      if (form.length < RUN) continue;
      for (let start = 0; start + RUN <= form.length; start += 1) {
        const run = form.slice(start, start + RUN);
        // Twelve zeros reveal nothing of a key that contains them, and occur in many numbers.
        if (!ONE_CHARACTER.test(run)) this.#runs.add(run);
      }
      for (let start = 0; start + HASHED <= form.length; start += 1) this.#table[hashAt(form, start)] = 1;
    }
  }

  /** The text without secrets whose spelling has at least `shortest` characters, in time in proportion to its length. */
  mask(text: string, shortest = SHORTEST): string {
    const hidden = this.#spellings.filter(({ length }) => length >= shortest);
    const withoutWhole = hidden.reduce((masked, spelling) => masked.replaceAll(spelling, MASKED), text);
    return this.#runs.size === 0 ? withoutWhole : this.#withoutRuns(withoutWhole);
  }

  /** Like `mask`, for text that a person wrote: everything that looks like a New Relic key is hidden too. */
  maskWritten(text: string): string {
    return this.mask(text).replace(KEY_LIKE, MASKED);
  }

  /** Like `mask`, for the output of commands: whole New Relic keys are hidden too, but no name that only resembles one. */
  maskPrinted(text: string): string {
    return this.mask(text).replace(WHOLE_KEY, MASKED);
  }

  /**
   * True if the text contains a run as it is, not encoded or split; only every tenth index is looked at first. Also true for a
   * text with more pieces of secrets than can be searched in a short time.
   */
  holdsRun(text: string): boolean {
    const step = RUN - HASHED + 1;
    let looks = 0;
    for (let index = 0; index + HASHED <= text.length; index += step) {
      if (this.#table[hashAt(text, index)] === 0) continue;
      // All indexes of a run are marked, so a run around this index lies within the marked stretch.
      let first = index;
      while (first > Math.max(0, index - step + 1) && this.#table[hashAt(text, first - 1)] === 1) first -= 1;
      let last = index;
      while (last < index + step - 1 && this.#table[hashAt(text, last + 1)] === 1) last += 1;
      for (let start = first; start + step - 1 <= last; start += 1) {
        looks += 1;
        if (looks > MAX_COMPARISONS || this.#runs.has(text.slice(start, start + RUN).toLowerCase())) return true;
      }
    }
    return false;
  }

  #withoutRuns(text: string): string {
    const plain = plainOf(text);
    let masked = '';
    let shownTo = 0;
    let hiddenTo = 0;
    for (let index = 0; index + RUN <= plain.text.length; index += 1) {
      if (this.#table[hashAt(plain.text, index)] === 0) continue;
      if (!this.#runs.has(plain.text.slice(index, index + RUN))) continue;
      // A run that begins within the previous one extends it.
      if (index >= hiddenTo) masked += text.slice(shownTo, plain.starts[index]) + MASKED;
      hiddenTo = index + RUN;
      shownTo = plain.ends[hiddenTo - 1] ?? text.length;
    }
    return masked + text.slice(shownTo);
  }
}

/** A hash of three characters, the same for upper and lower case. */
function hashAt(text: string, index: number): number {
  const first = text.charCodeAt(index) | TO_LOWER;
  const second = text.charCodeAt(index + 1) | TO_LOWER;
  return ((first * 31 + second) * 31 + (text.charCodeAt(index + 2) | TO_LOWER)) % TABLE_SIZE;
}

function spellings(value: string): readonly string[] {
  // encodeURIComponent throws on half a surrogate pair, which a replacement character stands for here.
  const wellFormed = value.toWellFormed();
  const formEncoded = new URLSearchParams([['', wellFormed]]).toString().slice(1);
  const base64 = (['base64', 'base64url'] as const).map((form) =>
    Buffer.from(value).toString(form).replaceAll('=', ''),
  );
  return [value, encodeURIComponent(wellFormed), formEncoded, JSON.stringify(value).slice(1, -1), ...base64];
}

/** The base64 forms of the secret, alone or after other bytes, reduced to the characters that depend on the secret alone. */
function base64Forms(secret: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const ownTo = Math.floor((bytes.length * 8) / 6);
    const form = bytes
      .toString('base64')
      .slice(before === 0 ? 0 : before + 1, ownTo)
      .toLowerCase();
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** A text decoded, in lower case and without white space, with the start and end of each character in the original. */
function plainOf(original: string) {
  const codes = new Uint16Array(original.length);
  const starts = new Uint32Array(original.length);
  const ends = new Uint32Array(original.length);
  let length = 0;
  for (let index = 0; index < original.length;) {
    const { code, size } = characterAt(original, index);
    if (code !== undefined && !isSpace(code)) {
      codes[length] = code >= UPPER_A && code <= UPPER_Z ? code + TO_LOWER : code;
      starts[length] = index;
      ends[length] = index + size;
      length += 1;
    }
    index += size;
  }
  return { text: Buffer.from(codes.buffer, 0, length * 2).toString('utf16le'), starts, ends };
}

/** The decoded character at an index of a text, and its length there; a lone backslash and \n, \r, \t give no code. */
function characterAt(text: string, index: number): { readonly code: number | undefined; readonly size: number } {
  const code = text.charCodeAt(index);
  if (code !== PERCENT && code !== BACKSLASH && code !== AMPERSAND) return { code, size: 1 };
  ENCODED.lastIndex = index;
  const [all, percent, json, hex, decimal] = ENCODED.exec(text) ?? [];
  if (all === undefined) return { code, size: 1 };
  const digits = percent ?? json ?? hex;
  const meant =
    digits === undefined ? (decimal === undefined ? undefined : Number(decimal)) : Number.parseInt(digits, 16);
  return { code: meant, size: all.length };
}

function isSpace(code: number): boolean {
  return code <= 0x20 || code === 0xa0 || code === 0xad || (code >= 0x2000 && code <= 0x200f) || code === 0xfeff;
}
