import type { Logger } from 'pino';
import type { Group } from '../metrics/sample.ts';
import type { Clock } from './clock.ts';
import type { Task, Kind } from './task.ts';
import type { AccountContext } from './selection.ts';
import type { Schedule } from './schedule.ts';

/** What an answer is about: all of it, some groups, one account, or one application. */
export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: the groups' lists only, as the command line tools need them, no metric data. */
  readonly listsOnly?: boolean;
}

/** What must be kept up to date besides a group itself: the lists its tasks come from. */
const NEEDS: Readonly<Record<Group, readonly Group[]>> = {
  applications: [],
  key_transactions: ['applications'],
  metric_names: ['applications'],
  application_metrics: ['applications', 'metric_names'],
  counters: ['applications'],
  hosts: ['applications'],
  host_metrics: ['applications', 'metric_names', 'hosts'],
  instances: ['applications'],
  custom_metrics: ['applications'],
  entities: [],
  golden_metrics: ['entities'],
  queries: [],
};

/** Custom metrics are read with the data of what they are about. */
const DATA_OF = { application: 'application_metrics', host: 'host_metrics' } as const satisfies Record<string, Group>;

/**
 * What must have been read once: the names a metric data call asks for, and the application's data, which decides the
 * database kind of its hosts.
 */
const NEEDS_ONCE: Readonly<Partial<Record<Group, readonly Group[]>>> = {
  application_metrics: ['custom_metrics'],
  host_metrics: ['application_metrics', 'custom_metrics'],
};

const ROLLING: ReadonlySet<Kind> = new Set<Kind>(['application_rolling', 'host_rolling', 'key_transaction_rolling']);

/**
 * What a scope asks of an account: which groups to keep up to date, which only until they have been tried once, and whose
 * rolling values: not those of groups that are needed for their list only. A group that the account's interface does not have
 * needs nothing.
 */
export function neededGroups(
  { groups, listsOnly }: Pick<Scope, 'groups' | 'listsOnly'>,
  { reader, customMetrics }: Pick<AccountContext, 'reader' | 'customMetrics'>,
) {
  const requested = [...groups].filter((group) => group !== 'metric_names' || reader.datastores !== undefined);
  if (listsOnly === true) return { always: new Set(requested), once: new Set<Group>(), rolling: new Set<Group>() };
  const scopes = groups.has('custom_metrics') ? customMetrics.map(({ definition }) => definition.scope) : [];
  const read = [...new Set([...requested, ...scopes.map((scope) => DATA_OF[scope])])];
  return {
    always: new Set(read.flatMap((group) => [group, ...NEEDS[group]])),
    once: new Set(read.flatMap((group) => NEEDS_ONCE[group] ?? [])),
    rolling: new Set(requested),
  };
}

export type Needs = ReturnType<typeof neededGroups>;

/**
 * True for what the scope's groups are made of, and for what they need to have been read once.
 *
 * @param known true when it has been read once, or tried and given up
 */
export function covers({ always, once, rolling }: Needs, scope: Scope, task: Task, known: boolean): boolean {
  const { group, kind, subject } = task;
  if (ROLLING.has(kind) ? !rolling.has(group) : !always.has(group) && !(once.has(group) && !known)) return false;
  return coversApplication(scope, subject.applicationId);
}

/** The groups whose lists are of the account, not of an application. */
const ACCOUNT_LISTS: ReadonlySet<Group> = new Set<Group>(['applications', 'key_transactions']);

/** True when the scope needs nothing that belongs to an application. */
export function needsAccountListsOnly({ groups, listsOnly }: Scope): boolean {
  return listsOnly === true && [...groups].every((group) => ACCOUNT_LISTS.has(group));
}

/** True when the scope takes in this application; undefined is a list of the whole account. */
export function coversApplication(scope: Scope, applicationId: number | undefined): boolean {
  return scope.applicationId === undefined || applicationId === undefined || scope.applicationId === applicationId;
}

