import { existsSync } from 'node:fs';
import process from 'node:process';
import { formatFault, type Fault } from '../config/fault.ts';
import { describeOrigin, findConfig, readFrom, type ConfigOrigin } from '../config/find.ts';
import type { Config } from '../config/config.ts';
import { ListenError } from '../web/server/servers.ts';
import { loadWebConfig } from '../web/webConfig/webConfig.ts';
import { check, configurationSource } from './check.ts';
import { startDaemon } from './daemon/daemon.ts';
import { ExitStatus } from './process/exitStatus.ts';
import { readServeFlags, type ServeFlags } from './flags/serveFlags.ts';
import { openLog } from './process/log.ts';
import { runReloadingService } from './process/signals.ts';
import type { LogOptions } from './flags/commonFlags.ts';

/** The command `serve`: runs until it is told to stop. Throws an ExitStatus when it cannot start. */
export async function serve(options: Readonly<Record<string, unknown>> & LogOptions): Promise<void> {
  const flags = readServeFlags(options);
  if (flags.configCheck) throw new ExitStatus(await checkFiles(flags));
  const { logger, secrets } = openLog(options);
  await runReloadingService(logger, async () => {
    const { origin, config } = await loadOrExit(flags.configFile);
    const webConfig = flags.webConfigFile === undefined ? undefined : loadWebConfig(flags.webConfigFile);
    if (webConfig !== undefined && 'faults' in webConfig) throw refuse(webConfig.faults);
    logger.info(describeOrigin(origin));
    const reload = (): ReturnType<typeof readFrom> => readFrom(origin, process.env);
    try {
      const daemon = await startDaemon({ config, reload, flags, logger, secrets, environment: process.env });
      return { stop: () => daemon.stop(), reload: () => daemon.reload('SIGHUP') };
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      logger.error(error.message);
      throw new ExitStatus(1);
    }
  });
}

/** Finds, reads and validates the configuration; its faults go to standard error and end the program with status 2. */
export async function loadOrExit(configFile: string | undefined): Promise<{ origin: ConfigOrigin; config: Config }> {
  const found = findConfig({ flag: configFile, exists: existsSync, env: process.env });
  if ('faults' in found) throw refuse(found.faults);
  const read = await readFrom(found.origin, process.env);
  if ('faults' in read) throw refuse(read.faults);
  return { origin: found.origin, config: read.config };
}

/** Checks the configuration and the web configuration without starting anything; gives the exit status. */
export async function checkFiles(flags: Pick<ServeFlags, 'configFile' | 'webConfigFile'>): Promise<0 | 2> {
  const sources = [configurationSource({ flag: flags.configFile, exists: existsSync, env: process.env })];
  const { webConfigFile } = flags;
  if (webConfigFile !== undefined) {
    const loaded = loadWebConfig(webConfigFile);
    const faults = 'faults' in loaded ? loaded.faults : [];
    sources.push({ name: webConfigFile, read: () => Promise.resolve({ faults, warnings: [] }) });
  }
  return check(sources, { stdout: process.stdout, stderr: process.stderr });
}

function refuse(faults: readonly Fault[]): ExitStatus {
  for (const fault of faults) process.stderr.write(`${formatFault(fault)}\n`);
  return new ExitStatus(2);
}
