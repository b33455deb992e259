/** The most facets that New Relic gives for one query; it leaves out further ones without saying so ("Rate limits for NRQL"). */
export const MAX_FACETS = 5_000;
/** The most attributes that New Relic groups by. */
export const MAX_FACET_ATTRIBUTES = 5;
/** The most buckets of TIMESERIES. */
export const MAX_BUCKETS = 366;
/** The most facets that a query is planned to return; the 500 below the limit are room for facets that appear later. */
export const PLANNED_FACETS = 4_500;

type Row = Readonly<Record<string, unknown>>;

/** Reads the facets of rows: the member `facet`, a list where there are several, or members named as the attributes. */
export class Facets {
  readonly #responseNames: readonly string[];
  readonly #requested: readonly (string | undefined)[];
  /** The index in `facet` of each requested facet. */
  readonly #positions: readonly number[];

  /**
   * @param responseNames the names in the order of `facet`; empty where the response has none
   * @param requested the names in the query, whose order applies where the given ones differ; undefined: not known
   */
  constructor(responseNames: readonly string[], requested: readonly (string | undefined)[]) {
    this.#responseNames = responseNames;
    this.#requested = requested;
    const found = requested.map((name) => (name === undefined ? -1 : responseNames.indexOf(name)));
    const isComplete =
      responseNames.length === found.length && new Set(found).size === found.length && !found.includes(-1);
    this.#positions = isComplete ? found : requested.map((_, index) => index);
  }

  /** The facets as labels: null is empty. Lone surrogates become U+FFFD, so that what is written alike is equal. */
  readLabels(row: Row): readonly string[] | undefined {
    const texts: string[] = [];
    for (let index = 0; index < this.#positions.length; index += 1) {
      const value = this.#readValue(row, index);
      if (value === undefined) return undefined;
      const text = value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
      texts[index] = text.toWellFormed();
    }
    return texts;
  }

  /** The facets as keys, which say what a row is about. Undefined where one is missing, empty, or neither text nor number. */
  readKeys(row: Row): readonly string[] | undefined {
    const texts: string[] = [];
    for (let index = 0; index < this.#positions.length; index += 1) {
      const value = this.#readValue(row, index);
      // New Relic may return a number as a text (seen with several facets, not documented), so both become texts.
      if (typeof value === 'number') texts[index] = String(value);
      else if (typeof value === 'string' && value !== '') texts[index] = value;
      else return undefined;
    }
    return texts;
  }

  /** Undefined where the row does not have the facet, or has another number of facets. */
  #readValue(row: Row, index: number): unknown {
    const { facet } = row;
    const count = this.#positions.length;
    const position = this.#positions[index] ?? index;
    const names = [this.#requested[index], this.#responseNames[position]];
    const name = names.find((each) => each !== undefined && Object.hasOwn(row, each));
    const member = name === undefined ? undefined : (row[name] ?? null);
    if (Array.isArray(facet)) {
      // The list is the value where one attribute is a list, and otherwise it has a value for each facet.
      if (count === 1 && (facet.length !== 1 || Array.isArray(member))) return facet;
      return facet.length === count ? (facet[position] as unknown) : member;
    }
    if (facet !== undefined && (facet !== null || count === 1)) return count === 1 ? facet : undefined;
    return member;
  }
}

/** True where `otherResult` has a number other than 0 at any depth, but for `times`: New Relic left rows out. */
export function hasOthers(otherResult: unknown, times: readonly string[] = []): boolean {
  if (typeof otherResult !== 'object' || otherResult === null) {
    return typeof otherResult === 'number' && otherResult !== 0;
  }
  return Object.entries(otherResult).some(([name, value]) => !times.includes(name) && hasOthers(value, times));
}
