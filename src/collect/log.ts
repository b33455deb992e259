import type { Logger } from 'pino';
import type { AccountListener } from './account.ts';
import type { Unit } from './unit.ts';

/** What the collector writes to the log: one line per refresh, and a unit's troubles when they change. */
export class CollectorLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  ofAccount(account: string): AccountListener {
    const problems = new WeakMap<Unit, string>();
    const logger = this.#logger.child({ account });
    return {
      ended: (unit, problem) => {
        if (problems.get(unit) === problem) return;
        const about = { group: unit.group, app_id: unit.subject.applicationId, host_id: unit.subject.hostKey };
        if (problem === undefined) {
          problems.delete(unit);
          logger.info(about, 'Works again');
          return;
        }
        problems.set(unit, problem);
        logger.warn({ ...about, problem }, 'Could not be read');
      },
      refreshed: (refresh, seconds) => {
        const counts = { units: refresh.units, failed: refresh.failures, left: refresh.pending.size, seconds };
        const text = refresh.pending.size === 0 ? 'Refreshed' : 'Refreshed in part: the next goes on with the rest';
        // During a pause scrapes come and nothing is read: that is no news.
        const level = refresh.pending.size === refresh.units ? 'debug' : 'info';
        logger[level](counts, text);
      },
      refused: (reason) => {
        if (reason === undefined) logger.info('The account is accepted again');
        else logger.error({ reason }, 'The account is refused: only its application list is read, once per interval');
      },
    };
  }
}
