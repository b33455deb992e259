import { Collector } from '../../collect/collector.ts';
import { CollectorLog } from '../../collect/collectorLog.ts';
import { systemClock } from '../../collect/clock.ts';
import type { AccountStatus } from '../../collect/view.ts';
import type { Group } from '../../metrics/sample.ts';
import { showProgress } from '../terminal.ts';
import { runReadingCommand, type CommandContext, type ReadingOptions } from './session.ts';

const LOOK_EVERY_MS = 250;
const HOUR_MS = 3_600_000;

/** All but metric data: the names decide how many calls that takes, and which templates match. */
const LISTS: ReadonlySet<Group> = new Set<Group>([
  'applications',
  'key_transactions',
  'metric_names',
  'hosts',
  'instances',
  'custom_metrics',
]);

/** A command's context, with a collector that has read all lists. */
export interface ListContext extends CommandContext {
  readonly collector: Collector;
}

/**
 * Runs a command that looks at the lists of every account, those of metric names too, as runReadingCommand does. They are
 * read by the daemon's own collector, so that plan and budget are the daemon's.
 */
export function withLists<T>(options: ReadingOptions, run: (context: ListContext) => Promise<T>): Promise<T> {
  return runReadingCommand(options, async (context) => {
    const { config, signal, logger, openReader } = context;
    const collector = new Collector(config, {
      clock: systemClock,
      everythingCounts: true,
      // What fails is in the result; the log is for those who ask for it.
      log: new CollectorLog(logger.level === 'debug' ? logger : logger.child({}, { level: 'silent' })),
      openReader,
    });
    // The collector's own timers do not keep the process alive while it waits for its budget.
    const alive = setInterval(() => undefined, HOUR_MS);
    signal.addEventListener('abort', () => void collector.stop());
    try {
      await readLists(collector);
      signal.throwIfAborted();
      return await run({ ...context, collector });
    } finally {
      clearInterval(alive);
      await collector.stop();
    }
  });
}

async function readLists(collector: Collector): Promise<void> {
  const progress = showProgress('reading lists');
  const look = setInterval(() => {
    const { done, total } = readSoFar(collector.status());
    progress.update(done, total);
  }, LOOK_EVERY_MS);
  try {
    await collector.refreshNow({ groups: LISTS, listsOnly: true }, Infinity);
  } finally {
    clearInterval(look);
    progress.stop();
  }
}

function readSoFar(statuses: readonly AccountStatus[]): { done: number; total: number } {
  const lists = statuses.flatMap(({ entities }) => entities.filter(({ group }) => LISTS.has(group)));
  return { done: lists.filter(({ seconds }) => seconds !== undefined).length, total: lists.length };
}
