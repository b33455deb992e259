import type { MetricDataSubject } from '../reader.ts';

/** An application, or one of its hosts. */
type About = Pick<MetricDataSubject, 'applicationId' | 'hostKey'>;

/** Until when each name is left out, by application. */
type UntilByName = Map<number, Map<string, number>>;

/**
 * The metric names that upstream refused to answer about an application, until they are asked again. Each application has
 * its own: what is wrong with a name for one may be right for another. What is refused about one of its hosts is left out
 * for all of them, but not for the application, which may have metrics that hosts do not have.
 */
export class RefusedNames {
  readonly #keepMs: number;
  readonly #monotonic: () => number;
  readonly #ofApplications: UntilByName = new Map();
  readonly #ofHosts: UntilByName = new Map();

  /** @param keepMs how long a refused name is left out */
  constructor(keepMs: number, monotonic: () => number) {
    this.#keepMs = keepMs;
    this.#monotonic = monotonic;
  }

  add({ applicationId, hostKey }: About, name: string): void {
    const byApplication = hostKey === undefined ? this.#ofApplications : this.#ofHosts;
    let names = byApplication.get(applicationId);
    if (names === undefined) byApplication.set(applicationId, (names = new Map<string, number>()));
    names.set(name, this.#monotonic() + this.#keepMs);
  }

  /** The names that may be asked for now: the same list where all of them may. */
  allowed({ applicationId, hostKey }: About, names: readonly string[]): readonly string[] {
    const refused = this.#now(this.#ofApplications, applicationId);
    const refusedOfHosts = hostKey === undefined ? undefined : this.#now(this.#ofHosts, applicationId);
    if (refused === undefined && refusedOfHosts === undefined) return names;
    const allowed = names.filter((name) => refused?.has(name) !== true && refusedOfHosts?.has(name) !== true);
    return allowed.length === names.length ? names : allowed;
  }

  #now(byApplication: UntilByName, applicationId: number): ReadonlyMap<string, number> | undefined {
    const refused = byApplication.get(applicationId);
    if (refused === undefined) return undefined;
    const now = this.#monotonic();
    for (const [name, until] of refused) if (until <= now) refused.delete(name);
    if (refused.size > 0) return refused;
    byApplication.delete(applicationId);
    return undefined;
  }
}
