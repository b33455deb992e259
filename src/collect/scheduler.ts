import type { CallOptions, Gate } from '../api/reader.ts';
import { Budget } from './budget.ts';
import type { Clock } from './clock.ts';
import { CallGate, type Reservation } from './gate.ts';
import { DueQueue, type Timing } from './queue.ts';
import type { Unit } from './unit.ts';
import type { Window } from './window.ts';

/** Without a start or an end of a call for this long, and two request timeouts, the scheduler hangs. */
const STUCK_AFTER = 120_000;

/** How much the newest reading counts in the average duration of a call. */
const NEWEST_SHARE = 0.1;

/** An account's limits: calls per minute, calls at once, and how long one may take in milliseconds. */
export interface Limits {
  readonly requests_per_minute: number;
  readonly max_concurrent_requests: number;
  readonly request_timeout: number;
}

/** How an attempt to read a unit ended: well, with an error, or before it began. */
export type Ending =
  { readonly kind: 'read' } | { readonly kind: 'failed'; readonly error: unknown } | { readonly kind: 'not_started' };

/** What the scheduler needs to know, and whom it tells. */
export interface SchedulerHooks extends Timing {
  /** The window that work starting now is done for. */
  window(): Window;
  /** False for units that must not start now: their account is refused. */
  mayStart(unit: Unit): boolean;
  /** When a unit that has just failed, reading `window`, may be tried again, in Unix milliseconds. */
  retryAt(unit: Unit, window: Window): number;
  /** A unit was queued, and later has ended. */
  queued(unit: Unit): void;
  ended(unit: Unit, ending: Ending): void;
}

/**
 * Runs due units under one account's budget, most overdue first, each at most once at a time. It knows nothing of what
 * a unit reads.
 */
export class Scheduler {
  readonly budget: Budget;
  readonly #gate: CallGate;
  readonly #queue: DueQueue;
  readonly #clock: Clock;
  readonly #hooks: SchedulerHooks;
  /** What is being read, each with a signal of its own: on one for all, listeners that are gone would keep later ones alive. */
  readonly #running = new Map<Unit, AbortController>();
  #stopped = false;
  #limits: Limits;
  #pumping = false;
  #lastProgress: number;
  /** Moving average of how long a call of a unit that ended well took, in milliseconds; 0 before the first. */
  #averageCallMs = 0;

  constructor(limits: Limits, clock: Clock, hooks: SchedulerHooks) {
    this.#limits = limits;
    this.budget = new Budget(limits.requests_per_minute);
    this.#clock = clock;
    this.#hooks = hooks;
    this.#queue = new DueQueue(hooks);
    this.#gate = new CallGate(this.budget, clock, limits.max_concurrent_requests, () => this.pump());
    this.#lastProgress = clock.now();
  }

  /** Changes the limits (reload). */
  resize(limits: Limits): void {
    this.#limits = limits;
    this.budget.resize(limits.requests_per_minute);
    this.#gate.resize(limits.max_concurrent_requests);
    this.pump();
  }

