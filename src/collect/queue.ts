import type { Entity, Kind } from './entity.ts';
import type { Group } from '../metrics/sample.ts';

/** A priority queue: gives the smallest item first, and equal ones in the order in which they came. */
export class Heap<T> {
  readonly #items: { readonly key: number; readonly order: number; readonly item: T }[] = [];
  #added = 0;

  get size(): number {
    return this.#items.length;
  }

  /** The first item; undefined when empty. */
  peek(): T | undefined {
    return this.#items[0]?.item;
  }

  push(key: number, item: T): void {
    this.#items.push({ key, order: this.#added, item });
    this.#added += 1;
    let child = this.#items.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#before(child, parent)) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (first === undefined || last === undefined || this.#items.length === 0) return first?.item;
    this.#items[0] = last;
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      const right = left + 1;
      let smallest = parent;
      if (this.#before(left, smallest)) smallest = left;
      if (this.#before(right, smallest)) smallest = right;
      if (smallest === parent) return first.item;
      this.#swap(parent, smallest);
      parent = smallest;
    }
  }

  #before(a: number, b: number): boolean {
    const one = this.#items[a];
    const other = this.#items[b];
    if (one === undefined || other === undefined) return false;
    return one.key === other.key ? one.order < other.order : one.key < other.key;
  }

  #swap(a: number, b: number): void {
    const one = this.#items[a];
    const other = this.#items[b];
    if (one === undefined || other === undefined) return;
    this.#items[a] = other;
    this.#items[b] = one;
  }
}

/** Ties, and the first refresh, go in this order. */
const ORDER: readonly Kind[] = [
  'applications',
  'key_transactions',
  'application_rolling',
  'key_transaction_rolling',
  'metric_names',
  'custom_names',
  'application_metrics',
  'hosts',
  'host_rolling',
  'host_metrics',
  'instances',
];

/** Never read values are overdue against this interval, whatever their group's: the first refresh is urgent. */
const FIRST_READ_INTERVAL = 60_000;

/** When an entity that holds something is due, and the intervals of its group, all in milliseconds. */
export interface Timing {
  dueAt(entity: Entity): number;
  intervalOf(group: Group): number;
  /** The interval that budget and calls at once allow. */
  effectiveIntervalOf(group: Group): number;
  /** True for hosts whose application's own data have not been answered yet: their calls may hang as its calls do. */
  isDoubtful(entity: Entity): boolean;
}

type Lane = Heap<Entity>;
type Lanes = Map<Kind, Lane>;

interface Candidate {
  readonly lane: Lane;
  /** Time overdue divided by the interval; below 0 when not due yet. */
  readonly overdue: number;
}

/**
 * The entities that wait for their turn: most overdue first, as time overdue divided by the interval of their group. What
 * failed goes after all healthy work that is due; only once it has waited for an interval, as long as anything waits
 * between two reads, it competes with it, so that it does not starve where the queue never runs empty.
 *
 * Risky is what may hang: what failed, and doubtful hosts that were never read, which go behind the others of their kind.
 * Whoever takes says whether it may be risky.
 *
 * Within a kind all share one interval, so a kind's order does not change with time and only the kinds' heads are
 * compared.
 */
