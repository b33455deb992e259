import type { Logger } from 'pino';
import { systemClock } from '../collect/clock.ts';
import { Collector } from '../collect/collector.ts';
import { CollectorLog } from '../collect/log.ts';
import type { Scope } from '../collect/view.ts';
import type { Config } from '../config/config.ts';
import type { Secrets } from '../log/secrets.ts';
import { observeCalls } from './observer.ts';
import { openReader } from './readers.ts';

/** The lists a plan is made of; no metric data. */
const LISTS: Scope = { groups: new Set(['applications', 'key_transactions', 'hosts', 'instances']) };

/**
 * Reads the lists of every account with the daemon's own collector, and gives what `use` makes of them. The plan is then
 * the daemon's, and its budget holds.
 */
export async function withLists<T>(
  config: Config,
  options: { readonly logger: Logger; readonly secrets: Secrets; readonly signal: AbortSignal },
  use: (collector: Collector) => T,
): Promise<T> {
  const silent = { started: noOp, ended: noOp, failed: noOp, retried: noOp };
  const collector = new Collector(config, {
    clock: systemClock,
    log: new CollectorLog(options.logger.child({}, { level: 'debug' })),
    openReader: (account, from) =>
      openReader(account, from, {
        secrets: options.secrets,
        observer: (name) => observeCalls(silent, options.logger.child({ account: name })),
        keyProblem: noOp,
      }),
  });
  const stop = (): void => void collector.stop();
  options.signal.addEventListener('abort', stop);
  try {
    await collector.refreshNow(LISTS, Infinity);
    options.signal.throwIfAborted();
    return use(collector);
  } finally {
    options.signal.removeEventListener('abort', stop);
    await collector.stop();
  }
}

function noOp(): void {
  // Nobody listens.
}
