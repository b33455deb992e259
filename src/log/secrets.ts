const SHORTEST = 4;
export const MASKED = '<secret>';

/** A New Relic key of any account, or the beginning of one; licence keys are 40 characters that end in NRAL. */
export const KEY_LIKE = /NR[A-Z]{2}-[A-Z0-9]+|\b[A-Z0-9]{36}NRAL\b/gi;

/** A whole key, because names such as `conrad-shop` contain a possible beginning of one. */
const WHOLE_KEY = /NR[A-Z]{2}-[A-Z0-9]{20,}|\b[A-Z0-9]{36}NRAL\b/gi;

/**
 * The secrets of the process, hidden as a whole in every text that leaves it: as they are, and escaped for an address, JSON or
 * HTML. A last line of defence behind code that keeps them out. A secret of under four characters is not hidden: it would match
 * everywhere.
 */
export class Secrets {
  readonly #known = new Set<string>();
  /** The spellings of all secrets, longest first: hiding a shorter one first would leave the rest of a longer one visible. */
  #spellings: readonly string[] = [];

  /** Hides a secret from now on. */
  add(value: string): void {
    if (value.length < SHORTEST || this.#known.has(value)) return;
    this.#known.add(value);
    const all = new Set([...this.#spellings, ...spellings(value)]);
    this.#spellings = [...all].toSorted((a, b) => b.length - a.length);
  }

  /** The text without secrets whose spelling has at least `shortest` characters. */
  mask(text: string, shortest = SHORTEST): string {
    const hidden = this.#spellings.filter(({ length }) => length >= shortest);
    return hidden.reduce((masked, spelling) => masked.replaceAll(spelling, MASKED), text);
  }

  /** Like `mask`, for text that a person wrote: everything that looks like a New Relic key is hidden too. */
  maskWritten(text: string): string {
    return this.mask(text).replace(KEY_LIKE, MASKED);
  }

  /** Like `mask`, for the output of commands: whole New Relic keys are hidden too, but no name that only resembles one. */
  maskPrinted(text: string): string {
    return this.mask(text).replace(WHOLE_KEY, MASKED);
  }
}

function spellings(value: string): readonly string[] {
  // encodeURIComponent throws on half a surrogate pair, which a replacement character stands for here.
  const wellFormed = value.toWellFormed();
  const formEncoded = new URLSearchParams([['', wellFormed]]).toString().slice(1);
  const json = JSON.stringify(value).slice(1, -1);
  return [value, encodeURIComponent(wellFormed), formEncoded, json, escapeHtml(value), escapeHtml(json)];
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