export class DueQueue {
  readonly #timing: Timing;
  readonly #unread: Lanes = new Map();
  readonly #doubtful: Lanes = new Map();
  readonly #held: Lanes = new Map();
  readonly #failed: Lanes = new Map();

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /** How many entities wait, among them those that are gone and were not passed over yet. */
  get size(): number {
    return this.sizeWithoutRisky + count(this.#failed) + count(this.#doubtful);
  }

  /** As `size`, without what is risky. */
  get sizeWithoutRisky(): number {
    return count(this.#unread) + count(this.#held);
  }

  add(entity: Entity): void {
    const lanes = this.#lanesOf(entity);
    if (lanes === this.#failed) push(lanes, entity.retryAt, entity);
    else if (lanes === this.#held) push(lanes, this.#timing.dueAt(entity), entity);
    else push(lanes, entity.firstSeen, entity);
  }

  /** True for what may hang. */
  isRisky(entity: Entity): boolean {
    const lanes = this.#lanesOf(entity);
    return lanes === this.#failed || lanes === this.#doubtful;
  }

  /** Looks again at what was doubtful: an application's own data have been answered. */
  reconsider(): void {
    const before = [...this.#doubtful.values()];
    this.#doubtful.clear();
    for (const lane of before)
      for (let entity = lane.pop(); entity !== undefined; entity = lane.pop()) this.add(entity);
  }

  /**
   * Takes the entity whose turn it is at `now`; undefined when none is left. Those that are gone are passed over.
   *
   * @param mayBeRisky false: leaves what is risky
   */
  take(now: number, mayBeRisky: boolean): Entity | undefined {
    const best = this.#mostOverdue(now, mayBeRisky);
    if (best !== undefined && best.overdue >= 0) return best.lane.pop();
    return ((mayBeRisky ? this.#longestFailed() : undefined) ?? best?.lane)?.pop();
  }

  /**
   * Takes further entities that may be read together with `first`, as long as `accept` has room for them: those of its
   * kind that are due, failed ones only with failed ones, doubtful ones only with doubtful ones.
   *
   * @returns false when `accept` had no more room
   */
  takeWith(first: Entity, now: number, accept: (entity: Entity) => boolean): boolean {
    const { kind } = first;
    for (const lanes of this.isRisky(first) ? [this.#lanesOf(first)] : [this.#held, this.#unread]) {
      for (let lane = wanted(lanes, kind); lane !== undefined; lane = wanted(lanes, kind)) {
        const head = lane.peek();
        if (head === undefined || !this.#isDue(head, now)) break;
        if (!accept(head)) return false;
        lane.pop();
      }
    }
    return true;
  }

  #lanesOf(entity: Entity): Lanes {
    if (entity.failures > 0) return this.#failed;
    if (entity.held !== undefined) return this.#held;
    return this.#timing.isDoubtful(entity) ? this.#doubtful : this.#unread;
  }

  #isDue(entity: Entity, now: number): boolean {
    return entity.failures > 0 ? entity.retryAt <= now : this.#timing.dueAt(entity) <= now;
  }

  /** Of what failed, the one that may be tried again the longest; ties go in the order of the kinds. */
  #longestFailed(): Lane | undefined {
    let longest: Lane | undefined;
    for (const kind of ORDER) {
      const lane = wanted(this.#failed, kind);
      const retryAt = lane?.peek()?.retryAt ?? Infinity;
      if (retryAt < (longest?.peek()?.retryAt ?? Infinity)) longest = lane;
    }
    return longest;
  }

  #mostOverdue(now: number, mayBeRisky: boolean): Candidate | undefined {
    let best: Candidate | undefined;
    const consider = (lane: Lane | undefined, overdueOf: (head: Entity) => number): void => {
      const head = lane?.peek();
      if (lane === undefined || head === undefined) return;
      const overdue = overdueOf(head);
      // Strictly more: ties stay with the kind that comes first.
      if (best === undefined || overdue > best.overdue) best = { lane, overdue };
    };
    let unreadSeen = false;
    for (const kind of ORDER) {
      // The first refresh goes strictly in the order of the kinds.
      if (!unreadSeen) {
        const unread = wanted(this.#unread, kind) ?? (mayBeRisky ? wanted(this.#doubtful, kind) : undefined);
        consider(unread, ({ firstSeen }) => (now - firstSeen) / FIRST_READ_INTERVAL);
        unreadSeen = unread !== undefined;
      }
      consider(
        wanted(this.#held, kind),
        (head) => (now - this.#timing.dueAt(head)) / this.#timing.intervalOf(head.group),
      );
      if (!mayBeRisky) continue;
      consider(wanted(this.#failed, kind), ({ retryAt, group }) => {
        const waited = now - retryAt - this.#timing.effectiveIntervalOf(group);
        return waited >= 0 ? waited / this.#timing.intervalOf(group) : -Infinity;
      });
    }
    return best;
  }
}

function count(lanes: Lanes): number {
  let size = 0;
  for (const lane of lanes.values()) size += lane.size;
  return size;
}

function push(lanes: Lanes, position: number, entity: Entity): void {
  let lane = lanes.get(entity.kind);
  if (lane === undefined) lanes.set(entity.kind, (lane = new Heap()));
  lane.push(position, entity);
}

/** The kind's lane with a head that is still wanted; undefined when it holds none. */
function wanted(lanes: Lanes, kind: Kind): Lane | undefined {
  const lane = lanes.get(kind);
  if (lane === undefined) return undefined;
  while (lane.peek()?.gone === true) lane.pop();
  return lane.size === 0 ? undefined : lane;
}