  /** Queues a unit that is neither waiting nor running; `pump` starts it. */
  enqueue(unit: Unit): void {
    if (unit.state !== 'idle' || unit.gone) return;
    unit.state = 'queued';
    if (this.#queue.size === 0 && this.#running.size === 0) this.#lastProgress = this.#clock.now();
    this.#queue.add(unit);
    this.#hooks.queued(unit);
  }

  /** Starts as many units as places and budget allow. Called whenever either may have changed. */
  pump(): void {
    if (this.#pumping || this.#stopped) return;
    this.#pumping = true;
    try {
      while (this.#queue.size > 0) {
        const reservation = this.#gate.reserve();
        if (reservation === undefined) break;
        const unit = this.#next();
        if (unit === undefined) reservation.cancel();
        else void this.#run(unit, reservation);
      }
    } finally {
      this.#pumping = false;
    }
    this.#gate.admit();
  }

  /** True when that many units, waiting or running, can end before `deadline`, by budget, pause and usual pace. */
  canEnd(units: number, deadline: number): boolean {
    const now = this.#clock.now();
    const calls = Math.min(units, this.#queue.size + this.#gate.waiting);
    if (calls > 0 && calls > this.budget.freeBy(now, deadline)) return false;
    const rounds = Math.floor(units / this.#limits.max_concurrent_requests);
    return now + rounds * this.#averageCallMs <= deadline;
  }

  /** False when work could go on and has not for minutes. A pause or a spent budget is no reason. */
  progressing(): boolean {
    if (this.#queue.size === 0 && this.#running.size === 0) return true;
    const now = this.#clock.now();
    if (this.budget.inFlight === 0 && this.budget.nextStart(now) !== now) return true;
    const since = Math.max(this.#lastProgress, Math.min(now, this.budget.lastPauseEnd));
    return now - since < STUCK_AFTER + 2 * this.#limits.request_timeout;
  }

  /** The clock was set back: what was to happen later is not put off by as much. */
  clockSetBack(): void {
    const now = this.#clock.now();
    this.budget.clockSetBack(now);
    this.#lastProgress = Math.min(this.#lastProgress, now);
  }

  /** Ends for good: nothing starts any more, calls in flight are aborted, and nobody is told of their end. */
  stop(): void {
    this.#stopped = true;
    const reason = new Error('the exporter no longer reads this account');
    for (const controller of this.#running.values()) controller.abort(reason);
    this.#gate.close();
  }

  /** Takes the next unit that may start; those that may not are dropped. */
  #next(): Unit | undefined {
    for (;;) {
      const unit = this.#queue.take(this.#clock.now());
      if (unit === undefined || this.#hooks.mayStart(unit)) return unit;
      unit.state = 'idle';
      this.#hooks.ended(unit, { kind: 'not_started' });
    }
  }

  async #run(unit: Unit, reservation: Reservation): Promise<void> {
    const window = this.#hooks.window();
    const startedAt = this.#clock.now();
    unit.state = 'running';
    unit.startedAt = startedAt;
    const controller = new AbortController();
    this.#running.set(unit, controller);
    const ending = await this.#attempt(unit, window, reservation, controller.signal);
    reservation.cancel();
    unit.seconds = Math.max(0, this.#clock.now() - startedAt) / 1000;
    unit.state = 'idle';
    this.#running.delete(unit);
    if (this.#stopped) return;
    this.#hooks.ended(unit, ending);
    this.pump();
  }

  async #attempt(unit: Unit, window: Window, reservation: Reservation, signal: AbortSignal): Promise<Ending> {
    const calls = { count: 0, ms: 0, lastStart: 0 };
    try {
      const call: CallOptions = { signal, gate: this.#watched(reservation.gate, calls) };
      await unit.read(window, call, () => this.#clock.now());
      unit.failures = 0;
      unit.problem = undefined;
      if (calls.count > 0) this.#learn(calls.ms / calls.count, calls.lastStart);
      return { kind: 'read' };
    } catch (error) {
      unit.failures += 1;
      unit.problem = error instanceof Error ? error.message : String(error);
      unit.retryAt = this.#hooks.retryAt(unit, window);
      return { kind: 'failed', error };
    }
  }

  #learn(callMs: number, lastStart: number): void {
    const before = this.#averageCallMs === 0 ? callMs : this.#averageCallMs;
    this.#averageCallMs = before + (callMs - before) * NEWEST_SHARE;
    this.budget.accepted(lastStart);
  }

  /** The same gate, with an eye on how many calls are made and how long they take. */
  #watched(gate: Gate, calls: { count: number; ms: number; lastStart: number }): Gate {
    return {
      enter: async (signal) => {
        const release = await gate.enter(signal);
        const startedAt = this.#clock.now();
        this.#lastProgress = startedAt;
        return (overload) => {
          const now = this.#clock.now();
          this.#lastProgress = now;
          calls.count += 1;
          calls.ms += now - startedAt;
          calls.lastStart = startedAt;
          release(overload);
        };
      },
    };
  }
}
