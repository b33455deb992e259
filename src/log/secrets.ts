const SHORTEST = 4;
export const MASKED = '<secret>';

/** A New Relic key of any account, or the beginning of one; licence keys are 40 characters that end in NRAL. */
export const KEY_LIKE = /NR[A-Z]{2}-[\w/+%=~-]+|\b[A-Z0-9]{36}NRAL\b/gi;

/** A whole key as New Relic writes it: names such as `conrad-shop` and `NREL-API2` resemble the beginning of one. */
const WHOLE_KEY = String.raw`\bNR[A-Z]{2}-[\w-]{20,}|\b[A-Za-z0-9]{36}NRAL\b`;

/** In what is published, only keys of at least this length are hidden: a shorter one could be an ordinary word. */
const SHORTEST_PUBLISHED = 12;

/**
 * The secrets of the process, hidden as a whole in every text that leaves it: as they are, and escaped for an address, JSON or
 * HTML. A secret of under four characters is not hidden: it would match everywhere.
 */
export class Secrets {
  #known: readonly string[] = [];
  #everywhere = patternOf([]);
  #published = patternOf([]);

  /** The number of secrets. */
  get size(): number {
    return this.#known.length;
  }

  /** Hides a secret from now on. */
  add(value: string): void {
    if (value.length < SHORTEST || this.#known.includes(value)) return;
    this.#known = [...this.#known, value];
    this.#everywhere = patternOf(this.#known);
    this.#published = patternOf(this.#known.filter(({ length }) => length >= SHORTEST_PUBLISHED));
  }

  /** True for a text that holds a secret. */
  isIn(text: string): boolean {
    return this.#known.some((value) => spellings(value).some((spelling) => text.includes(spelling)));
  }

  /** The text without secrets, and without anything that is a whole New Relic key. */
  mask(text: string): string {
    return text.replace(this.#everywhere, MASKED);
  }

  /** Like `mask`, for label values and pages, where only secrets of at least 12 characters are hidden. */
  maskPublished(text: string): string {
    return text.replace(this.#published, MASKED);
  }
}

/** Finds secrets and whole keys. Of spellings that begin alike, the longest comes first: a shorter one would leave its rest. */
function patternOf(values: readonly string[]): RegExp {
  const spelt = values.flatMap(spellings).toSorted((a, b) => b.length - a.length);
  const literal = spelt.map((each) => each.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp([...new Set(literal), WHOLE_KEY].join('|'), 'g');
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
