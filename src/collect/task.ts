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
  counters: 'counters',
  hosts: 'hosts',
  host_rolling: 'hosts',
  host_metrics: 'host_metrics',
  instances: 'instances',
  entities: 'entities',
  golden_metrics: 'golden_metrics',
  queries: 'queries',
} as const satisfies Readonly<Record<string, Group>>;

/** What a task is read as. */
export type Kind = keyof typeof GROUP_OF;

/** What a task is about: a list of the account has no id. */
export interface Subject {
  readonly applicationId?: number | undefined;
  readonly hostKey?: string | undefined;
  readonly keyTransactionId?: number | undefined;
  /** A type of entities, and one of them. */
  readonly entityType?: string | undefined;
  readonly entityGuid?: string | undefined;
  /** The name of a query. */
  readonly query?: string | undefined;
}

/** When something was read, and for which window. Times of the monotonic clock are in milliseconds. */
export interface ReadTimes {
  /** End of the window, Unix seconds. */
  readonly windowEnd: number;
  /** When that window could first be read, by the monotonic clock; a reload may change the delay. */
  readableAt: number;
  /** When the answer arrived, by the monotonic clock. */
  readonly readAt: number;
  /** The same as Unix milliseconds, only to be shown. */
  readonly shownAt: number;
  /** When it is due again, by the monotonic clock. A change of pace moves it as long as it lies ahead, never into the past. */
  dueAt: number;
  /** The effective interval that `dueAt` was calculated with, in milliseconds. */
  interval: number;
}

/**
 * Something that is read as a whole: a list, or the data of an application, a host or a key transaction. It is read by
 * at most one call at a time, which everybody who wants it shares. This object is the state of its reading; the values
 * that arrive are in the inventory's records. Times are milliseconds of the monotonic clock.
 */
export class Task {
  readonly kind: Kind;
  readonly group: Group;
  readonly subject: Subject;
  /** When it became known; what was never read is overdue since then. */
  readonly firstSeen: number;
  /** How often it is read, in milliseconds; undefined: as often as its group. */
  interval: number | undefined;
  state: 'idle' | 'queued' | 'running' = 'idle';
  /** When it was last read well, and for which window. */
  lastRead: ReadTimes | undefined;
  /** Failed attempts in a row. */
  failures = 0;
  /** A failed task is left alone until then. */
  retryAt = -Infinity;
  /**
   * Why the last attempt failed: the reason as metrics name it, and in words; and when the first of the failed attempts in a
   * row ended. Undefined when the last one did not fail.
   */
  problem: { readonly reason: FailureReason; readonly text: string; readonly since: number } | undefined;
  /** Why a part of it could not be read when the last attempt succeeded otherwise. */
  partial: { readonly reason: FailureReason; readonly text: string } | undefined;
  /** When the last attempt started. */
  startedAt = -Infinity;
  /** How many seconds the last attempt took. */
  seconds: number | undefined;
  /** True when it must be read again whatever its interval says. */
  overdue = false;
  /** True once it has left the inventory; a result that still arrives is dropped. */
  gone = false;
  /** When a scrape, a probe or the background timer last asked for it. */
  requestedAt = -Infinity;
  /** Since when upstream says that it does not exist. */
  unknownSince: number | undefined;
  #wasOverdue = false;

  constructor(kind: Kind, subject: Subject, firstSeen: number) {
    this.kind = kind;
    this.group = GROUP_OF[kind];
    this.subject = subject;
    this.firstSeen = firstSeen;
  }

  /** True once it has been tried, well or not. */
  get tried(): boolean {
    return this.lastRead !== undefined || this.failures > 0;
  }

  /** An attempt begins. */
  begin(now: number): void {
    this.state = 'running';
    this.startedAt = now;
    // What makes it overdue from here on (a reload) is not answered by this attempt.
    this.#wasOverdue = this.overdue;
    this.partial = undefined;
    this.overdue = false;
  }

  /** The attempt ended well. */
  succeed(lastRead: ReadTimes): void {
    this.#end(lastRead.readAt);
    this.lastRead = lastRead;
    this.failures = 0;
    this.retryAt = -Infinity;
    this.problem = undefined;
    this.unknownSince = undefined;
  }

  /** The attempt failed at `now`; what was held stays held. */
  fail(reason: FailureReason, text: string, now: number): void {
    this.#end(now);
    this.failures += 1;
    this.problem = { reason, text, since: this.problem?.since ?? now };
    this.overdue ||= this.#wasOverdue;
  }

  #end(now: number): void {
    this.state = 'idle';
    this.seconds = Math.max(0, now - this.startedAt) / 1000;
  }
}
