import type { Clock } from './clock.ts';
import type { Entity, Kind } from './entity.ts';
import type { Failed, Kinds } from './kinds.ts';
import type { Limiter, Reservation } from './limiter.ts';
import { Queue } from './queue.ts';
import type { AccountContext } from './scope.ts';
import type { Timetable } from './timetable.ts';
import { UpstreamError } from '../api/types.ts';

/** After so many readings in a row that failed altogether, upstream counts as failing until one succeeds. */
const FAILING_AFTER = 3;

/** While upstream fails, this many times the plan's calls are made in a minute at most. */
const CALLS_WHILE_FAILING = 2;

/** A call that may start now: the place it has, and the entities of one kind that it reads. */
export interface NextCall {
  readonly place: Reservation;
  readonly entities: readonly Entity[];
  /** True when it may hang. */
  readonly isSuspect: boolean;
}

/** Decides which call starts next, and with which entities, by the queue, the limiter, and what is known of upstream. */
export class NextCalls {
  readonly queue: Queue;
  readonly #context: Readonly<AccountContext>;
  readonly #clock: Clock;
  readonly #kinds: Kinds;
  readonly #timetable: Timetable;
  readonly #limiter: Limiter;
  /** How many entities the last call of a kind carried. */
  readonly #carried = new Map<Kind, number>();
  /** Calls under way that may hang, and how many of those in a row ended well. */
  #suspectsRunning = 0;
  #suspectsWell = 0;
  /** Readings in a row that failed altogether. */
  #failedInRow = 0;

  constructor(context: Readonly<AccountContext>, clock: Clock, kinds: Kinds, timetable: Timetable, limiter: Limiter) {
    this.queue = new Queue(timetable);
    this.#context = context;
    this.#clock = clock;
    this.#kinds = kinds;
    this.#timetable = timetable;
    this.#limiter = limiter;
  }

  /**
   * Takes the entities of the next call off the queue, and a place for it; undefined while nothing may start.
   *
   * @param companions further due entities of a kind that are not queued, for a call that has room
   */
  take(companions: (kind: Kind) => readonly Entity[]): NextCall | undefined {
    const now = this.#clock.monotonic();
    const first = this.queue.first(now, this.#maySuspect);
    if (first === undefined) return undefined;
    // Where the budget cannot carry everything at its interval, what is read again is spread over the minute: what a burst at
    // its beginning left would wait for the next, twice as long as was promised.
    const isSpread = this.#timetable.plan.stretch > 1 && first.held !== undefined;
    const place = this.#limiter.reserve(isSpread);
    if (place === undefined) return undefined;
    const isSuspect = this.queue.isSuspect(first);
    const entities = this.#fill(first, isSuspect ? undefined : companions);
    for (const entity of entities) this.queue.remove(entity);
    if (isSuspect) this.#suspectsRunning += 1;
    return { place, entities, isSuspect };
  }

  /** A call has ended; gives its place back. */
  ended({ place, isSuspect }: NextCall, results: readonly (number | Failed)[]): void {
    place.cancel();
    const isWell = results.every((result) => typeof result === 'number');
    if (isSuspect) {
      this.#suspectsRunning -= 1;
      this.#suspectsWell = isWell ? this.#suspectsWell + 1 : 0;
    }
    if (results.some((result) => typeof result === 'number')) {
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
    return this.#limiter.budget.lastMinute(this.#clock.monotonic()) < most;
  }

  /** The entities that a call carries, of which `first` is one. */
  #fill(first: Entity, companions: ((kind: Kind) => readonly Entity[]) | undefined): readonly Entity[] {
    const window = this.#timetable.moveOn();
    const now = this.#clock.monotonic();
    let most = (this.#carried.get(first.kind) ?? 1) + 1;
    const taken = this.queue.takeWith(first, most, now);
    let fitting = this.#kinds.nextCall(taken, window);
    for (let isAll = false; fitting === taken.length && !isAll;) {
      most *= 2;
      const more = this.queue.takeWith(first, most, now);
      isAll = more.length === 0;
      if (isAll) more.push(...(companions?.(first.kind) ?? []));
      taken.push(...more);
      fitting = this.#kinds.nextCall(taken, window);
    }
    this.queue.putBack(taken.splice(fitting));
    this.#carried.set(first.kind, taken.length);
    return taken;
  }
}

function isOverload(result: number | Failed): boolean {
  if (typeof result === 'number' || !(result.error instanceof UpstreamError)) return false;
  return result.error.failure.reason === 'rate_limited';
}
