import type { Logger } from 'pino';
import type { Entity } from './entity.ts';
import type { Refresh } from './refreshes.ts';

/** Who is told what happens to an account's entities, for the log. */
export interface AccountListener {
  /** An entity was read, or could not be (`problem`). */
  ended(entity: Entity, problem: string | undefined): void;
  /** A refresh is over: all of its work has ended, or the next refresh carries on what is left. */
  refreshed(refresh: Refresh, seconds: number): void;
  refused(reason: string | undefined): void;
}

/** What the collector writes to the log: one line per refresh, and an entity's troubles when they change. */
export class CollectorLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  ofAccount(account: string): AccountListener {
    const problems = new WeakMap<Entity, string>();
    const logger = this.#logger.child({ account });
    return {
      ended: (entity, problem) => {
        if (problems.get(entity) === problem) return;
        const { applicationId, hostKey, keyTransactionId } = entity.subject;
        const about = {
          group: entity.group,
          app_id: applicationId,
          host_id: hostKey,
          key_transaction_id: keyTransactionId,
        };
        if (problem === undefined) {
          problems.delete(entity);
          logger.info(about, 'Works again');
          return;
        }
        problems.set(entity, problem);
        logger.warn({ ...about, problem }, 'Could not be read');
      },
      refreshed: ({ entities, failures, left, scope: { applicationId } }, seconds) => {
        const about = applicationId === undefined ? {} : { app_id: applicationId };
        const counts = { ...about, entities, failed: failures, left, seconds: Number(seconds.toFixed(3)) };
        const text = left === 0 ? 'Refreshed' : 'Refreshed in part: the next goes on with the rest';
        // During a pause scrapes come and nothing is read: there is nothing to report. Probes come for every application.
        const level = left === entities || applicationId !== undefined ? 'debug' : 'info';
        logger[level](counts, text);
      },
      refused: (reason) => {
        if (reason === undefined) logger.info('The account is accepted again');
        else logger.error({ reason }, 'The account is refused: only its application list is read, once per interval');
      },
    };
  }
}
