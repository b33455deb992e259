import process from 'node:process';
import { formatFault } from '../config/fault.ts';
import { describeOrigin, readFrom } from '../config/find.ts';
import { ListenError } from '../web/server/listen.ts';
import { check } from './check.ts';
import { loadOrExit, readFiles } from './configuration.ts';
import { startDaemon } from './daemon/daemon.ts';
import type { LogOptions } from './flags/commonFlags.ts';
import { readServeFlags } from './flags/serveFlags.ts';
import { describeInterfaceEnd } from './interfaceEnd.ts';
import { ExitStatus } from './process/exitStatus.ts';
import { openLog } from './process/log.ts';
import { runReloadingService } from './process/signals.ts';

/** The command `serve`: runs until it is told to stop. Throws an ExitStatus when it cannot start. */
export async function serve(options: Readonly<Record<string, unknown>> & LogOptions): Promise<void> {
  const flags = readServeFlags(options);
  if (flags.configCheck) throw new ExitStatus(check((await readFiles(flags)).findings, process));
  const { logger, secrets } = openLog(options);
  await runReloadingService(logger, async () => {
    const { origin, config, warnings } = await loadOrExit(flags);
    logger.info(describeOrigin(origin));
    for (const warning of warnings) logger.warn(formatFault(warning));
    for (const account of config.accounts) {
      const end = describeInterfaceEnd(account, Date.now());
      if (end !== undefined) logger.warn({ account: account.name, interface: end }, 'The interface of an account ends');
    }
    try {
      const daemon = await startDaemon({
        config,
        readConfig: () => readFrom(origin, process.env),
        flags,
        logger,
        secrets,
        environment: process.env,
      });
      return { stop: () => daemon.stop(), reload: () => daemon.reload('SIGHUP') };
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      logger.error(error.message);
      throw new ExitStatus(1);
    }
  });
}
