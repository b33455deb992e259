import type { Logger } from 'pino';
import type { Group } from '../metrics/sample.ts';
import type { Entity } from './entity.ts';

/** How many entities of a group fail for one reason, and what upstream said of one of them. */
export interface Failing {
  readonly entities: number;
  readonly problem: string;
}

/** What a refresh came to. */
interface Refreshed {
  readonly applicationId: number | undefined;
  readonly entities: number;
  readonly failed: number;
  readonly left: number;
  readonly seconds: number;
}

/** What the collector writes to the log, account by account. */
export class CollectorLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  ofAccount(account: string): AccountLog {
    return new AccountLog(this.#logger.child({ account }));
  }
}

/**
 * The log of one account: one line per refresh, and one for each failure of a group, when it begins and when it ends,
 * however many entities it concerns and however often it is tried.
 */
export class AccountLog {
  readonly #logger: Logger;
  /** What is known to fail: group and reason. */
  readonly #failing = new Map<Group, ReadonlySet<string>>();
  #warnings: ReadonlySet<string> = new Set();
  #isRefused = false;
  /** Whether the line of the refusal has been written, and that of its end not yet. */
  #refusalSaid = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** An attempt to read an entity failed. */
  failed({ group, subject, problem }: Entity): void {
    const { applicationId, hostKey, keyTransactionId } = subject;
    const about = { group, app_id: applicationId, host_id: hostKey, key_transaction_id: keyTransactionId };
    this.#logger.debug({ ...about, problem: problem?.text }, 'An attempt failed');
  }

  /** The refresh of a group has ended, and this fails in it, by reason. */
  groupEnded(group: Group, failing: ReadonlyMap<string, Failing>): void {
    const before = this.#failing.get(group) ?? new Set();
    for (const [reason, { entities, problem }] of failing) {
      if (!before.has(reason)) this.#logger.warn({ group, reason, failed: entities, problem }, 'Could not be read');
    }
    for (const reason of before) if (!failing.has(reason)) this.#logger.info({ group, reason }, 'Works again');
    this.#failing.set(group, new Set(failing.keys()));
    this.#endRefusal();
  }

  /** The configuration leaves this group out now: what failed in it is over, without a line. */
  leftOut(group: Group): void {
    this.#failing.delete(group);
    this.#endRefusal();
  }

  /** Nobody waits for a refresh any more: all of it has ended, or the rest goes on behind. */
  refreshed({ applicationId, entities, failed, left, seconds }: Refreshed): void {
    const about = applicationId === undefined ? {} : { app_id: applicationId };
    const counts = { ...about, entities, failed, left, seconds: Number(seconds.toFixed(3)) };
    // Where nothing was read, in a pause or by tries that fail again, there is nothing to report but the failure, which has its
    // own line. Probes come for every application.
    const level = left + failed === entities || applicationId !== undefined ? 'debug' : 'info';
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

  #endRefusal(): void {
    if (this.#isRefused || !this.#refusalSaid) return;
    for (const reasons of this.#failing.values()) if (reasons.has('auth')) return;
    this.#logger.info('The account is accepted again');
    this.#refusalSaid = false;
  }

  /** The things that somebody should look at, as of now, in sentences; each is written once while it lasts. */
  warnings(warnings: readonly string[]): void {
    for (const warning of warnings) if (!this.#warnings.has(warning)) this.#logger.warn(warning);
    this.#warnings = new Set(warnings);
  }
}