/**
 * One refresh of one account, shared by all that ask for the same scope. It goes on behind when nobody waits any more: what
 * is unlocked by what it has asked for is asked for, too. All times are milliseconds of the monotonic clock.
 */
export class Refresh {
  readonly scope: Scope;
  needs: Needs;
  /** When it was asked for last: what becomes due later is not its work. */
  requestedAt = -Infinity;
  /** How many askings are under way: until they have ended, it is not known what it waits for. */
  requesting = 0;
  /** The window for which all of the scope is being asked for, so that what is added is waited for by all who wait now. */
  requestingAllOf: number | undefined;
  readonly #clock: Clock;
  /** What those who wait for it wait for. It is gone with the last of them; the work goes on. */
  #waiting:
    | {
        readonly since: number;
        readonly pending: Set<Task>;
        readonly byKind: Map<Kind, number>;
        readonly waiters: Set<() => void>;
        tasks: number;
        failed: number;
      }
    | undefined;

  constructor(scope: Scope, context: AccountContext) {
    this.scope = scope;
    this.#clock = context.clock;
    this.needs = neededGroups(scope, context);
  }

  /** The scope as a text: refreshes of one key are one. */
  static keyOf({ groups, applicationId, listsOnly }: Scope): string {
    return JSON.stringify([[...groups].sort(), applicationId, listsOnly]);
  }

  /** Somebody asks for it, for the first time or once more. */
  request(context: Pick<AccountContext, 'reader' | 'customMetrics'>): void {
    this.requestedAt = this.#clock.monotonic();
    this.needs = neededGroups(this.scope, context);
  }

