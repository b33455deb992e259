import type { Entity, Kind } from './entity.ts';
import { type EntityRead, outcomesOf, takeOver, type Failed } from './kinds.ts';
import { type Timing, DueQueue } from './queue.ts';
import type { CurrentWindow } from './timetable.ts';
import type { Gate, CallOptions } from '../api/reader.ts';
import type { Clock } from './clock.ts';
import { firstTurn, nextTurn } from '../eventLoop/turns.ts';
import { Budget } from './budget.ts';
import { CallGate, type Reservation, type SharedPlaces } from './limiter.ts';

/** How an attempt to read an entity ended: well, with an error, or before it began. */
type Ending =
  { readonly kind: 'read' } | { readonly kind: 'failed'; readonly error: unknown } | { readonly kind: 'not_started' };

/** An entity whose turn is over. */
export interface Ended {
  readonly entity: Entity;
  readonly ending: Ending;
}

/** What the scheduler needs to know, and whom it tells. */
interface SchedulerHooks extends Timing {
  /** The window that work starting now is done for. */
  window(): CurrentWindow;
  /** How entities of a kind are read. */
  read(kind: Kind): EntityRead;
  /** Due entities that nobody waits for, which a call for entities of the same kind may carry. */
  companions(kind: Kind): Iterable<Entity>;
  /** False for entities that must not start now: their account is refused. */
  mayStart(entity: Entity): boolean;
  /** When an entity that has just failed, reading `window`, may be tried again. */
  retryAt(entity: Entity, window: CurrentWindow): number;
  /** An entity was queued, and later has ended; some end together. */
  queued(entity: Entity): void;
  ended(endings: readonly Ended[]): void;
}

/**
 * How many readings of what may hang are under way, so that they never hold every place while healthy work may come: at
 * most half of the calls at once (at least one), and one more for each in a row that ended well, because what comes back
 * after an outage does not hang.
 */
export class RiskyReadings {
  #running = 0;
  #endedWell = 0;

  /** @param places how many calls are made at once */
  mayBegin(places: number): boolean {
    return this.#running < Math.max(1, Math.floor(places / 2)) + this.#endedWell;
  }

  begin(): void {
    this.#running += 1;
  }

  /** @param well false when anything that was read failed */
  end(well: boolean): void {
    this.#running -= 1;
    this.#endedWell = well ? this.#endedWell + 1 : 0;
  }
}

/** How much the newest reading counts in the average duration of a call. */
const NEWEST_SHARE = 0.1;

/** The calls of one reading: how many have ended, how long they took together, and when the last of them began. */
interface CallTally {
  count: number;
  ms: number;
  lastStart: number;
}

/** Counts the calls of an account and measures how long they take. All times are milliseconds of the monotonic clock. */
export class CallMeter {
  readonly #clock: Clock;
  #averageCall: number | undefined;
  #lastProgress: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastProgress = clock.monotonic();
  }

  /** Moving average of how long a call that ended well took, in milliseconds; undefined before the first. */
  get averageCall(): number | undefined {
    return this.#averageCall;
  }

  /** When a call last started or ended, or work came after there was none. */
  get lastProgress(): number {
    return this.#lastProgress;
  }

  /** Work came after there was none: time without calls counts from now on. */
  workBegins(): void {
    this.#lastProgress = this.#clock.monotonic();
  }

  /** The same gate; its calls are counted in `tally`. */
  watch(gate: Gate, tally: CallTally): Gate {
    return {
      enter: async (signal) => {
        const release = await gate.enter(signal);
        const startedAt = this.#clock.monotonic();
        this.#lastProgress = startedAt;
        return (overload) => {
          const now = this.#clock.monotonic();
          this.#lastProgress = now;
          tally.count += 1;
          tally.ms += now - startedAt;
          tally.lastStart = startedAt;
          release(overload);
        };
      },
    };
  }

  /** Takes the calls of a reading that ended well, at least one, into the average. */
  learn({ count, ms }: CallTally): void {
    const newest = ms / count;
    this.#averageCall ??= newest;
    this.#averageCall += (newest - this.#averageCall) * NEWEST_SHARE;
  }
}

/** Without a start or an end of a call for this long, and two request timeouts, the scheduler hangs. */
const STUCK_AFTER = 120_000;

/** So many calls start before other work gets its turn: each may open a connection. */
const STARTS_PER_TURN = 8;

