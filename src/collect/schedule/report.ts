import type { Logger } from 'pino';
import { REMEDIES, type FailureReason } from '../../api/upstreamError.ts';
import type { Clock } from '../../eventLoop/clock.ts';
import { GROUPS, type Group } from '../../reads/reads.ts';
import type { Schedule } from './schedule.ts';
import type { Task } from '../inventory/task.ts';

/**
 * A refresh of a group begins with the first task queued for a window, and ends with the last task of that window. So
 * refreshes of a busy group end, too.
 */
class GroupProgress {
  /** The running refreshes by the end of their window. `since` is of the monotonic clock. */
  readonly open = new Map<number, { readonly since: number; readonly pending: Set<Task> }>();
  /** While there is a task whose last attempt failed, every refresh of the group fails. */
  readonly failing = new Set<Task>();
  seconds: number | undefined;
  /** Unix seconds. */
  lastSuccess: number | undefined;
  /** Since the group began to fail. */
  readonly logged = new Set<FailureReason>();
}

/**
 * Reports the refreshes of one account. A failing group logs one line for each reason, and one line when it works
 * again, however many tasks failed.
 */
export class Report {
  logger: Logger;
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #groups = Object.fromEntries(GROUPS.map((group) => [group, new GroupProgress()])) as Record<
    Group,
    GroupProgress
  >;
  /** True from the log line of a refusal until a refused group works again. */
  #isRefusalLogged = false;
  #loggedPause = -Infinity;

  constructor(logger: Logger, clock: Clock, schedule: Schedule) {
    this.logger = logger;
    this.#clock = clock;
    this.#schedule = schedule;
  }

  recordQueued(task: Task, windowEnd: number): void {
    const { open } = this.#groups[task.group];
    const refresh = open.get(windowEnd);
    if (refresh !== undefined) refresh.pending.add(task);
    else open.set(windowEnd, { since: this.#clock.monotonic(), pending: new Set([task]) });
  }

  recordEnd(task: Task, failed: boolean): void {
    const { open, failing } = this.#groups[task.group];
    if (failed) failing.add(task);
    else failing.delete(task);
    for (const [windowEnd, { since, pending }] of open) {
      if (!pending.delete(task) || pending.size > 0) continue;
      open.delete(windowEnd);
      this.#endRefresh(task.group, since);
    }
  }

  /** Records a successful refresh for each group without tasks. */
  endIdleGroups(groups: ReadonlySet<Group>, tasks: readonly Task[]): void {
    const busy = new Set(tasks.map(({ group }) => group));
    for (const group of groups) {
      if (!busy.has(group) && this.#groups[group].open.size === 0) this.#endRefresh(group, this.#clock.monotonic());
    }
  }

  /** `success` is false if the last attempt of a task in demand failed; undefined before the end of a refresh. */
  resultOf(group: Group) {
    const { seconds, lastSuccess } = this.#groups[group];
    const success = this.#findFailed(group).length > 0 ? false : seconds === undefined ? undefined : true;
    return { success, lastSuccess, seconds };
  }

  logFailure({ group, subject, problem }: Task): void {
    const { applicationId, hostKey, keyTransactionId } = subject;
    const about = { group, app_id: applicationId, host_id: hostKey, key_transaction_id: keyTransactionId };
    this.logger.debug({ ...about, problem: problem?.text }, 'An attempt failed');
  }

  /**
   * Logs a refusal once. A key may have access to only the list: then each list read ends the refusal and the next task
   * renews it, without another line.
   */
  logRefusal(reason: FailureReason): void {
    if (this.#isRefusalLogged) return;
    this.#isRefusalLogged = true;
    const meanwhile = 'meanwhile the exporter reads only its application list, once per interval';
    this.logger.error(`New Relic refuses the account: ${REMEDIES[reason]}; ${meanwhile}`);
  }

  /** Logs a pause once, even if several responses request it. */
  logPause(until: number): void {
    const now = this.#clock.monotonic();
    if (until <= now || now < this.#loggedPause) return;
    this.#loggedPause = until;
    this.logger.warn(
      { seconds: Math.ceil((until - now) / 1000) },
      'Rate limited by New Relic: pausing all calls of this account. Another program may be using the same limit.',
    );
  }

  #endRefresh(group: Group, startedAt: number): void {
    const progress = this.#groups[group];
    progress.seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    const failed = this.#findFailed(group);
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
    this.forgetReasons(group);
  }

  /** Ends the failure of a group that works again, or is disabled. */
  forgetReasons(group: Group): void {
    const { logged } = this.#groups[group];
    if (logged.has('auth') || logged.has('forbidden')) this.#isRefusalLogged = false;
    logged.clear();
  }

  #findFailed(group: Group): Task[] {
    return [...this.#groups[group].failing].filter((task) => !task.gone && this.#schedule.isInDemand(task));
  }
}
