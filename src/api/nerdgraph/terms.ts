import { isDatastore } from '../types.ts';
import type { Term } from './part.ts';

/** The names of the REST interface that this reader treats apart. */
export const WEB = 'HttpDispatcher';
export const NON_WEB = 'OtherTransaction/all';
export const ERRORS = 'Errors/all';
export const APDEX = 'Apdex';
export const END_USER = 'EndUser';
export const END_USER_APDEX = 'EndUser/Apdex';
export const MEMORY = 'Memory/Physical';
export const CPU = 'CPU/User Time';

/**
 * Agents report it once a minute: the sign that an application or host lives. That agents of every language send it, and
 * with a host, is our inference.
 */
export const SIGN_OF_LIFE = 'Agent/MetricsReported/count';

/** For what reports, these count 0 where nothing was recorded. */
export const ZERO_WITHOUT_ROW: readonly string[] = [WEB, NON_WEB, ERRORS];

/** Browsers report no host. */
const BROWSER: ReadonlySet<string> = new Set([END_USER, END_USER_APDEX]);

/** Sums that agents keep beside the metrics of single transactions: they are never reported for one transaction only. */
const ROLLUPS: ReadonlySet<string> = new Set([
  ...[WEB, NON_WEB, ERRORS, APDEX, END_USER, END_USER_APDEX, MEMORY, CPU, SIGN_OF_LIFE],
  ...['WebTransactionTotalTime', 'WebFrontend/QueueTime', 'Database/allWeb', 'ActiveRecord/all'],
  ...['Memcache/allWeb', 'External/allWeb'],
]);

/** What finds the metrics of all datastore types, such as `Datastore/MySQL/allWeb`. */
export const DATASTORES_LIKE = 'Datastore/%/allWeb';

function isBrowser(name: string): boolean {
  return BROWSER.has(name);
}

function isRollup(name: string): boolean {
  return ROLLUPS.has(name) || isDatastore(name);
}

/** Whether its count, sum and exclusive sum are the satisfied, tolerating and frustrated requests. */
export function isApdex(name: string): boolean {
  return name === APDEX || name.startsWith('Apdex/') || name.startsWith(END_USER_APDEX);
}

/** Only custom metrics may hold negative values. */
export function mayBeNegative(name: string): boolean {
  return name.startsWith('Custom/');
}

const DATASTORES: Term = { text: DATASTORES_LIKE, like: true, unscoped: false };
/** Lists of names in use differ by the custom metrics of applications; beyond so many it is cheaper to begin again. */
const MOST_REMEMBERED = 10_000;

/** What is asked for of lists of names; equal lists have the same terms, so that they can be compared at no cost. */
export class Terms {
  readonly #byList = {
    application: new WeakMap<readonly string[], readonly Term[]>(),
    host: new WeakMap<readonly string[], readonly Term[]>(),
  };
  readonly #byText = new Map<string, readonly Term[]>();

  /** The sign of life and the datastores come with whatever is asked for; browsers report no host. */
  ofMetricData(names: readonly string[], scope: 'application' | 'host'): readonly Term[] {
    const known = this.#byList[scope].get(names);
    if (known !== undefined) return known;
    const asked = names.filter((name) => !isDatastore(name) && !(scope === 'host' && isBrowser(name)));
    const terms = this.of([...asked, SIGN_OF_LIFE], [DATASTORES]);
    this.#byList[scope].set(names, terms);
    return terms;
  }

  of(names: readonly string[], further: readonly Term[] = []): readonly Term[] {
    const all = [...new Set(names)].map((text) => ({ text, like: false, unscoped: !isRollup(text) }));
    return this.same([...all, ...further]);
  }

  /** The first list that was equal to this one. */
  same(terms: readonly Term[]): readonly Term[] {
    const text = JSON.stringify(terms);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    if (this.#byText.size >= MOST_REMEMBERED) this.#byText.clear();
    this.#byText.set(text, terms);
    return terms;
  }
}

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

/** The value of a key; where there is none, the one that `make` gives is kept under the key first. */
export function getOrSet<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
