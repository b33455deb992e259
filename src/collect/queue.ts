import { GROUP_OF, type Entity, type Kind } from './entity.ts';
import type { Timetable } from './timetable.ts';

/** Ties, and the first refresh, go in this order. */
const KINDS = Object.keys(GROUP_OF) as readonly Kind[];

/** Never read values are overdue against this interval, whatever their group's: the first refresh is urgent. */
const FIRST_READ_INTERVAL = 60_000;

/** An entity that waits, and since when it is due. Left behind in its list once it waits elsewhere, or no longer. */
interface Waiting {
  readonly entity: Entity;
  readonly since: number;
  readonly order: number;
}

/** What waits of one kind: what is healthy, and what may hang. */
interface Lists {
  readonly healthy: Heap;
  readonly suspect: Heap;
}

/**
 * The entities that wait for their turn: most overdue first, as time overdue divided by their interval.
 *
 * Suspect is what may hang: what failed, and hosts that were never read while their application was not answered either.
 * What failed goes after all healthy work that is due; only once it has waited for an interval, as long as anything waits
 * between two reads, it competes with it, so that it does not starve where the queue never runs empty.
 *
 * A list is in the order in which its entities became due, and only the heads of the lists are compared: but for queries, all
 * of a kind share the interval of their group.
 */
export class Queue {
  readonly #timetable: Timetable;
  readonly #lists: ReadonlyMap<Kind, Lists>;
  readonly #waiting = new Map<Entity, Waiting>();
  readonly #suspects = new Set<Entity>();
  #order = 0;

  constructor(timetable: Timetable) {
    this.#timetable = timetable;
    this.#lists = new Map(KINDS.map((kind) => [kind, { healthy: new Heap(), suspect: new Heap() }]));
  }

  /** How many entities wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** How many of them may hang. */
  get suspects(): number {
    return this.#suspects.size;
  }

  /** Queues an entity; one that waits already goes to the list where it belongs now. */
  add(entity: Entity, suspect: boolean): void {
    const since = entity.failures > 0 ? entity.retryAt : this.#dueAt(entity);
    const waiting = { entity, since, order: (this.#order += 1) };
    this.#waiting.set(entity, waiting);
    if (suspect) this.#suspects.add(entity);
    else this.#suspects.delete(entity);
    const { healthy, suspect: suspects } = this.#listsOf(entity.kind);
    (suspect ? suspects : healthy).push(waiting);
  }

  /** An entity waits no longer. */
  remove(entity: Entity): void {
    this.#waiting.delete(entity);
    this.#suspects.delete(entity);
  }

  isSuspect(entity: Entity): boolean {
    return this.#suspects.has(entity);
  }

  /** Empties the queue; what waited. */
  clear(): readonly Entity[] {
    const entities = [...this.#waiting.keys()];
    this.#waiting.clear();
    this.#suspects.clear();
    return entities;
  }

  /**
   * The entity whose turn it is at `now`; undefined when none is left. It goes on waiting until it is removed.
   *
   * @param maySuspect false: leaves what may hang
   */
  first(now: number, maySuspect: boolean): Entity | undefined {
    let best: Entity | undefined;
    let most = -Infinity;
    let longestFailed: Entity | undefined;
    for (const kind of KINDS) {
      const { healthy, suspect } = this.#listsOf(kind);
      const head = this.#head(healthy);
      const suspected = maySuspect ? this.#head(suspect) : undefined;
      if (head !== undefined) {
        const overdue = this.#overdue(head, now);
        // Strictly more: ties stay with the kind that comes first.
        if (overdue > most) [best, most] = [head, overdue];
      }
      if (suspected === undefined) continue;
      if (suspected.failures === 0) {
        // Hosts that were never read go behind the others of their kind.
        if (head !== undefined && head.held === undefined) continue;
        const overdue = this.#overdue(suspected, now);
        if (overdue > most) [best, most] = [suspected, overdue];
        continue;
      }
      if (suspected.retryAt < (longestFailed?.retryAt ?? Infinity)) longestFailed = suspected;
      const waited = now - suspected.retryAt - this.#timetable.effectiveIntervalOf(suspected);
      const overdue = waited / this.#timetable.intervalOf(suspected);
      if (waited >= 0 && overdue > most) [best, most] = [suspected, overdue];
    }
    return most >= 0 ? best : (longestFailed ?? best);
  }

  /**
   * Takes up to `count` entities that may be read together with `first`, in the order of their turns: the due ones before
   * those that are early; failed ones only with failed ones, doubtful hosts only with doubtful hosts.
   *
   * @returns those that were taken; what does not fit into the call is put back
   */
  takeWith(first: Entity, count: number, now: number): Entity[] {
    const { healthy, suspect } = this.#listsOf(first.kind);
    const isSuspect = this.isSuspect(first);
    const list = isSuspect ? suspect : healthy;
    const taken: Entity[] = [];
    for (let head = this.#head(list); head !== undefined && taken.length < count; head = this.#head(list)) {
      if (head !== first && isSuspect && (head.failures > 0 !== first.failures > 0 || head.retryAt > now)) break;
      list.pop();
      taken.push(head);
    }
    return taken;
  }

  /** Puts entities back that `takeWith` gave, where they were. */
  putBack(entities: readonly Entity[]): void {
    for (const entity of entities) {
      const waiting = this.#waiting.get(entity);
      if (waiting === undefined) continue;
      const { healthy, suspect } = this.#listsOf(entity.kind);
      (this.isSuspect(entity) ? suspect : healthy).push(waiting);
    }
  }

  #overdue(entity: Entity, now: number): number {
    if (entity.held === undefined) return (now - entity.firstSeen) / FIRST_READ_INTERVAL;
    return (now - this.#timetable.dueAt(entity)) / this.#timetable.intervalOf(entity);
  }

  #dueAt(entity: Entity): number {
    return entity.held === undefined ? entity.firstSeen : this.#timetable.dueAt(entity);
  }

  /** The first of a list that still waits there. */
  #head(list: Heap): Entity | undefined {
    for (let head = list.first; head !== undefined; head = list.first) {
      if (this.#waiting.get(head.entity) === head && !head.entity.gone) return head.entity;
      list.pop();
    }
    return undefined;
  }

  #listsOf(kind: Kind): Lists {
    const lists = this.#lists.get(kind);
    if (lists === undefined) throw new Error(`nothing of the kind ${kind} can wait`);
    return lists;
  }
}

/** What is due first comes first, and of equal ones what came first. */
class Heap {
  readonly #items: Waiting[] = [];

  get first(): Waiting | undefined {
    return this.#items[0];
  }

  push(item: Waiting): void {
    this.#items.push(item);
    let child = this.#items.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#isBefore(child, parent)) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  pop(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    this.#items[0] = last;
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      let smallest = this.#isBefore(left, parent) ? left : parent;
      if (this.#isBefore(left + 1, smallest)) smallest = left + 1;
      if (smallest === parent) return;
      this.#swap(parent, smallest);
      parent = smallest;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const one = this.#items[a];
    const other = this.#items[b];
    if (one === undefined || other === undefined) return false;
    return one.since === other.since ? one.order < other.order : one.since < other.since;
  }

  #swap(a: number, b: number): void {
    const one = this.#items[a];
    const other = this.#items[b];
    if (one === undefined || other === undefined) return;
    this.#items[a] = other;
    this.#items[b] = one;
  }
}
