import process from 'node:process';
import type { Logger } from 'pino';
import type { AccountReader } from '../../collect/collector.ts';
import type { AccountConfig, Config } from '../../config/config.ts';
import { errorText, isMistake } from '../../log/logger.ts';
import { loadOrExit, openLog, sayOrigin, type LoadedConfiguration } from '../configuration.ts';
import type { CommonOptions } from '../flags.ts';
import { ExitStatus, OutputError, stopOnSignals, UsageError } from '../process.ts';
import { observeCalls, SILENT, openReader } from './readers.ts';
import type { CallOptions, UpstreamReader } from '../../api/reader.ts';
import { UpstreamError } from '../../api/types.ts';
import type { Clock } from '../../collect/clock.ts';
import { Limiter, PlacesOfKeys } from '../../collect/limiter.ts';

/** What a command that reads from upstream has at hand. */
export interface CommandContext {
  readonly config: Config;
  /** Aborted by ctrl-C, by SIGTERM, and when nobody reads the output any more. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Opens the reader of an account; its calls are in the log at debug. */
  readonly openReader: (account: AccountConfig, config: Config) => AccountReader;
}

/** How a command reads: its flags, and its configuration where it was read already. */
export interface ReadingOptions extends CommonOptions {
  readonly loaded?: LoadedConfiguration;
}

/**
 * Runs a command that reads from upstream: loads the configuration and says where it is from. What fails is said in one
 * sentence on standard error and ends the program with status 1, wrong usage with status 2.
 *
 * @param prepare makes of the configuration the one to read with; may throw a UsageError
 */
export async function runReadingCommand<T>(
  options: ReadingOptions,
  run: (context: CommandContext) => Promise<T>,
  prepare: (config: Config) => Config = (config) => config,
): Promise<T> {
  const loaded = options.loaded ?? (await loadOrExit({ configFile: options['config.file'], pipe: true }));
  const config = orWrongUsage(() => prepare(loaded.config));
  const { logger, secrets } = openLog(options);
  sayOrigin(logger, loaded.origin);
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
    process.stderr.write(`${secrets.mask(text)}\n${isRefusedKey(error) ? `${KEY_HINT}\n` : ''}`);
    throw new ExitStatus(1);
  }
}

/** What to look at when the service does not know a key. */
export const KEY_HINT =
  'hint: the key must be a user key (it begins with NRAK-) that is still valid, and "region" that of its account: us, eu, gov or jp';

function isRefusedKey(error: unknown): boolean {
  if (error instanceof UpstreamError && error.failure.reason === 'auth') return true;
  return error instanceof Error && error.cause !== undefined && isRefusedKey(error.cause);
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

/** An account that a command reads from, under the same budget, client and masking as the daemon. */
export interface LiveAccount {
  readonly config: AccountConfig;
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
  /** Closes its connections and ends its waiting, so that the process may end. */
  readonly close: () => Promise<void>;
}

/** The machine's clock with timers that keep the process alive: a command that waits for the budget is not done. */
const WAITING_CLOCK: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** What a command reads with: the accounts, and a signal that ends it. */
export interface LiveSession {
  readonly config: Config;
  readonly accounts: readonly LiveAccount[];
  readonly signal: AbortSignal;
}

/**
 * Runs a command that reads from upstream by itself, as runReadingCommand does: opens the accounts of the configuration
 * and closes them in the end.
 *
 * @param prepare makes of the configuration the one to read with; may throw a UsageError
 */
export function withAccounts<T>(
  options: CommonOptions,
  run: (session: LiveSession) => Promise<T>,
  prepare?: (config: Config) => Config,
): Promise<T> {
  const withOpened = async (context: CommandContext): Promise<T> => {
    const { config, signal } = context;
    const accounts = openAccounts(context, WAITING_CLOCK);
    try {
      return await run({ config, accounts, signal });
    } finally {
      await Promise.allSettled(accounts.map((account) => account.close()));
    }
  };
  return runReadingCommand(options, withOpened, prepare);
}

/**
 * Opens the accounts of a configuration, each with a budget of its own. NerdGraph accounts of one key share its calls at
 * once.
 *
 * @param clock by which the budget and its waiting go
 */
export function openAccounts(
  { config, signal, openReader }: Pick<CommandContext, 'config' | 'signal' | 'openReader'>,
  clock: Clock,
): readonly LiveAccount[] {
  const places = new PlacesOfKeys();
  return config.accounts.map((account) => {
    const opened = openReader(account, config);
    const { reader } = opened;
    const gate = new Limiter(account.limits, clock, () => undefined);
    if (reader.api === 'nerdgraph') gate.share(places.of(opened.keyMark()));
    const close = (): Promise<void> => {
      gate.close();
      return reader.close();
    };
    return { config: account, reader, call: { signal, gate, patient: true }, close };
  });
}
