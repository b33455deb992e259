import type { CallOptions } from '../api/reader.ts';
import { Budget } from './budget.ts';
import type { Clock } from './clock.ts';
import { retryDelay } from './due.ts';
import { CallGate } from './gate.ts';
import { DueQueue, type Timing } from './queue.ts';
import type { Unit } from './unit.ts';
import type { Window } from './window.ts';

/** Without a start or an end of work for this long, and two request timeouts, the scheduler hangs. */
const STUCK_AFTER = 120_000;

const NOT_STARTED = new Error('not started: upstream refuses the account');

/** An account's limits: calls per minute, calls at once, and how long one may take in milliseconds. */
export interface Limits {
  readonly requests_per_minute: number;
  readonly max_concurrent_requests: number;
  readonly request_timeout: number;
}

/** What the scheduler needs to know, and whom it tells. */
export interface SchedulerHooks extends Timing {
  /** The window that work starting now is done for. */
  window(): Window;
  /** False for units that must not start now: their account is refused. */
  mayStart(unit: Unit): boolean;
  /** A unit was queued, and later has ended; `error` is undefined when it ended well. */
  queued(unit: Unit): void;
  ended(unit: Unit, error: unknown): void;
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
  readonly #running = new Set<Unit>();
  readonly #stop = new AbortController();
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
    if (this.#pumping || this.#stop.signal.aborted) return;
    this.#pumping = true;
    try {
      for (;;) {
        const reservation = this.#queue.size === 0 ? undefined : this.#gate.reserve();
        if (reservation === undefined) break;
        const unit = this.#next();
        if (unit === undefined) {
          reservation.cancel();
          break;
        }
        void this.#run(unit, reservation);
      }
    } finally {
      this.#pumping = false;
    }
    this.#gate.admit();
  }

  /** Takes the next unit that may start; those that may not are dropped and told as ended. */
  #next(): Unit | undefined {
    for (;;) {
      const unit = this.#queue.take(this.#clock.now());
      if (unit === undefined || this.#hooks.mayStart(unit)) return unit;
      unit.state = 'idle';
      this.#hooks.ended(unit, NOT_STARTED);
    }
  }

  async #run(unit: Unit, reservation: { gate: CallOptions['gate']; cancel: () => void }): Promise<void> {
    unit.state = 'running';
    this.#running.add(unit);
    const startedAt = this.#clock.now();
    this.#lastProgress = startedAt;
    const calls = { count: 0, ms: 0 };
    let error: unknown;
    try {
      const call = { signal: this.#stop.signal, gate: timed(reservation.gate, this.#clock, calls) };
      await unit.read(this.#hooks.window(), call, () => this.#clock.now());
      unit.failures = 0;
      unit.problem = undefined;
      this.#learn(calls);
    } catch (thrown) {
      error = thrown ?? new Error('failed without an error');
      this.#failed(unit, thrown);
    }
    reservation.cancel();
    const now = this.#clock.now();
    unit.seconds = (now - startedAt) / 1000;
    unit.state = 'idle';
    this.#running.delete(unit);
    this.#lastProgress = now;
    this.#hooks.ended(unit, error);
    this.pump();
  }

  #learn(calls: { count: number; ms: number }): void {
    if (calls.count === 0) return;
    const ms = calls.ms / calls.count;
    this.#averageCallMs = this.#averageCallMs === 0 ? ms : this.#averageCallMs * 0.9 + ms * 0.1;
    this.budget.accepted();
  }

  #failed(unit: Unit, thrown: unknown): void {
    const now = this.#clock.now();
    unit.failures += 1;
    unit.retryAt = now + retryDelay(unit.failures, this.#hooks.intervalOf(unit.group));
    unit.problem = thrown instanceof Error ? thrown.message : String(thrown);
  }

  /** True when that many units, waiting or running, can end before `deadline`, by budget, pause and usual pace. */
  canEnd(units: number, deadline: number): boolean {
    const now = this.#clock.now();
    const waiting = Math.min(units, this.#queue.size);
    if (waiting > 0 && waiting > this.budget.freeBy(now, deadline)) return false;
    const rounds = Math.floor(units / this.#limits.max_concurrent_requests);
    return now + rounds * this.#averageCallMs <= deadline;
  }

  /** False when work could go on and has not for minutes. A pause or a spent budget is no reason. */
  progressing(): boolean {
    if (this.#queue.size === 0 && this.#running.size === 0) return true;
    const now = this.#clock.now();
    const open = this.budget.nextStart(now);
    if (this.budget.inFlight === 0 && open !== now) return true;
    return now - this.#lastProgress < STUCK_AFTER + 2 * this.#limits.request_timeout;
  }

  /** Ends for good: nothing starts any more, calls in flight are aborted. */
  stop(): void {
    this.#stop.abort(new Error('the exporter is shutting down'));
    this.#gate.close();
  }
}

/** The same gate, adding up how many calls were made and how long they took. */
function timed(gate: CallOptions['gate'], clock: Clock, calls: { count: number; ms: number }): CallOptions['gate'] {
  return {
    enter: async (signal) => {
      const release = await gate.enter(signal);
      const startedAt = clock.now();
      return (overload) => {
        calls.count += 1;
        calls.ms += clock.now() - startedAt;
        release(overload);
      };
    },
  };
}

