import { existsSync } from 'node:fs';
import process from 'node:process';
import type { CallOptions, UpstreamReader } from '../../api/reader.ts';
import type { CallObserver } from '../../api/observer.ts';
import { Budget } from '../../collect/schedule/budget.ts';
import type { Clock } from '../../collect/schedule/clock.ts';
import { CallGate } from '../../collect/schedule/gate.ts';
import type { AccountConfig, Config } from '../../config/config.ts';
import { describeOrigin, findConfig } from '../../config/find.ts';
import { errorText, isMistake } from '../../log/errorText.ts';
import type { Secrets } from '../../log/secrets.ts';
import { ExitStatus } from '../process/exitStatus.ts';
import { openLog } from '../process/log.ts';
import { OutputError } from '../process/output.ts';
import { stopOnSignals } from '../process/signals.ts';
import { UsageError } from '../process/usageError.ts';
import { observeCalls, SILENT } from './observer.ts';
import { openReader } from './readers.ts';
import { loadOrExit } from '../configuration.ts';
import type { CommonOptions } from '../flags/commonFlags.ts';

/** An account that a command reads from, under the same budget, client and masking as the daemon. */
export interface LiveAccount {
  readonly config: AccountConfig;
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
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

/** Says in one log line that there is no file and the environment took its place; says nothing of a file. */
export function sayOrigin(options: CommonOptions): void {
  const found = findConfig({ flag: options['config.file'], exists: existsSync, env: process.env });
  if ('faults' in found || found.origin.kind !== 'environment') return;
  openLog(options).logger.info(describeOrigin(found.origin));
}

/** Opens every account of a configuration; `close` ends their connections. */
export function openAccounts(
  config: Config,
  options: { readonly secrets: Secrets; readonly signal: AbortSignal; readonly observer: CallObserver },
): { readonly accounts: readonly LiveAccount[]; close(): Promise<void> } {
  const accounts = config.accounts.map((account) => {
    const { reader } = openReader(account, config, {
      secrets: options.secrets,
      environment: process.env,
      observer: () => options.observer,
      keyProblem: () => undefined,
    });
    const budget = new Budget(account.limits.requests_per_minute);
    const gate = new CallGate(budget, WAITING_CLOCK, account.limits.max_concurrent_requests, () => undefined);
    return { config: account, reader, call: { signal: options.signal, gate, patient: true } };
  });
  return {
    accounts,
    close: async () => {
      await Promise.allSettled(accounts.map(({ reader }) => reader.close()));
    },
  };
}

/** What a command reads with: the accounts, a signal that ends it, and the log for debugging. */
export interface LiveSession {
  readonly config: Config;
  readonly accounts: readonly LiveAccount[];
  readonly signal: AbortSignal;
}

/**
 * Runs a command that reads from upstream: loads the configuration, opens its accounts, and closes them in the end. What
 * fails is said in one sentence on standard error and ends the program with status 1, wrong usage with status 2.
 *
 * @param prepare makes of the configuration the one to read with; may throw a UsageError
 */
export async function withAccounts<T>(
  options: CommonOptions,
  run: (session: LiveSession) => Promise<T>,
  prepare: (config: Config) => Config = (config) => config,
): Promise<T> {
  const loaded = await loadOrExit({ configFile: options['config.file'] });
  const config = orWrongUsage(() => prepare(loaded.config));
  const { origin } = loaded;
  const { logger, secrets } = openLog(options);
  if (origin.kind === 'environment') logger.info(describeOrigin(origin));
  const signal = stopOnSignals();
  const observer = observeCalls(SILENT, logger);
  const opened = openAccounts(config, { secrets, signal, observer });
  try {
    return await run({ config, accounts: opened.accounts, signal });
  } catch (error) {
    if (error instanceof ExitStatus) throw error;
    if (error instanceof UsageError) throw wrongUsage(error);
    if (signal.reason instanceof OutputError) throw signal.reason;
    const text = signal.aborted ? 'stopped' : errorText(error, isMistake(error) || options['log.level'] === 'debug');
    process.stderr.write(`${secrets.mask(text)}\n`);
    throw new ExitStatus(1);
  } finally {
    await opened.close();
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
