import { UpstreamError } from '../api/types.ts';
import { GROUP_OF, type Entity, type Kind } from './entity.ts';
import type { Failed, Kinds } from './kinds.ts';
import type { Limiter, Reservation } from './limiter.ts';
import type { AccountContext } from './selection.ts';
import type { Timetable } from './timetable.ts';

/** Ties, and the first refresh, go in this order. */
const KINDS = Object.keys(GROUP_OF) as readonly Kind[];

/** Never read values are overdue against this interval, whatever their group's: the first refresh is urgent. */
const FIRST_READ_INTERVAL = 60_000;

/** After so many readings in a row that failed altogether, upstream counts as failing until one succeeds. */
const FAILING_AFTER = 3;

/** While upstream fails, this many times the plan's calls are made in a minute at most. */
const CALLS_WHILE_FAILING = 2;

/** A call that may start now: the place it has, and the entities of one kind that it reads. */
export interface Call {
  readonly place: Reservation;
  readonly entities: readonly Entity[];
  readonly isSuspect: boolean;
}

/** An entity that waits, since when it is due, and whether its call may hang. It has left once it waits no longer. */
interface QueuedEntity {
  readonly entity: Entity;
  readonly since: number;
  readonly isSuspect: boolean;
  hasLeft: boolean;
}

/**
 * The entities that wait for their turn: most overdue first, as time overdue divided by their interval. A line is in the order
 * in which its entities became due, and only the first of each line are compared: but for queries, all of a kind share the
 * interval of their group.
 *
 * Suspect is what may hang: what failed, and hosts that were never read while their application was not answered either.
 * What failed goes after all healthy work that is due; only once it has waited for an interval, as long as anything waits
 * between two reads, it competes with it, so that it does not starve where the queue never runs empty.
 */
export class Queue {
  readonly #context: Readonly<AccountContext>;
  readonly #kinds: Kinds;
  readonly #timetable: Timetable;
  readonly #limiter: Limiter;
  readonly #lines = new Map(KINDS.map((kind) => [kind, { healthy: new Line(), suspect: new Line() }]));
  readonly #waiting = new Map<Entity, QueuedEntity>();
  /** How many entities the last call of a kind carried. */
  readonly #carried = new Map<Kind, number>();
  /** Calls under way that may hang, and how many of those in a row ended well. */
  #suspectsRunning = 0;
  #suspectsWell = 0;
  /** Readings in a row that failed altogether. */
  #failedInRow = 0;

  constructor(context: Readonly<AccountContext>, kinds: Kinds, timetable: Timetable, limiter: Limiter) {
    this.#context = context;
    this.#kinds = kinds;
    this.#timetable = timetable;
    this.#limiter = limiter;
  }

  /** How many entities wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Queues an entity; one that waits already goes to the line where it belongs now. */
  add(entity: Entity): void {
    this.remove(entity);
    const since =
      entity.failures > 0
        ? entity.retryAt
        : entity.held === undefined
          ? entity.firstSeen
          : this.#timetable.dueAt(entity);
    const isSuspect = entity.failures > 0 || this.#kinds.isDoubtful(entity);
    const waiting = { entity, since, isSuspect, hasLeft: false };
    this.#waiting.set(entity, waiting);
    this.#linesOf(entity.kind)[isSuspect ? 'suspect' : 'healthy'].add(waiting);
  }

  /** An entity waits no longer. */
  remove(entity: Entity): void {
    const waiting = this.#waiting.get(entity);
    if (waiting === undefined) return;
    waiting.hasLeft = true;
    this.#waiting.delete(entity);
  }