  /** True while somebody waits for it. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined;
  }

  /** True when nothing is left of what somebody waits for. */
  get isOver(): boolean {
    return this.requesting === 0 && (this.#waiting === undefined || this.#waiting.pending.size === 0);
  }

  /** How many tasks of each kind it still waits for. */
  get pendingByKind(): ReadonlyMap<Kind, number> {
    return this.#waiting?.byKind ?? new Map();
  }

  /** It waits for a task. */
  add(task: Task): void {
    const waiting = this.#waiting;
    if (waiting === undefined || waiting.pending.has(task)) return;
    waiting.pending.add(task);
    waiting.byKind.set(task.kind, (waiting.byKind.get(task.kind) ?? 0) + 1);
    waiting.tasks += 1;
  }

  /** A task has ended, or is waited for no longer. */
  ended(task: Task, failed: boolean): void {
    const waiting = this.#waiting;
    if (waiting?.pending.delete(task) !== true) return;
    waiting.byKind.set(task.kind, (waiting.byKind.get(task.kind) ?? 0) - 1);
    if (failed) waiting.failed += 1;
  }

  /** It waits for nothing any more. */
  giveUp(): void {
    this.#waiting?.pending.clear();
  }

  /** Has those who wait look whether they may go. */
  notify(): void {
    for (const look of [...(this.#waiting?.waiters ?? [])]) look();
  }

  /**
   * Waits until it is over, the deadline is reached, the work cannot end before it, or the signal is aborted. What is added
   * from now on is waited for; the caller begins to ask for it at once.
   *
   * @returns whether it is over, and, for the last of those who waited, what it came to
   */
  async wait(deadline: number, canEnd: () => boolean, signal: AbortSignal | undefined) {
    const clock = this.#clock;
    if (this.#waiting === undefined) this.requestingAllOf = undefined;
    const waiting = (this.#waiting ??= {
      since: clock.monotonic(),
      pending: new Set(),
      byKind: new Map(),
      waiters: new Set(),
      tasks: 0,
      failed: 0,
    });
    await new Promise<void>((resolve) => {
      let cancel: (() => void) | undefined;
      const go = (): void => {
        waiting.waiters.delete(look);
        cancel?.();
        signal?.removeEventListener('abort', go);
        resolve();
      };
      // While more is being asked for, nobody knows yet whether it can end.
      const look = (): void => {
        if (this.requesting === 0 && (this.isOver || !canEnd())) go();
      };
      waiting.waiters.add(look);
      signal?.addEventListener('abort', go, { once: true });
      if (deadline !== Infinity) cancel = clock.after(deadline - clock.monotonic(), go);
      if (clock.monotonic() >= deadline || signal?.aborted === true) go();
    });
    const { isOver } = this;
    if (waiting.waiters.size > 0 || this.#waiting !== waiting) return { isOver, summary: undefined };
    this.#waiting = undefined;
    const { tasks, failed, pending, since } = waiting;
    const seconds = Math.max(0, clock.monotonic() - since) / 1000;
    return { isOver, summary: { tasks, failed, left: pending.size, seconds } };
  }
}

/**
 * The log of one account: one line per refresh, and one for each failure of a group, when it begins and when it ends,
 * however many tasks it concerns and however often it is tried.
 */
export class AccountLog {
  readonly #logger: Logger;
  /** The groups that fail: the reasons that the log names since they began to, and those of the last refresh. */
  readonly #failing = new Map<Group, { readonly logged: ReadonlySet<string>; readonly last: ReadonlySet<string> }>();
  #warnings: ReadonlySet<string> = new Set();
  #isRefused = false;
  /** Whether the line of the refusal has been written, and that of its end not yet. */
  #refusalSaid = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** An attempt to read a task failed. */
  failed({ group, subject, problem }: Task): void {
    const { applicationId, hostKey, keyTransactionId } = subject;
    const about = { group, app_id: applicationId, host_id: hostKey, key_transaction_id: keyTransactionId };
    this.#logger.debug({ ...about, problem: problem?.text }, 'An attempt failed');
  }

  /** The refresh of a group has ended, and these tasks fail in it. */
  groupEnded(group: Group, failed: readonly Task[]): void {
    const problems = failed.flatMap(({ problem, partial }) => problem ?? partial ?? []);
    const reasons = new Set<string>(problems.map(({ reason }) => reason));
    const { logged, last } = this.#failing.get(group) ?? { logged: new Set<string>(), last: new Set<string>() };
    const isChanged = last.size > 0 && ![...last].some((reason) => reasons.has(reason));
    for (const reason of reasons) {
      if (logged.has(reason)) continue;
      const alike = problems.filter((problem) => problem.reason === reason);
      const before = isChanged ? { before: [...last].join(', ') } : {};
      const about = { group, reason, ...before, failed: alike.length, problem: alike.at(-1)?.text };
      this.#logger.warn(about, 'Could not be read');
    }
    if (reasons.size > 0) this.#failing.set(group, { logged: new Set([...logged, ...reasons]), last: reasons });
    else if (this.#failing.delete(group)) this.#logger.info({ group, reason: [...logged].join(', ') }, 'Works again');
    this.#endRefusal();
  }

  /** The configuration leaves this group out now: what failed in it is over, without a line. */
  groupDisabled(group: Group): void {
    this.#failing.delete(group);
    this.#endRefusal();
  }

  /** Nobody waits for a refresh any more: all of it has ended, or the rest goes on behind. */
  refreshed(
    applicationId: number | undefined,
    summary: { readonly tasks: number; readonly failed: number; readonly left: number; readonly seconds: number },
  ): void {
    const { tasks, failed, left, seconds } = summary;
    const about = applicationId === undefined ? {} : { app_id: applicationId };
    const counts = { ...about, entities: tasks, failed, left, seconds: Number(seconds.toFixed(3)) };
    // Where nothing was read, in a pause or by tries that fail again, there is nothing to report but the failure, which has its
    // own line. Probes come for every application.
    const level = left + failed === tasks || applicationId !== undefined ? 'debug' : 'info';
    this.#logger[level](counts, left === 0 ? 'Refreshed' : 'Refreshed in part: the rest goes on');
  }

  /**
   * What follows from a refusal; why the account is refused stands in the line of the group that failed. A key that is taken
   * for the list and refused for all else is one refusal, not one for each time the list is read.
   */
  refused(isRefused: boolean): void {
    this.#isRefused = isRefused;
    if (isRefused && !this.#refusalSaid) {
      this.#logger.error(
        'The account is refused: look at its key, the rights of the user of the key, and the region; ' +
          'meanwhile only its application list is read, once per interval',
      );
      this.#refusalSaid = true;
    }
    this.#endRefusal();
  }

  /** New Relic asked for a pause, which is an overload of the account or of its limit. */
  paused(seconds: number): void {
    this.#logger.warn(
      { seconds: Math.ceil(seconds) },
      'New Relic asked us to stop calling: all calls of the account pause; something else may use its limit, too',
    );
  }

  /** Work ended with an error of our own. */
  broke(error: unknown): void {
    this.#logger.error({ err: error }, 'Work on an account was ended by a fault of the exporter: please report it');
  }

  #endRefusal(): void {
    if (this.#isRefused || !this.#refusalSaid) return;
    for (const { last } of this.#failing.values()) if (last.has('auth')) return;
    this.#logger.info('The account is accepted again');
    this.#refusalSaid = false;
  }

  /** The things that somebody should look at, as of now, in sentences; each is written once while it lasts. */
  warnings(warnings: readonly string[]): void {
    for (const warning of warnings) if (!this.#warnings.has(warning)) this.#logger.warn(warning);
    this.#warnings = new Set(warnings);
  }
}

/**
 * Follows the refreshes of one group. A refresh begins with the first task queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports. What
 * failed is held against every refresh until it has been read: a later one that only leaves it out is no success.
 */
export class GroupProgress {
  /** Seconds the last refresh took. */
  seconds: number | undefined;
  /** When a refresh last ended without failure, Unix seconds. */
  lastSuccess: number | undefined;
  readonly #group: Group;
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #log: AccountLog;
  /** Open refreshes by the end of their window: since when, and what is left of them. */
  readonly #open = new Map<number, { readonly startedAt: number; readonly pending: Set<Task> }>();
  /** What was not read at its last attempt. */
  readonly #failing = new Set<Task>();

  constructor(group: Group, clock: Clock, schedule: Schedule, log: AccountLog) {
    this.#group = group;
    this.#clock = clock;
    this.#schedule = schedule;
    this.#log = log;
  }

  /** Whether nothing that counts has failed at its last attempt; undefined when no refresh has ended and none failed. */
  get success(): boolean | undefined {
    if (this.#failed().length > 0) return false;
    return this.seconds === undefined ? undefined : true;
  }

  /** @param windowEnd the end of the window that was current then */
  queued(task: Task, windowEnd: number): void {
    const refresh = this.#open.get(windowEnd) ?? { startedAt: this.#clock.monotonic(), pending: new Set() };
    this.#open.set(windowEnd, refresh);
    refresh.pending.add(task);
  }

  /** A task has ended, or has left the inventory and is waited for no longer. */
  ended(task: Task, failed: boolean): void {
    if (failed) this.#failing.add(task);
    else this.#failing.delete(task);
    for (const [windowEnd, { startedAt, pending }] of this.#open) {
      if (!pending.delete(task) || pending.size > 0) continue;
      this.#open.delete(windowEnd);
      this.#close(startedAt);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  endWithoutWork(): void {
    if (this.#open.size === 0) this.#close(this.#clock.monotonic());
  }

  #close(startedAt: number): void {
    this.seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    const failed = this.#failed();
    if (failed.length === 0) this.lastSuccess = this.#clock.now() / 1000;
    this.#log.groupEnded(this.#group, failed);
  }

  /** What has failed, without what has left, and what nothing asks for any more. */
  #failed(): Task[] {
    return [...this.#failing].filter((task) => !task.gone && this.#schedule.isInDemand(task));
  }
}
