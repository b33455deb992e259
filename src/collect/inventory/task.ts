import type { FailureReason } from '../../api/upstreamError.ts';
import type { Clock } from '../../eventLoop/clock.ts';
import { MINUTE_MS } from '../../formulas/units.ts';
import { APPLICATION_KINDS, READS, type Group, type Kind } from '../../reads/reads.ts';

/** A list of the account has an empty subject; a list of entities has only `entityType`. */
export interface Subject {
  readonly applicationId?: number | undefined;
  readonly hostKey?: string | undefined;
  readonly keyTransactionId?: number | undefined;
  readonly entityType?: string | undefined;
  readonly entityGuid?: string | undefined;
  readonly query?: string | undefined;
}

/** The times of a successful read. Without another unit, in milliseconds of the monotonic clock. */
export interface ReadTimes {
  /** The end of the window, as it would be without the task's own `delay`; Unix seconds. */
  readonly windowEnd: number;
  /** End of the window of the data, in Unix seconds. */
  readonly dataEnd: number;
  /** When the window became readable. A reload that changes the delay moves this time. */
  readableAt: number;
  /** When the response arrived; `shownAt` by the wall clock, in Unix milliseconds. */
  readonly readAt: number;
  readonly shownAt: number;
  /** The next due time. A changed interval or delay moves a due time in the future, never into the past. */
  dueAt: number;
  /** The effective interval behind `dueAt`, in milliseconds. */
  interval: number;
}

export type TaskState = 'fresh' | 'stale' | 'missing';

/** Milliseconds of the monotonic clock. `asOf`, the start of a scrape, decides freshness; `now` decides `max_age`. */
export interface EvaluationTime {
  readonly asOf: number;
  readonly now: number;
}

/** A subject and a kind to read again and again. Times are milliseconds of the monotonic clock. */
export class Task {
  readonly kind: Kind;
  readonly group: Group;
  readonly subject: Subject;
  /** A task that was never read is overdue since this time. */
  readonly firstSeen: number;
  /** Milliseconds; undefined for the interval of its group. */
  interval: number | undefined;
  /** Seconds by which its window ends before the common window. */
  endsBefore = 0;
  state: 'idle' | 'queued' | 'running' = 'idle';
  lastRead: ReadTimes | undefined;
  failures = 0;
  retryAt = -Infinity;
  /** The last failure; undefined after a success. `since` is the end of the first failed attempt in a row. */
  problem: { readonly reason: FailureReason; readonly text: string; readonly since: number } | undefined;
  /** Why a part could not be read although the last attempt succeeded. */
  partial: { readonly reason: FailureReason; readonly text: string } | undefined;
  startedAt = -Infinity;
  /** The duration of the last attempt, in seconds. */
  seconds: number | undefined;
  /** True when the task must not wait for the end of its interval. */
  overdue = false;
  /** True after the inventory removed the task. A late result is dropped. */
  gone = false;
  /** When a scrape, a probe or the timer last requested the task. */
  requestedAt = -Infinity;
  /** When New Relic first answered that the subject does not exist. */
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

  /** Sets an interval and a delay of its own, in milliseconds. */
  setPace(
    { interval, delay }: { readonly interval: number; readonly delay?: number | undefined },
    commonDelay: number,
  ): void {
    this.interval = interval;
    this.endsBefore = endsBefore(delay, commonDelay);
  }

  begin(now: number): void {
    this.state = 'running';
    this.startedAt = now;
    // A reload during this attempt makes the task overdue again, because the attempt uses the old configuration.
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

/** Returns the seconds, in whole minutes, by which a window ends before the common one. Delays are milliseconds. */
export function endsBefore(delay: number | undefined, commonDelay: number): number {
  return delay === undefined ? 0 : (Math.ceil((delay - commonDelay) / MINUTE_MS) * MINUTE_MS) / 1000;
}

export type Tasks = Readonly<Partial<Record<Kind, Task>>>;

export class TaskStore {
  readonly #clock: Clock;
  readonly #removed: Task[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  make(kind: Kind, subject: Subject): Task {
    return new Task(kind, subject, this.#clock.monotonic());
  }

  /** Returns the previous task, or a new task, if the task is wanted. Otherwise removes the previous task. */
  keep(isWanted: boolean, before: Task | undefined, kind: Kind, subject: Subject): Task | undefined {
    if (!isWanted && before !== undefined) this.remove([before]);
    return isWanted ? (before ?? this.make(kind, subject)) : undefined;
  }

  keepAll(before: Tasks, subject: Subject, isWanted: (group: Group) => boolean): Tasks {
    const tasks: Partial<Record<Kind, Task>> = {};
    for (const kind of APPLICATION_KINDS) {
      const task = this.keep(isWanted(READS[kind].group), before[kind], kind, subject);
      if (task !== undefined) tasks[kind] = task;
    }
    return tasks;
  }

  /**
   * Makes the records of a complete list from the previous ones. Removes the tasks of entries that the list no longer
   * has. A list that changed between two pages may have an entry twice; the last one counts.
   */
  sync<Key, Entry, Row>(
    before: ReadonlyMap<Key, Row>,
    list: Iterable<Entry>,
    keyOf: (entry: Entry) => Key,
    makeRecord: (entry: Entry, before: Row | undefined) => Row,
    tasksOf: (record: Row) => Iterable<Task>,
  ): ReadonlyMap<Key, Row> {
    const next = new Map<Key, Row>();
    for (const entry of list) {
      const key = keyOf(entry);
      next.set(key, makeRecord(entry, next.get(key) ?? before.get(key)));
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

  takeRemoved(): readonly Task[] {
    return this.#removed.splice(0);
  }
}