  /** Empties the queue; what waited. */
  clear(): readonly Entity[] {
    const entities = [...this.#waiting.keys()];
    for (const entity of entities) this.remove(entity);
    return entities;
  }

  /**
   * Takes the entities of the next call off the queue, and a place for it; undefined while nothing may start.
   *
   * @param companions further due entities of a kind that are not queued, for a call that has room
   */
  take(companions: (kind: Kind) => readonly Entity[]): Call | undefined {
    const first = this.#first(this.#context.clock.monotonic());
    if (first === undefined) return undefined;
    const { entity, isSuspect } = first;
    // Where the budget cannot carry everything at its interval, what is read again is spread over the minute: what a burst at
    // its beginning left would wait for the next, twice as long as was promised.
    const isSpread = this.#timetable.plan.stretch > 1 && entity.held !== undefined;
    const place = this.#limiter.reserve(isSpread);
    if (place === undefined) return undefined;
    const entities = this.#fill(first, companions);
    for (const each of entities) this.remove(each);
    this.#carried.set(entity.kind, entities.length);
    if (isSuspect) this.#suspectsRunning += 1;
    return { place, entities, isSuspect };
  }

  /** A call has ended; gives its place back. */
  ended({ place, isSuspect }: Call, results: readonly (number | Failed)[]): void {
    place.cancel();
    const isWell = (result: number | Failed): boolean => typeof result === 'number';
    if (isSuspect) {
      this.#suspectsRunning -= 1;
      this.#suspectsWell = results.every(isWell) ? this.#suspectsWell + 1 : 0;
    }
    if (results.some(isWell)) {
      this.#failedInRow = 0;
      if (place.calls.count > 0) this.#limiter.learn(place.calls);
    } else if (!results.some(isOverload)) {
      this.#failedInRow += 1;
    }
  }

  /** Nothing is known of upstream any more: the key is another one. */
  forgetFailures(): void {
    this.#failedInRow = 0;
  }

  /** What comes next: the most overdue, as the class says. */
  #first(now: number): QueuedEntity | undefined {
    const maySuspect = this.#maySuspect;
    const rivals: { readonly waiting: QueuedEntity; readonly overdue: number }[] = [];
    let longestFailed: QueuedEntity | undefined;
    for (const kind of KINDS) {
      const { healthy, suspect } = this.#linesOf(kind);
      const [head] = healthy.first(1);
      const [suspected] = maySuspect ? suspect.first(1) : [];
      if (head !== undefined) rivals.push({ waiting: head, overdue: this.#overdue(head.entity, now) });
      if (suspected === undefined) continue;
      const { failures, retryAt } = suspected.entity;
      if (failures > 0) {
        if (retryAt < (longestFailed?.entity.retryAt ?? Infinity)) longestFailed = suspected;
        const waited = now - retryAt - this.#timetable.effectiveIntervalOf(suspected.entity);
        const overdue = waited / this.#timetable.intervalOf(suspected.entity);
        if (waited >= 0) rivals.push({ waiting: suspected, overdue });
      } else if (head === undefined || head.entity.held !== undefined) {
        // Hosts that were never read go behind the others of their kind.
        rivals.push({ waiting: suspected, overdue: this.#overdue(suspected.entity, now) });
      }
    }
    let [best] = rivals;
    // Strictly more: ties stay with the kind that comes first.
    for (const rival of rivals) if (best !== undefined && rival.overdue > best.overdue) best = rival;
    return best !== undefined && best.overdue >= 0 ? best.waiting : (longestFailed ?? best?.waiting);
  }

  #overdue(entity: Entity, now: number): number {
    if (entity.held === undefined) return (now - entity.firstSeen) / FIRST_READ_INTERVAL;
    return (now - this.#timetable.dueAt(entity)) / this.#timetable.intervalOf(entity);
  }

  /**
   * What may hang never holds every place while healthy work may come: it has at most half of the calls at once (at least
   * one), and one more for each reading in a row that ended well, because what comes back after an outage does not hang.
   * While upstream fails, it is tried only as long as there are few calls in a minute: they tell as well as many do.
   */
  get #maySuspect(): boolean {
    const half = Math.max(1, Math.floor(this.#context.account.limits.max_concurrent_requests / 2));
    if (this.#suspectsRunning >= half + this.#suspectsWell) return false;
    if (this.#failedInRow < FAILING_AFTER) return true;
    const most = Math.max(1, Math.floor(CALLS_WHILE_FAILING * this.#timetable.plan.callsPerMinute));
    return this.#limiter.budget.lastMinute(this.#context.clock.monotonic()) < most;
  }

  /**
   * The entities that a call carries, in the order of their turns: the due ones before those that are early; failed ones only
   * with failed ones, doubtful hosts only with doubtful hosts.
   */
  #fill({ entity: first, isSuspect }: QueuedEntity, companions: (kind: Kind) => readonly Entity[]): readonly Entity[] {
    const window = this.#timetable.moveOn();
    const now = this.#context.clock.monotonic();
    const { healthy, suspect } = this.#linesOf(first.kind);
    const fits = ({ failures, retryAt }: Entity): boolean =>
      !isSuspect || (failures > 0 === first.failures > 0 && retryAt <= now);
    for (let most = (this.#carried.get(first.kind) ?? 1) + 1; ; most *= 2) {
      const line = (isSuspect ? suspect : healthy).first(most).map(({ entity }) => entity);
      const end = line.findIndex((entity) => entity !== first && !fits(entity));
      const candidates = end < 0 ? line : line.slice(0, end);
      const isAll = candidates.length < most;
      if (isAll && !isSuspect) candidates.push(...companions(first.kind));
      const count = this.#kinds.nextCall(candidates, window);
      if (isAll || count < candidates.length) return candidates.slice(0, count);
    }
  }

  #linesOf(kind: Kind): { readonly healthy: Line; readonly suspect: Line } {
    const lines = this.#lines.get(kind);
    if (lines === undefined) throw new Error(`nothing of the kind ${kind} can wait`);
    return lines;
  }
}

/** What waits of one kind: what is due first comes first, and of equal ones what came first. */
class Line {
  #items: QueuedEntity[] = [];
  /** What stands before it has left. */
  #head = 0;
  #isSorted = true;

  add(item: QueuedEntity): void {
    // Nearly always the last: what becomes due later comes later.
    if ((this.#items.at(-1)?.since ?? -Infinity) > item.since) this.#isSorted = false;
    this.#items.push(item);
  }

  /** The first of those that still wait, at most so many. */
  first(count: number): QueuedEntity[] {
    if (!this.#isSorted || this.#head > this.#items.length / 2) {
      const waiting = this.#items.slice(this.#head).filter((item) => !isOver(item));
      this.#items = waiting.sort((a, b) => a.since - b.since);
      this.#head = 0;
      this.#isSorted = true;
    }
    const found: QueuedEntity[] = [];
    for (let index = this.#head; found.length < count; index += 1) {
      const item = this.#items[index];
      if (item === undefined) break;
      if (!isOver(item)) found.push(item);
      else if (index === this.#head) this.#head += 1;
    }
    return found;
  }
}

function isOver({ hasLeft, entity }: QueuedEntity): boolean {
  return hasLeft || entity.gone;
}

function isOverload(result: number | Failed): boolean {
  if (typeof result === 'number' || !(result.error instanceof UpstreamError)) return false;
  return result.error.failure.reason === 'rate_limited';
}
