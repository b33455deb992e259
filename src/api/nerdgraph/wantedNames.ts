import { DATASTORES_LIKE } from './metricNames.ts';
import type { Term } from './part.ts';
import { isDatastore } from '../datastores.ts';

/** Names that patterns found; beyond so many it is cheaper to match them anew. */
const MOST_FOUND = 10_000;

/**
 * The metric names that a list of terms asks for. An answer names each of them in thousands of rows, so they are told apart
 * by one look-up, and the rows all hold the same text instead of a copy each.
 */
export class WantedNames {
  static readonly #byTerms = new WeakMap<readonly Term[], WantedNames>();
  readonly #patterns: readonly string[];
  readonly #names: ReadonlySet<string>;
  readonly #found = new Map<string, string>();

  private constructor(terms: readonly Term[]) {
    this.#patterns = terms.filter(({ like }) => like).map(({ text }) => text);
    this.#names = new Set(terms.filter(({ like }) => !like).map(({ text }) => text));
    this.#forget();
  }

  /** Lists of terms are shared, so what is found of a list is kept as long as the list. */
  static of(terms: readonly Term[]): WantedNames {
    let wanted = WantedNames.#byTerms.get(terms);
    if (wanted === undefined) WantedNames.#byTerms.set(terms, (wanted = new WantedNames(terms)));
    return wanted;
  }

  /** The name itself, or undefined when it was not asked for. Patterns are matched again: the service ignores case. */
  find(name: string): string | undefined {
    const known = this.#found.get(name);
    if (known !== undefined || !this.#patterns.some((pattern) => matches(pattern, name))) return known;
    if (this.#found.size >= MOST_FOUND) this.#forget();
    this.#found.set(name, name);
    return name;
  }

  #forget(): void {
    this.#found.clear();
    for (const name of this.#names) this.#found.set(name, name);
  }
}

function matches(pattern: string, name: string): boolean {
  return pattern === DATASTORES_LIKE ? isDatastore(name) : name.includes(pattern.slice(1, -1));
}
