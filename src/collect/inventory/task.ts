import type { FailureReason } from '../../api/upstreamError.ts';
import type { Clock } from '../../eventLoop/clock.ts';
import { MINUTE_MS } from '../../formulas/units.ts';
import { KINDS, READS, type Group, type Kind } from '../../reads/reads.ts';

export interface Subject {
  readonly applicationId?: number | undefined;
  readonly hostKey?: string | undefined;
  readonly keyTransactionId?: number | undefined;
  /** A type of entities, and the guid of an entity of it. */
  readonly entityType?: string | undefined;
  readonly entityGuid?: string | undefined;
  readonly query?: string | undefined;
}

export interface ReadTimes {
  /** The end with which its window counts, Unix seconds: that of the others, for one with a delay of its own is late on purpose. */
  readonly windowEnd: number;
  /** The end of the window that the data are of, Unix seconds. */
  readonly dataEnd: number;
  /** The time from which that window could be read, by the monotonic clock; a reload that changes the delay moves it. */
  readableAt: number;
  /** The time when the response arrived, by the monotonic clock. */
  readonly readAt: number;
  readonly shownAt: number;
  /** The next due time, by the monotonic clock. A change of pace moves it while it is in the future, never into the past. */
  dueAt: number;
  /** The effective interval that `dueAt` was calculated with, in milliseconds. */
  interval: number;
}

export type TaskState = 'fresh' | 'stale' | 'missing';

/** Milliseconds of the monotonic clock: `asOf`, the start of a scrape, decides what is fresh; `now` what is too old. */
export interface EvaluationTime {
  readonly asOf: number;
  readonly now: number;
}

/**
 * The state of the reads of a list, or of an application, a host, a key transaction, an entity or a query; the values are in the
 * inventory. Times are milliseconds of the monotonic clock.
 */
export class Task {
  readonly kind: Kind;
  readonly group: Group;
  readonly subject: Subject;
  /** The time when it became known; a task that was never read is overdue since then. */
  readonly firstSeen: number;
  /** Its own interval, in milliseconds; undefined for the interval of its group. */
  interval: number | undefined;
  /** Seconds by which its own window ends before the common one. */
  endsBefore = 0;
  state: 'idle' | 'queued' | 'running' = 'idle';
  lastRead: ReadTimes | undefined;
  failures = 0;
  retryAt = -Infinity;
  /** The last failure, unless the last attempt succeeded; `since` is the end of the first of the failed attempts in a row. */
  problem: { readonly reason: FailureReason; readonly text: string; readonly since: number } | undefined;
  /** The reason why a part of it could not be read although the last attempt succeeded. */
  partial: { readonly reason: FailureReason; readonly text: string } | undefined;
  startedAt = -Infinity;
  /** The duration of the last attempt, in seconds. */
  seconds: number | undefined;
  /** True when it must be read again before its interval has passed. */
  overdue = false;
  /** True after the task was removed from the inventory; a result that still arrives is dropped. */
  gone = false;
  /** The time when a scrape, a probe or the background timer last requested it. */
  requestedAt = -Infinity;
  /** The time of the first response that the subject does not exist. */
  unknownSince: number | undefined;
  #wasOverdue = false;

  constructor(kind: Kind, subject: Subject, firstSeen: number) {
    this.kind = kind;
    this.group = READS[kind].group;
    this.subject = subject;
    this.firstSeen = firstSeen;
  }

  get tried(): boolean {
    return this.lastRead !== undefined || this.failures > 0;
  }

  /** Gives it an interval, and a window with a delay of its own, instead of the common ones; milliseconds. */
  setPace(
    { interval, delay }: { readonly interval: number; readonly delay?: number | undefined },
    common: number,
  ): void {
    this.interval = interval;
    this.endsBefore = endsBefore(delay, common);
  }

  begin(now: number): void {
    this.state = 'running';
    this.startedAt = now;
    // A reload during this attempt makes it overdue again, because the attempt uses the old configuration.
    this.#wasOverdue = this.overdue;
    this.partial = undefined;
    this.overdue = false;
  }

  succeed(lastRead: ReadTimes): void {
    this.state = 'idle';
    this.seconds = Math.max(0, lastRead.readAt - this.startedAt) / 1000;
    this.lastRead = lastRead;
    this.failures = 0;
    this.retryAt = -Infinity;
    this.problem = undefined;
    this.unknownSince = undefined;
  }

  fail(reason: FailureReason, text: string, now: number): void {
    this.state = 'idle';
    this.seconds = Math.max(0, now - this.startedAt) / 1000;
    this.failures += 1;
    this.problem = { reason, text, since: this.problem?.since ?? now };
    this.overdue ||= this.#wasOverdue;
  }
}

/** The seconds by which a window with a delay of its own (milliseconds) ends before the common one, in whole minutes. */
export function endsBefore(own: number | undefined, common: number): number {
  return own === undefined ? 0 : (Math.ceil((own - common) / MINUTE_MS) * MINUTE_MS) / 1000;
}

/** Tasks of one subject by their kinds, in the order of the kinds. */
export type Tasks = Readonly<Partial<Record<Kind, Task>>>;

/** Makes and removes the tasks of an account: what stays in a list, or in the configuration, keeps its tasks. */
export class TaskStore {
  readonly #clock: Clock;
  readonly #removed: Task[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  make(kind: Kind, subject: Subject): Task {
    return new Task(kind, subject, this.#clock.monotonic());
  }

  /** The task from before, or a new one, while it is wanted; otherwise undefined. */
  keep(isWanted: boolean, before: Task | undefined, kind: Kind, subject: Subject): Task | undefined {
    if (!isWanted && before !== undefined) this.remove([before]);
    return isWanted ? (before ?? this.make(kind, subject)) : undefined;
  }

  keepAll(before: Tasks, subject: Subject, isWanted: (read: (typeof READS)[Kind]) => boolean): Tasks {
    const tasks: Partial<Record<Kind, Task>> = {};
    for (const kind of KINDS) {
      const task = this.keep(isWanted(READS[kind]), before[kind], kind, subject);
      if (task !== undefined) tasks[kind] = task;
    }
    return tasks;
  }

  /**
   * Makes the records of a complete list from those of before; the tasks of missing entries are removed. An entry that is in the list
   * twice, because the list changed between two of its pages, counts once, in its last form.
   */
  sync<Key, Entry, Row>(
    before: ReadonlyMap<Key, Row>,
    list: Iterable<Entry>,
    keyOf: (entry: Entry) => Key,
    recordOf: (entry: Entry, before: Row | undefined) => Row,
    tasksOf: (record: Row) => Iterable<Task>,
  ): ReadonlyMap<Key, Row> {
    const next = new Map<Key, Row>();
    for (const entry of list) {
      const key = keyOf(entry);
      next.set(key, recordOf(entry, next.get(key) ?? before.get(key)));
    }
    for (const [key, record] of before) if (!next.has(key)) this.remove(tasksOf(record));
    return next;
  }

  remove(tasks: Iterable<Task>): void {
    for (const task of tasks) {
      task.gone = true;
      this.#removed.push(task);
    }
  }

  /** The tasks that were removed since the last call: they are waited for no longer. */
  takeRemoved(): readonly Task[] {
    return this.#removed.splice(0);
  }
}
