import type { Logger } from 'pino';
import type { Group } from '../reads/reads.ts';
import type { Task } from './task.ts';

/**
 * The log of one account. A refresh has one line; a group that fails has one for each reason, and one when it works again, no
 * matter how many tasks failed how often.
 */
export class AccountLog {
  /** Replaced when the account gets another name. */
  logger: Logger;
  /** The failing groups: the reasons that were logged since the failure began, and the reasons of the last refresh. */
  readonly #failing = new Map<Group, { readonly logged: ReadonlySet<string>; readonly last: ReadonlySet<string> }>();
  #warnings: ReadonlySet<string> = new Set();
  #isRefused = false;
  /** True from the line of a refusal to the line of its end. */
  #refusalLogged = false;

  constructor(logger: Logger) {
    this.logger = logger;
  }

  failed({ group, subject, problem }: Task): void {
    const { applicationId, hostKey, keyTransactionId } = subject;
    const about = { group, app_id: applicationId, host_id: hostKey, key_transaction_id: keyTransactionId };
    this.logger.debug({ ...about, problem: problem?.text }, 'An attempt failed');
  }

  /** Logs the end of a group's refresh; `failed` are its failing tasks. */
  groupEnded(group: Group, failed: readonly Task[]): void {
    const problems = failed.flatMap(({ problem, partial }) => problem ?? partial ?? []);
    const reasons = new Set<string>(problems.map(({ reason }) => reason));
    const { logged, last } = this.#failing.get(group) ?? { logged: new Set<string>(), last: new Set<string>() };
    // The reasons of the last refresh are gone: the group fails for others now.
    const isChanged = last.size > 0 && ![...last].some((reason) => reasons.has(reason));
    for (const reason of reasons) {
      if (logged.has(reason)) continue;
      const alike = problems.filter((problem) => problem.reason === reason);
      const before = isChanged ? { before: [...last].join(', ') } : {};
      const about = { group, reason, ...before, failed: alike.length, problem: alike.at(-1)?.text };
      this.logger.warn(about, 'Could not be read');
    }
    if (reasons.size > 0) this.#failing.set(group, { logged: new Set([...logged, ...reasons]), last: reasons });
    else if (this.#failing.delete(group)) this.logger.info({ group, reason: [...logged].join(', ') }, 'Works again');
    this.#endRefusal();
  }

  /** Forgets the failure of a group that a reload has disabled: it does not work again. */
  groupDisabled(group: Group): void {
    this.#failing.delete(group);
    this.#endRefusal();
  }

  /** Logs the end of the wait for a refresh; `left` tasks have not ended, and continue in the background. */
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
    this.logger[level](counts, left === 0 ? 'Refreshed' : 'Refreshed in part: the rest continues');
  }

  /**
   * Logs the consequence of a refusal; the line of the failing group has its reason. With a key that may read only the list,
   * each read of the list ends the refusal, and the next task renews it: all together have one line.
   */
  refused(isRefused: boolean): void {
    this.#isRefused = isRefused;
    if (isRefused && !this.#refusalLogged) {
      this.logger.error(
        'The account is refused: look at its key, the rights of the user of the key, and the region; ' +
          'meanwhile only its application list is read, once per interval',
      );
      this.#refusalLogged = true;
    }
    this.#endRefusal();
  }

  /** Logs that New Relic refuses the key of an entry, once for all of its accounts. */
  keyRefused(problem: string): void {
    this.logger.error(
      { problem },
      'The key is refused: look at it, at the rights of its user, and at the region; meanwhile no account of the entry is ' +
        'read, only its list of accounts is tried',
    );
  }

  /** Logs that the list of accounts of an entry cannot be read, once for each reason. */
  listFailed(reason: string, problem: string): void {
    this.logger.warn({ reason, problem }, 'The list of accounts could not be read: the accounts stay as they were');
  }

  listWorksAgain(): void {
    this.logger.info('The list of accounts is read again');
  }

  /** Logs a pause that New Relic requested because of an overload. */
  paused(seconds: number): void {
    this.logger.warn(
      { seconds: Math.ceil(seconds) },
      'New Relic asked us to stop calling: all calls of the account pause; something else may use its limit, too',
    );
  }

  /** Logs an error that only a mistake in the exporter can cause. */
  internalError(error: unknown): void {
    this.logger.error({ err: error }, 'Work on an account was ended by a fault of the exporter: please report it');
  }

  /** Logs the new ones among the current warnings, which are sentences; one with other numbers is not new. */
  warnings(warnings: readonly string[]): void {
    for (const warning of warnings) if (!this.#warnings.has(withoutNumbers(warning))) this.logger.warn(warning);
    this.#warnings = new Set(warnings.map(withoutNumbers));
  }

  #endRefusal(): void {
    if (this.#isRefused || !this.#refusalLogged) return;
    for (const { last } of this.#failing.values()) if (last.has('auth')) return;
    this.logger.info('The account is accepted again');
    this.#refusalLogged = false;
  }
}

/** A sentence without its numbers; those in quotes are part of a name. */
function withoutNumbers(sentence: string): string {
  return sentence.replace(/("[^"]*")|(?<![\w./-])\d[\d.,]*/g, (_, quoted: string | undefined) => quoted ?? '#');
}
