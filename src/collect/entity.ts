import type { FailureReason } from '../api/types.ts';
import type { Group } from '../metrics/sample.ts';

/**
 * The kinds of data, each with the group that it belongs to; ties, and the first refresh, go in this order. Rolling values
 * belong to the group of their list.
 */
export const GROUP_OF = {
  applications: 'applications',
  key_transactions: 'key_transactions',
  application_rolling: 'applications',
  key_transaction_rolling: 'key_transactions',
  metric_names: 'metric_names',
  custom_names: 'custom_metrics',
  application_metrics: 'application_metrics',
  hosts: 'hosts',
  host_rolling: 'hosts',
  host_metrics: 'host_metrics',
  instances: 'instances',
  queries: 'queries',
} as const satisfies Readonly<Record<string, Group>>;

/** What an entity is read as. */
export type Kind = keyof typeof GROUP_OF;

/** What an entity is about: a list of the account has no id. */
export interface Subject {
  readonly applicationId?: number;
  readonly hostKey?: string;
  readonly keyTransactionId?: number;
  /** The name of a query. */
  readonly query?: string;
}

/** When something was read, and for which window. Times of the monotonic clock are in milliseconds. */
export interface HeldTimes {
  /** End of the window, Unix seconds. */
  readonly windowEnd: number;
  /** When that window could first be read, by the monotonic clock. */
  readonly windowStart: number;
  /** When the answer arrived, by the monotonic clock. */
  readonly readAt: number;
  /** The same as Unix milliseconds, only to be shown. */
  readonly shownAt: number;
}

/** Why the last attempt failed: the reason as metrics name it, and in words. */
interface Problem {
  readonly reason: FailureReason;
  readonly text: string;
}

/**
 * Something that is read as a whole: a list, or the data of an application, a host or a key transaction. It is read by
 * at most one call at a time, which everybody who wants it shares. This object owns the state of its reading; the values
 * that arrive are in the inventory's records. Times are milliseconds of the monotonic clock.
 */
export class Entity {
  readonly kind: Kind;
  readonly group: Group;
  readonly subject: Subject;
  /** When it became known; what was never read is overdue since then. */
  readonly firstSeen: number;
  /** How often it is read, in milliseconds; undefined: as often as its group. */
  interval: number | undefined;
  #state: 'idle' | 'queued' | 'running' = 'idle';
  #held: HeldTimes | undefined;
  #failures = 0;
  #retryAt = -Infinity;
  #problem: Problem | undefined;
  #startedAt = -Infinity;
  #seconds: number | undefined;
  #overdue = false;
  #wasOverdue = false;
  #gone = false;
  #askedAt = -Infinity;
  #unknownSince: number | undefined;

  constructor(kind: Kind, subject: Subject, firstSeen: number, interval?: number) {
    this.kind = kind;
    this.group = GROUP_OF[kind];
    this.subject = subject;
    this.firstSeen = firstSeen;
    this.interval = interval;
  }

  get state(): 'idle' | 'queued' | 'running' {
    return this.#state;
  }

  /** When it was last read well, and for which window. */
  get held(): HeldTimes | undefined {
    return this.#held;
  }

  /** Failed attempts in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** A failed entity is left alone until then. */
  get retryAt(): number {
    return this.#retryAt;
  }

  /** Undefined when the last attempt did not fail. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** When the last attempt started. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** How many seconds the last attempt took. */
  get seconds(): number | undefined {
    return this.#seconds;
  }

  /** True when it must be read again whatever its interval says. */
  get overdue(): boolean {
    return this.#overdue;
  }

  /** True once it has left the inventory; a result that still arrives is dropped. */
  get gone(): boolean {
    return this.#gone;
  }

  /** When a scrape, a probe or the background timer last asked for it. */
  get askedAt(): number {
    return this.#askedAt;
  }

  /** True once it has been tried, well or not. */
  get tried(): boolean {
    return this.#held !== undefined || this.#failures > 0;
  }

  ask(now: number): void {
    this.#askedAt = Math.max(this.#askedAt, now);
  }

  /** It waits for its turn. */
  queue(): void {
    this.#state = 'queued';
  }

  /** It leaves the queue without an attempt. */
  unqueue(): void {
    this.#state = 'idle';
  }

  /** An attempt begins. */
  begin(now: number): void {
    this.#state = 'running';
    this.#startedAt = now;
    // What makes it overdue from here on (a reload) is not answered by this attempt.
    this.#wasOverdue = this.#overdue;
    this.#overdue = false;
  }

  /** The attempt ended well. */
  succeed(held: HeldTimes): void {
    this.#end(held.readAt);
    this.#held = held;
    this.#failures = 0;
    this.#retryAt = -Infinity;
    this.#problem = undefined;
    this.#unknownSince = undefined;
  }

  /** The attempt failed at `now`; what was held stays held. */
  fail(problem: Problem, now: number): void {
    this.#end(now);
    this.#failures += 1;
    this.#problem = problem;
    this.#overdue ||= this.#wasOverdue;
  }

  /**
   * Upstream said at `now` that it does not exist.
   *
   * @returns when it said so for the first time since it was last read well
   */
  unknown(now: number): number {
    return (this.#unknownSince ??= now);
  }

  /** Leaves it alone until `time`. */
  waitUntil(time: number): void {
    this.#retryAt = time;
  }

  /** It has to be read again, whatever its interval says. */
  makeOverdue(): void {
    this.#overdue = true;
  }

  /** Windows can be read `ms` later than before (earlier below 0): so could the one that is held. */
  delayChanged(ms: number): void {
    if (this.#held !== undefined) this.#held = { ...this.#held, windowStart: this.#held.windowStart + ms };
  }

  /** It leaves the inventory. */
  retire(): void {
    this.#gone = true;
  }

  #end(now: number): void {
    this.#state = 'idle';
    this.#seconds = Math.max(0, now - this.#startedAt) / 1000;
  }
}
