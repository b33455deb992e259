import process from 'node:process';
import { systemClock } from '../../collect/schedule/clock.ts';
import { Collector } from '../../collect/collector.ts';
import { CollectorLog } from '../../collect/log.ts';
import type { AccountStatus } from '../../collect/view.ts';
import type { Config } from '../../config/config.ts';
import { describeOrigin } from '../../config/find.ts';
import type { Group } from '../../metrics/groups.ts';
import { ExitStatus } from '../process/exitStatus.ts';
import { openLog } from '../process/log.ts';
import { OutputError } from '../process/output.ts';
import { stopOnSignals } from '../process/signals.ts';
import { observeCalls, SILENT } from './observer.ts';
import { showProgress } from '../terminal/progress.ts';
import { openReader } from './readers.ts';
import { loadOrExit } from '../configuration.ts';
import type { CommonOptions } from '../flags/commonFlags.ts';

const LOOK_EVERY_MS = 250;

/** All but metric data: the names decide how many calls that takes, and which templates match. */
const LISTS: ReadonlySet<Group> = new Set<Group>([
  'applications',
  'key_transactions',
  'metric_names',
  'hosts',
  'instances',
  'custom_metrics',
]);

/**
 * Reads the lists of every account, those of metric names too, with the daemon's own collector, so that plan and budget
 * are the daemon's. Ends the program with status 1 on ctrl-C.
 */
export async function readLists(
  options: CommonOptions,
): Promise<{ readonly config: Config; readonly collector: Collector }> {
  const { config, origin } = await loadOrExit({ configFile: options['config.file'] });
  const { logger, secrets } = openLog(options);
  if (origin.kind === 'environment') logger.info(describeOrigin(origin));
  const signal = stopOnSignals();
  const collector = new Collector(config, {
    clock: systemClock,
    everythingCounts: true,
    // What fails is in the result; the log is for those who ask for it.
    log: new CollectorLog(logger.level === 'debug' ? logger : logger.child({}, { level: 'silent' })),
    openReader: (account, from) =>
      openReader(account, from, {
        secrets,
        environment: process.env,
        observer: (name) => observeCalls(SILENT, logger.child({ account: name })),
        keyProblem: () => undefined,
      }),
  });
  const progress = showProgress('reading lists');
  const look = setInterval(() => {
    const { done, total } = readSoFar(collector.status());
    progress.update(done, total);
  }, LOOK_EVERY_MS);
  const stop = (): void => void collector.stop();
  signal.addEventListener('abort', stop);
  try {
    await collector.refreshNow({ groups: LISTS, listsOnly: true }, Infinity);
  } finally {
    clearInterval(look);
    progress.stop();
    await collector.stop();
  }
  if (!signal.aborted) return { config, collector };
  if (signal.reason instanceof OutputError) throw signal.reason;
  process.stderr.write('stopped\n');
  throw new ExitStatus(1);
}

function readSoFar(statuses: readonly AccountStatus[]): { done: number; total: number } {
  const lists = statuses.flatMap(({ entities }) => entities.filter(({ group }) => LISTS.has(group)));
  return { done: lists.filter(({ seconds }) => seconds !== undefined).length, total: lists.length };
}
