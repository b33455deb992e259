import type { Logger } from 'pino';
import type { Group } from '../metrics/sample.ts';
import type { Task } from './task.ts';

/**
 * The log of one account: a line per refresh, a line for each reason when a group begins to fail, and a line when it works
 * again, independent of the number of tasks and attempts.
 */
export class AccountLog {
  readonly #logger: Logger;
  /** The failing groups: the reasons that were logged since the failure began, and the reasons of the last refresh. */
  readonly #failing = new Map<Group, { readonly logged: ReadonlySet<string>; readonly last: ReadonlySet<string> }>();
  #warnings: ReadonlySet<string> = new Set();
  #isRefused = false;
  /** True after the refusal was logged and before its end is logged. */
  #refusalSaid = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  failed({ group, subject, problem }: Task): void {
    const { applicationId, hostKey, keyTransactionId } = subject;
    const about = { group, app_id: applicationId, host_id: hostKey, key_transaction_id: keyTransactionId };
    this.#logger.debug({ ...about, problem: problem?.text }, 'An attempt failed');
  }

  /** The refresh of a group has ended; `failed` are its failing tasks. */
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

  /** The new configuration has disabled this group: its failure ends without a line. */
  groupDisabled(group: Group): void {
    this.#failing.delete(group);
    this.#endRefusal();
  }

  /** The wait for a refresh has ended; `left` tasks have not, and continue in the background. */
  refreshed(
    applicationId: number | undefined,
    summary: { readonly tasks: number; readonly failed: number; readonly left: number; readonly seconds: number },
  ): void {
    const { tasks, failed, left, seconds } = summary;
    const about = applicationId === undefined ? {} : { app_id: applicationId };
    const counts = { ...about, entities: tasks, failed, left, seconds: Number(seconds.toFixed(3)) };
    // A refresh that read nothing, in a pause or after repeated failures, is a debug line, because the failure has its own
    // line. So is a probe, because there is one for each application.
    const level = left + failed === tasks || applicationId !== undefined ? 'debug' : 'info';
    this.#logger[level](counts, left === 0 ? 'Refreshed' : 'Refreshed in part: the rest continues');
  }

  /**
   * Logs the consequence of a refusal; the line of the failing group gives its reason. With a key that may read only the list,
   * each read of the list ends the refusal and the next task renews it: this is logged as one refusal.
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

  /** New Relic requested a pause: the account, or its limit, is overloaded. */
  paused(seconds: number): void {
    this.#logger.warn(
      { seconds: Math.ceil(seconds) },
      'New Relic asked us to stop calling: all calls of the account pause; something else may use its limit, too',
    );
  }

  broke(error: unknown): void {
    this.#logger.error({ err: error }, 'Work on an account was ended by a fault of the exporter: please report it');
  }

  #endRefusal(): void {
    if (this.#isRefused || !this.#refusalSaid) return;
    for (const { last } of this.#failing.values()) if (last.has('auth')) return;
    this.#logger.info('The account is accepted again');
    this.#refusalSaid = false;
  }

  /** The current warnings, as sentences; each is logged once while it lasts. */
  warnings(warnings: readonly string[]): void {
    for (const warning of warnings) if (!this.#warnings.has(warning)) this.#logger.warn(warning);
    this.#warnings = new Set(warnings);
  }
}
