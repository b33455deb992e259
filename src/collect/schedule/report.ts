import type { Logger } from 'pino';
import { REMEDIES, type FailureReason } from '../../api/upstreamError.ts';
import type { Clock } from '../../eventLoop/clock.ts';
import { GROUPS, type Group } from '../../reads/reads.ts';
import type { Schedule } from './schedule.ts';
import type { Task } from '../inventory/task.ts';

/**
 * The refreshes of one group. A refresh begins when the first task is queued for a window, and ends when all tasks of that
 * window have ended. Tasks queued for a later window belong to the next refresh, so that refreshes of a busy group end, too.
 */
class GroupProgress {
  /** Open refreshes by the end of their window: the start, by the monotonic clock, and the tasks that have not ended. */
  readonly open = new Map<number, { readonly since: number; readonly left: Set<Task> }>();
  /** Tasks whose last attempt failed: until they are read, every refresh is a failure, even one that has other tasks only. */
  readonly failing = new Set<Task>();
  /** The duration of the last refresh, and the end of the last one without failure (Unix seconds). */
  seconds: number | undefined;
  lastSuccess: number | undefined;
  /** The reasons that were logged since the group began to fail. */
  readonly logged = new Set<FailureReason>();
}

/**
 * What one account reports of its refreshes: the result of each group, for the exporter's own metrics, and lines of the log. A
 * group that fails has a line for each reason, and one when it works again, no matter how many tasks failed how often.
 */
export class Report {
  logger: Logger;
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #groups = Object.fromEntries(GROUPS.map((group) => [group, new GroupProgress()])) as Record<
    Group,
    GroupProgress
  >;
  /** True from the line of a refusal until a group that was refused works again. */
  #refusalLogged = false;
  /** The end of the pause that was logged last. */
  #loggedPause = -Infinity;

  constructor(logger: Logger, clock: Clock, schedule: Schedule) {
    this.logger = logger;
    this.#clock = clock;
    this.#schedule = schedule;
  }

  queued(task: Task, windowEnd: number): void {
    const { open } = this.#groups[task.group];
    const refresh = open.get(windowEnd);
    if (refresh !== undefined) refresh.left.add(task);
    else open.set(windowEnd, { since: this.#clock.monotonic(), left: new Set([task]) });
  }

  ended(task: Task, failed: boolean): void {
    const { open, failing } = this.#groups[task.group];
    if (failed) failing.add(task);
    else failing.delete(task);
    for (const [windowEnd, { since, left }] of open) {
      if (!left.delete(task) || left.size > 0) continue;
      open.delete(windowEnd);
      this.#close(task.group, since);
    }
  }

  /** A refresh of a group without tasks is a success, too. */
  endIdleGroups(groups: ReadonlySet<Group>, tasks: readonly Task[]): void {
    const busy = new Set(tasks.map(({ group }) => group));
    for (const group of groups) {
      if (!busy.has(group) && this.#groups[group].open.size === 0) this.#close(group, this.#clock.monotonic());
    }
  }

  /**
   * The result of a group: the duration of its last refresh, its last success, and `success`: false when the last attempt of a
   * task in demand failed, otherwise true, but undefined before the first refresh has ended.
   */
  resultOf(group: Group) {
    const { seconds, lastSuccess } = this.#groups[group];
    const success = this.#failed(group).length > 0 ? false : seconds === undefined ? undefined : true;
    return { success, lastSuccess, seconds };
  }

  groupDisabled(group: Group): void {
    this.#forgetReasons(group);
  }

  attemptFailed({ group, subject, problem }: Task): void {
    const { applicationId, hostKey, keyTransactionId } = subject;
    const about = { group, app_id: applicationId, host_id: hostKey, key_transaction_id: keyTransactionId };
    this.logger.debug({ ...about, problem: problem?.text }, 'An attempt failed');
  }

  /**
   * Logs the consequence of a refusal; the line of the failing group has its reason. With a key that may read only the list,
   * each read of the list ends the refusal, and the next task renews it: all together have one line.
   */
  refused(reason: FailureReason): void {
    if (this.#refusalLogged) return;
    this.#refusalLogged = true;
    const meanwhile = 'meanwhile only its application list is read, once per interval';
    this.logger.error(`The account is refused: ${REMEDIES[reason]}; ${meanwhile}`);
  }

  /** Logs a pause that New Relic requested because of an overload, once even if several responses requested it. */
  paused(until: number): void {
    const now = this.#clock.monotonic();
    if (until <= now || now < this.#loggedPause) return;
    this.#loggedPause = until;
    this.logger.warn(
      { seconds: Math.ceil((until - now) / 1000) },
      'New Relic asked us to stop calling: all calls of the account pause; something else may use its limit, too',
    );
  }

  #close(group: Group, startedAt: number): void {
    const progress = this.#groups[group];
    progress.seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    const failed = this.#failed(group);
    if (failed.length === 0) progress.lastSuccess = this.#clock.now() / 1000;
    const { logged } = progress;
    const problems = failed.flatMap(({ problem, partial }) => problem ?? partial ?? []);
    for (const { reason } of problems) {
      if (logged.has(reason)) continue;
      logged.add(reason);
      const alike = problems.filter((problem) => problem.reason === reason);
      const about = { group, reason, failed: alike.length, problem: alike.at(-1)?.text };
      this.logger.warn(about, 'Could not be read');
    }
    if (problems.length > 0 || logged.size === 0) return;
    this.logger.info({ group, reason: [...logged].join(', ') }, 'Works again');
    this.#forgetReasons(group);
  }

  #forgetReasons(group: Group): void {
    const { logged } = this.#groups[group];
    if (logged.has('auth') || logged.has('forbidden')) this.#refusalLogged = false;
    logged.clear();
  }

  /** The failing tasks of a group, without removed ones and those no longer in demand. */
  #failed(group: Group): Task[] {
    return [...this.#groups[group].failing].filter((task) => !task.gone && this.#schedule.isInDemand(task));
  }
}
