type Row = Readonly<Record<string, unknown>>;

/**
 * Finds the facets of rows. With one facet, `facet` of a row is its value, with several it is a list; where it is absent, the
 * values stand under the names of the attributes. Each method returns one list that the next call overwrites, because there are
 * thousands of rows.
 */
export class Facets {
  readonly #given: readonly string[];
  readonly #requested: readonly (string | undefined)[];
  /** The index in `facet` of each requested facet. */
  readonly #positions: readonly number[];
  readonly #texts: string[] = [];

  /**
   * @param given New Relic's names of the facets, in the order of `facet`; empty where it does not say them
   * @param requested the names in the order of the query, which holds where the given names are others; undefined: not known
   */
  constructor(given: readonly string[], requested: readonly (string | undefined)[]) {
    this.#given = given;
    this.#requested = requested;
    const found = requested.map((name) => (name === undefined ? -1 : given.indexOf(name)));
    const isComplete = given.length === found.length && new Set(found).size === found.length && !found.includes(-1);
    this.#positions = isComplete ? found : requested.map((_, index) => index);
  }

  /** The facets as the values of labels: a facet that is null is an empty label. Undefined where one is missing. */
  labelsOf(row: Row): readonly string[] | undefined {
    for (let index = 0; index < this.#positions.length; index += 1) {
      const value = this.#valueAt(row, index);
      if (value === undefined) return undefined;
      this.#texts[index] = value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
    }
    return this.#texts;
  }

  /** The facets as keys, which say what a row is about. Undefined where one is missing, empty, or neither text nor number. */
  keysOf(row: Row): readonly string[] | undefined {
    for (let index = 0; index < this.#positions.length; index += 1) {
      const value = this.#valueAt(row, index);
      // A number can be returned as a text, as seen with several facets; this is not documented.
      if (typeof value === 'number') this.#texts[index] = String(value);
      else if (typeof value === 'string' && value !== '') this.#texts[index] = value;
      else return undefined;
    }
    return this.#texts;
  }

  /** Undefined where the row does not have the facet, or has another number of facets. */
  #valueAt(row: Row, index: number): unknown {
    const { facet } = row;
    const count = this.#positions.length;
    const position = this.#positions[index] ?? index;
    if (Array.isArray(facet)) return facet.length === count ? (facet[position] as unknown) : undefined;
    if (facet !== undefined && (facet !== null || count === 1)) return count === 1 ? facet : undefined;
    const names = [this.#requested[index], this.#given[position]];
    const name = names.find((each) => each !== undefined && Object.hasOwn(row, each));
    return name === undefined ? undefined : (row[name] ?? null);
  }
}