/** What one reading of may bring thousands of entities. */
const LISTS: ReadonlySet<Kind> = new Set<Kind>(['applications', 'key_transactions']);

/** An account's limits: calls per minute, calls at once, and how long one may take in milliseconds. */
interface Limits {
  readonly requests_per_minute: number;
  readonly max_concurrent_requests: number;
  readonly request_timeout: number;
}

/**
 * Reads due entities under one account's budget, most overdue first, as many with one call as it carries, each by at most
 * one call at a time. It knows nothing of what is read. All times are milliseconds of the monotonic clock.
 */
export class Scheduler {
  readonly budget: Budget;
  readonly #gate: CallGate;
  readonly #queue: DueQueue;
  readonly #meter: CallMeter;
  readonly #clock: Clock;
  readonly #hooks: SchedulerHooks;
  /** What is being read, each with a signal of its own: on one for all, listeners that are gone would keep later ones alive. */
  readonly #running = new Set<AbortController>();
  readonly #risky = new RiskyReadings();
  #stopped = false;
  #limits: Limits;
  #pumping = false;
  #holds = 0;

  constructor(limits: Limits, clock: Clock, hooks: SchedulerHooks) {
    this.#limits = limits;
    this.budget = new Budget(limits.requests_per_minute);
    this.#clock = clock;
    this.#hooks = hooks;
    this.#queue = new DueQueue(hooks);
    this.#gate = new CallGate(this.budget, clock, limits.max_concurrent_requests, () => this.pump());
    this.#meter = new CallMeter(clock);
  }

  /** Grants calls of work that is not queued here, under the same budget. */
  get gate(): Gate {
    return this.#gate;
  }

  /** Moving average of how long a call that ended well took, in milliseconds; undefined before the first. */
  get averageCall(): number | undefined {
    return this.#meter.averageCall;
  }

  /** Changes the limits (reload). */
  resize(limits: Limits): void {
    this.#limits = limits;
    this.budget.resize(limits.requests_per_minute);
    this.#gate.resize(limits.max_concurrent_requests);
    this.pump();
  }

  /** Calls take a place of these, too; undefined: only the account's own limit holds. */
  share(places: SharedPlaces | undefined): void {
    this.#gate.share(places);
  }

