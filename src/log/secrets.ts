import { escapeHtml } from '../text/escaping.ts';

/** Shortest secret that is hidden. A shorter secret would match everywhere. */
const SHORTEST = 4;

export const MASKED = '<secret>';

/** A New Relic key, or the beginning of one. A license key has 40 characters and ends in NRAL. */
export const KEY_LIKE = /NR[A-Z]{2}-[\w/+%=~-]+|\b[A-Z0-9]{36}NRAL\b/gi;

/** A complete New Relic key. Names such as `conrad-shop` and `NREL-API2` look like the beginning of a key. */
const WHOLE_KEY = String.raw`\bNR[A-Z]{2}-[\w-]{20,}|\b[A-Za-z0-9]{36}NRAL\b`;

/** Shortest secret that labels and pages hide. A shorter secret could be an ordinary word. */
const SHORTEST_PUBLISHED = 12;

/** Hides the secrets of the process in every text that leaves it: plain, and escaped for a URL, JSON or HTML. */
export class Secrets {
  #known: readonly string[] = [];
  #everywhere = compilePattern([]);
  #published = compilePattern([]);

  get size(): number {
    return this.#known.length;
  }

  add(value: string): void {
    if (value.length < SHORTEST || this.#known.includes(value)) return;
    this.#known = [...this.#known, value];
    this.#everywhere = compilePattern(this.#known);
    this.#published = compilePattern(this.#known.filter(({ length }) => length >= SHORTEST_PUBLISHED));
  }

  isIn(text: string): boolean {
    return this.#known.some((value) => listSpellings(value).some((spelling) => text.includes(spelling)));
  }

  /** Masks all secrets, and anything that is a complete New Relic key. */
  mask(text: string): string {
    return text.replace(this.#everywhere, MASKED);
  }

  /** Masks as `mask`, but only secrets of at least 12 characters; for label values and pages. */
  maskPublished(text: string): string {
    return text.replace(this.#published, MASKED);
  }
}

/** Matches secrets and complete keys. The longest come first: a shorter match would leave the end of a secret. */
function compilePattern(values: readonly string[]): RegExp {
  const spelt = values.flatMap(listSpellings).toSorted((a, b) => b.length - a.length);
  const literal = spelt.map((each) => each.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp([...new Set(literal), WHOLE_KEY].join('|'), 'g');
}

function listSpellings(value: string): readonly string[] {
  // encodeURIComponent throws on a lone surrogate; toWellFormed replaces it.
  const wellFormed = value.toWellFormed();
  const formEncoded = new URLSearchParams([['', wellFormed]]).toString().slice(1);
  const json = JSON.stringify(value).slice(1, -1);
  return [value, encodeURIComponent(wellFormed), formEncoded, json, escapeHtml(value), escapeHtml(json)];
}
