/** Limit for the facets of one query. New Relic silently leaves out further facets ("Rate limits for NRQL"). */
export const MAX_FACETS = 5_000;
export const MAX_FACET_ATTRIBUTES = 5;
export const MAX_BUCKETS = 366;
/** Limit for the facets that the exporter plans for one query. The reserve of 500 is for facets that appear later. */
export const PLANNED_FACETS = 4_500;

type Row = Readonly<Record<string, unknown>>;

/** Reads the facets of rows: the member `facet` (a list for several facets), or members named like the attributes. */
export class Facets {
  readonly #responseNames: readonly string[];
  readonly #requested: readonly (string | undefined)[];
  readonly #positions: readonly number[];

  /**
   * @param responseNames the names in the order of `facet`; empty: the response has none
   * @param requested the names in the query, whose order applies if the names of the response differ; undefined:
   * unknown
   */
  constructor(responseNames: readonly string[], requested: readonly (string | undefined)[]) {
    this.#responseNames = responseNames;
    this.#requested = requested;
    const found = requested.map((name) => (name === undefined ? -1 : responseNames.indexOf(name)));
    const isComplete =
      responseNames.length === found.length && new Set(found).size === found.length && !found.includes(-1);
    this.#positions = isComplete ? found : requested.map((_, index) => index);
  }

  /** Returns the facets as label values. null becomes empty. Lone surrogates become U+FFFD, as in the exposition. */
  readLabels(row: Row): readonly string[] | undefined {
    const values = this.#readValues(row);
    if (values.includes(undefined)) return undefined;
    const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
    return values.map((value) => (value === null ? '' : toText(value).toWellFormed()));
  }

  /** Returns the facets as keys of subjects. Undefined if a facet is missing, empty, or neither text nor number. */
  readKeys(row: Row): readonly string[] | undefined {
    const values = this.#readValues(row);
    // With several facets, New Relic may return a number as a text (not documented). Both become texts.
    const isKey = (value: unknown) => typeof value === 'number' || (typeof value === 'string' && value !== '');
    return values.every(isKey) ? values.map(String) : undefined;
  }

  #readValues(row: Row): readonly unknown[] {
    return this.#positions.map((position, index) => this.#readValue(row, index, position));
  }

  #readValue(row: Row, index: number, position: number): unknown {
    const { facet } = row;
    const count = this.#positions.length;
    const names = [this.#requested[index], this.#responseNames[position]];
    const name = names.find((each) => each !== undefined && Object.hasOwn(row, each));
    const member = name === undefined ? undefined : (row[name] ?? null);
    if (Array.isArray(facet)) {
      // With one facet, a list may be the value of its attribute. Otherwise the list has a value for each facet.
      if (count === 1 && (facet.length !== 1 || Array.isArray(member))) return facet;
      return facet.length === count ? (facet[position] as unknown) : member;
    }
    if (facet !== undefined && (facet !== null || count === 1)) return count === 1 ? facet : undefined;
    return member;
  }
}

/** True if `otherResult` has a number other than 0, except in `times`: New Relic left out rows. */
export function hasOthers(otherResult: unknown, times: readonly string[] = []): boolean {
  if (typeof otherResult !== 'object' || otherResult === null) {
    return typeof otherResult === 'number' && otherResult !== 0;
  }
  return Object.entries(otherResult).some(([name, value]) => !times.includes(name) && hasOthers(value, times));
}