  /** Queues an entity that is neither waiting nor being read; `pump` starts it. */
  enqueue(entity: Entity): void {
    if (entity.state !== 'idle' || entity.gone) return;
    entity.queue();
    if (this.#queue.size === 0 && this.#running.size === 0) this.#meter.workBegins();
    this.#queue.add(entity);
    this.#hooks.queued(entity);
  }

  /** No queued entity is read until all who hold the queue have called what this gives them. */
  hold(): () => void {
    this.#holds += 1;
    return () => {
      this.#holds -= 1;
      this.pump();
    };
  }

  /** Starts as many calls as places and budget allow, some in a turn. Called whenever either may have changed. */
  pump(): void {
    if (this.#pumping || this.#stopped) return;
    this.#pumping = true;
    try {
      for (let started = 0; this.#holds === 0; started += 1) {
        if (started === STARTS_PER_TURN) {
          void firstTurn().then(() => this.pump());
          break;
        }
        const mayBeRisky = this.#risky.mayBegin(this.#limits.max_concurrent_requests);
        if ((mayBeRisky ? this.#queue.size : this.#queue.sizeWithoutRisky) === 0) break;
        const reservation = this.#gate.reserve();
        if (reservation === undefined) break;
        const first = this.#next(mayBeRisky);
        if (first === undefined) reservation.cancel();
        else void this.#run(first, reservation);
      }
    } finally {
      this.#pumping = false;
    }
    this.#gate.admit();
  }

  /**
   * True when work can end before `deadline`, by budget, pause and usual pace.
   *
   * @param calls how many calls the work takes that waits or is under way
   */
  canEnd(calls: number, deadline: number): boolean {
    const now = this.#clock.monotonic();
    const waiting = Math.min(calls, this.#queue.size + this.#gate.waiting);
    if (waiting > 0 && waiting > this.budget.freeBy(now, deadline)) return false;
    const rounds = Math.floor(calls / this.#limits.max_concurrent_requests);
    return now + rounds * (this.#meter.averageCall ?? 0) <= deadline;
  }

  /** False when work could go on and has not for minutes. A pause or a spent budget is no reason. */
  progressing(): boolean {
    if (this.#queue.size === 0 && this.#running.size === 0) return true;
    const now = this.#clock.monotonic();
    if (this.budget.inFlight === 0 && this.budget.nextStart(now) !== now) return true;
    const since = Math.max(this.#meter.lastProgress, Math.min(now, this.budget.lastPauseEnd));
    return now - since < STUCK_AFTER + 2 * this.#limits.request_timeout;
  }

  /** Ends for good: nothing starts any more, calls in flight are aborted, and nobody is told of their end. */
  stop(): void {
    this.#stopped = true;
    const reason = new Error('the exporter no longer reads this account');
    for (const controller of this.#running) controller.abort(reason);
    this.#gate.close();
  }

  /** Takes the next entity that may start; those that may not are dropped. */
  #next(mayBeRisky: boolean): Entity | undefined {
    for (;;) {
      const entity = this.#queue.take(this.#clock.monotonic(), mayBeRisky);
      if (entity === undefined || this.#hooks.mayStart(entity)) return entity;
      entity.unqueue();
      this.#hooks.ended([{ entity, ending: { kind: 'not_started' } }]);
    }
  }

  /** The entities that one call carries, `first` among them. */
  #fill(read: EntityRead, first: Entity, window: CurrentWindow): Entity[] {
    const entities = [first];
    const accept = (entity: Entity): boolean => {
      if (read.nextCall([...entities, entity], window).count <= entities.length) return false;
      entities.push(entity);
      return true;
    };
    const hasRoom = this.#queue.takeWith(first, this.#clock.monotonic(), accept);
    if (!hasRoom || first.failures > 0) return entities;
    for (const entity of this.#hooks.companions(first.kind)) {
      if (!accept(entity)) break;
      entity.queue();
      this.#hooks.queued(entity);
    }
    return entities;
  }

  async #run(first: Entity, reservation: Reservation): Promise<void> {
    const window = this.#hooks.window();
    const read = this.#hooks.read(first.kind);
    const entities = this.#fill(read, first, window);
    const risky = this.#queue.isRisky(first);
    if (risky) this.#risky.begin();
    const firstReads = entities.filter(({ held }) => held === undefined);
    const startedAt = this.#clock.monotonic();
    for (const entity of entities) entity.begin(startedAt);
    const controller = new AbortController();
    this.#running.add(controller);
    const tally: CallTally = { count: 0, ms: 0, lastStart: 0 };
    const call: CallOptions = { signal: controller.signal, gate: this.#meter.watch(reservation.gate, tally) };
    // To ask for many, and to start what they bring, takes a while: each in a turn of its own.
    const many = entities.length > 1;
    if (many) await firstTurn();
    const outcomes = await outcomesOf(read, entities, window, call);
    reservation.cancel();
    this.#running.delete(controller);
    const failures = await takeOver(entities, outcomes, () => this.#stopped);
    // A list brings thousands of entities: they are queued in a turn of their own.
    if (LISTS.has(first.kind)) await nextTurn();
    if (this.#stopped) return;
    // All end together: what becomes due because of them is then there as a whole, and calls for it are filled.
    const ended = entities.map((entity, index) => ({ entity, ending: this.#end(entity, failures[index], window) }));
    if (risky) this.#risky.end(ended.every(({ ending }) => ending.kind === 'read'));
    // An application is answered for the first time: its hosts that wait are doubtful no longer.
    const answered = firstReads.some(({ kind, held }) => kind === 'application_metrics' && held !== undefined);
    if (answered) this.#queue.reconsider();
    if (tally.count > 0 && ended.some(({ ending }) => ending.kind === 'read')) {
      this.#meter.learn(tally);
      this.budget.accepted(tally.lastStart);
    }
    this.#hooks.ended(ended);
    if (many) await firstTurn();
    this.pump();
  }

  #end(entity: Entity, failed: Failed | undefined, window: CurrentWindow): Ending {
    const now = this.#clock.monotonic();
    if (failed === undefined) {
      entity.succeed({
        windowEnd: window.to,
        windowStart: window.readableAt,
        readAt: now,
        shownAt: this.#clock.now(),
      });
      return { kind: 'read' };
    }
    const { error } = failed;
    entity.fail(error instanceof Error ? error.message : String(error), now);
    entity.waitUntil(this.#hooks.retryAt(entity, window));
    return { kind: 'failed', error };
  }
}
