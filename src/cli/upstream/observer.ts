import type { Logger } from 'pino';
import type { CallObserver } from '../../api/observer.ts';

/** The same observer, with each call and each failed one also in the log at debug. */
export function observeCalls(observer: CallObserver, logger: Logger): CallObserver {
  return {
    started: (endpoint) => observer.started(endpoint),
    ended: (endpoint, code, seconds) => {
      observer.ended(endpoint, code, seconds);
      logger.debug({ endpoint, code, seconds: Number(seconds.toFixed(3)) }, 'Called upstream');
    },
    failed: (endpoint, reason, message) => {
      observer.failed(endpoint, reason, message);
      logger.debug({ endpoint, reason, problem: message }, 'A call failed');
    },
    retried: (endpoint, reason, delayMs) => {
      observer.retried(endpoint, reason, delayMs);
      logger.debug({ endpoint, reason, delay_ms: delayMs }, 'Will try again');
    },
    split: (reason) => {
      observer.split(reason);
      logger.debug({ reason }, 'A call for many subjects is read again in parts');
    },
    noted: (endpoint, message) => {
      observer.noted(endpoint, message);
      logger.info({ endpoint, message }, 'The service says about its answer');
    },
  };
}

/** For commands, which keep no metrics. */
export const SILENT: CallObserver = {
  started: () => undefined,
  ended: () => undefined,
  failed: () => undefined,
  retried: () => undefined,
  split: () => undefined,
  noted: () => undefined,
};
