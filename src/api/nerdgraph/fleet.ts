import { Alone } from './alone.ts';
import type { Application } from '../types.ts';

/** Of an application that was not read yet. */
const FIRST_DATASTORES = 3;
/** How many metric names a pattern finds in an application that was not read yet. */
const FIRST_MATCHES = 50;

/** What is known of applications and decides how many fit into a query. */
export class Fleet {
  /** By application id: as the application list says, and as its hosts were read. */
  #counted = new Map<number, number>();
  #hosts = new Map<number, number>();
  #datastores = new Map<number, number>();
  #matches = new Map<number, number>();
  #languages = new Map<number, string>();
  #alone = new Map<string, Alone>();
  #reporting: readonly number[] = [];

  inherit(before: Fleet): void {
    this.#counted = before.#counted;
    this.#hosts = before.#hosts;
    this.#datastores = before.#datastores;
    this.#matches = before.#matches;
    this.#languages = before.#languages;
    this.#alone = before.#alone;
    this.#reporting = before.#reporting;
  }

  /** Takes the whole application list; whatever is not on it any more is forgotten. */
  listed(applications: readonly Application[]): void {
    const ids = new Set(applications.map(({ id }) => id));
    this.#counted = new Map(applications.map(({ id, hosts }) => [id, hosts ?? 1]));
    this.#reporting = applications.flatMap(({ id, reporting }) => (reporting === true ? [id] : []));
    this.#languages.clear();
    for (const { id, language } of applications) if (language !== undefined) this.#languages.set(id, language);
    for (const sizes of [this.#hosts, this.#datastores, this.#matches]) {
      for (const id of sizes.keys()) if (!ids.has(id)) sizes.delete(id);
    }
    for (const alone of this.#alone.values()) alone.keepOnly(ids);
  }

  /** Ids of the applications that reported at the last list. */
  get reporting(): readonly number[] {
    return this.#reporting;
  }

  /** Whether it was on the last list: otherwise it is one that the key cannot see. */
  isListed(applicationId: number): boolean {
    return this.#counted.has(applicationId);
  }

  language(applicationId: number): string | undefined {
    return this.#languages.get(applicationId);
  }

  /** How many hosts it has: as its hosts were read, at first as the list counts them; at least 1. */
  hosts(applicationId: number): number {
    return Math.max(1, this.#hosts.get(applicationId) ?? this.#counted.get(applicationId) ?? 1);
  }

  sawHosts(applicationId: number, hosts: number): void {
    this.#hosts.set(applicationId, hosts);
  }

  /** How many datastore metrics it has. */
  datastores(applicationId: number): number {
    return this.#datastores.get(applicationId) ?? FIRST_DATASTORES;
  }

  sawDatastores(applicationId: number, types: number): void {
    this.#datastores.set(applicationId, types);
  }

  /** How many of its metric names match the patterns of custom metrics. */
  matches(applicationId: number): number {
    return this.#matches.get(applicationId) ?? FIRST_MATCHES;
  }

  sawMatches(applicationId: number, names: number): void {
    this.#matches.set(applicationId, names);
  }

  /** The applications that broke a query of this kind. */
  alone(kind: string): Alone {
    let alone = this.#alone.get(kind);
    if (alone === undefined) {
      alone = new Alone();
      this.#alone.set(kind, alone);
    }
    return alone;
  }
}
