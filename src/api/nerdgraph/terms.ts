import { DATASTORES_LIKE, isBrowser, isRollup, SIGN_OF_LIFE } from './metricNames.ts';
import type { Term } from './part.ts';
import { isDatastore } from '../datastores.ts';

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
