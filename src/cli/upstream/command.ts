import { existsSync } from 'node:fs';
import process from 'node:process';
import type { Logger } from 'pino';
import type { AccountReader } from '../../collect/preparedAccounts.ts';
import type { AccountConfig, Config } from '../../config/config.ts';
import { describeOrigin, findConfig } from '../../config/find.ts';
import { errorText, isMistake } from '../../log/errorText.ts';
import { loadOrExit } from '../configuration.ts';
import type { CommonOptions } from '../flags/commonFlags.ts';
import { ExitStatus } from '../process/exitStatus.ts';
import { openLog } from '../process/log.ts';
import { OutputError } from '../process/output.ts';
import { stopOnSignals } from '../process/signals.ts';
import { UsageError } from '../process/usageError.ts';
import { observeCalls, SILENT } from './observer.ts';
import { openReader } from './readers.ts';

/** What a command that reads from upstream has at hand. */
export interface CommandContext {
  readonly config: Config;
  /** Aborted by ctrl-C, by SIGTERM, and when nobody reads the output any more. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Opens the reader of an account; its calls are in the log at debug. */
  readonly openReader: (account: AccountConfig, config: Config) => AccountReader;
}

/** Says in one log line that there is no file and the environment took its place; says nothing of a file. */
export function sayOrigin(options: CommonOptions): void {
  const found = findConfig({ flag: options['config.file'], exists: existsSync, env: process.env });
  if ('faults' in found || found.origin.kind !== 'environment') return;
  openLog(options).logger.info(describeOrigin(found.origin));
}

/**
 * Runs a command that reads from upstream: loads the configuration and says where it is from. What fails is said in one
 * sentence on standard error and ends the program with status 1, wrong usage with status 2.
 *
 * @param prepare makes of the configuration the one to read with; may throw a UsageError
 */
export async function runReadingCommand<T>(
  options: CommonOptions,
  run: (context: CommandContext) => Promise<T>,
  prepare: (config: Config) => Config = (config) => config,
): Promise<T> {
  const loaded = await loadOrExit({ configFile: options['config.file'] });
  const config = orWrongUsage(() => prepare(loaded.config));
  const { origin } = loaded;
  const { logger, secrets } = openLog(options);
  if (origin.kind === 'environment') logger.info(describeOrigin(origin));
  const signal = stopOnSignals();
  const context: CommandContext = {
    config,
    signal,
    logger,
    openReader: (account, from) =>
      openReader(account, from, {
        secrets,
        environment: process.env,
        observer: (name) => observeCalls(SILENT, logger.child({ account: name })),
        keyProblem: () => undefined,
      }),
  };
  try {
    return await run(context);
  } catch (error) {
    if (error instanceof ExitStatus) throw error;
    if (error instanceof UsageError) throw wrongUsage(error);
    if (signal.reason instanceof OutputError) throw signal.reason;
    const text = signal.aborted ? 'stopped' : errorText(error, isMistake(error) || options['log.level'] === 'debug');
    process.stderr.write(`${secrets.mask(text)}\n`);
    throw new ExitStatus(1);
  }
}

function orWrongUsage<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof UsageError ? wrongUsage(error) : error;
  }
}

function wrongUsage({ message }: UsageError): ExitStatus {
  process.stderr.write(`error: ${message}\n`);
  return new ExitStatus(2);
}
