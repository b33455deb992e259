/**
 * The metric names that upstream refused to answer about an application, until they are asked again. Each application has
 * its own: what is wrong with a name for one may be right for another.
 */
export class RefusedNames {
  readonly #keepMs: number;
  readonly #monotonic: () => number;
  readonly #byApplication = new Map<number, Map<string, number>>();

  /** @param keepMs how long a refused name is left out */
  constructor(keepMs: number, monotonic: () => number) {
    this.#keepMs = keepMs;
    this.#monotonic = monotonic;
  }

  add(applicationId: number, name: string): void {
    let names = this.#byApplication.get(applicationId);
    if (names === undefined) this.#byApplication.set(applicationId, (names = new Map<string, number>()));
    names.set(name, this.#monotonic() + this.#keepMs);
  }

  /** The names that may be asked for now: the same list where all of them may. */
  allowed(applicationId: number, names: readonly string[]): readonly string[] {
    const refused = this.#byApplication.get(applicationId);
    if (refused === undefined) return names;
    const now = this.#monotonic();
    for (const [name, until] of refused) if (until <= now) refused.delete(name);
    if (refused.size === 0) this.#byApplication.delete(applicationId);
    const allowed = names.filter((name) => !refused.has(name));
    return allowed.length === names.length ? names : allowed;
  }
}
