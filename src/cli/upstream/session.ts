import type { CallOptions, UpstreamReader } from '../../api/reader.ts';
import { Budget } from '../../collect/schedule/budget.ts';
import type { Clock } from '../../collect/schedule/clock.ts';
import { CallGate } from '../../collect/schedule/gate.ts';
import { PlacesOfKeys } from '../../collect/schedule/sharedPlaces.ts';
import type { AccountConfig, Config } from '../../config/config.ts';
import type { CommonOptions } from '../flags/commonFlags.ts';
import { runReadingCommand, type CommandContext } from './command.ts';

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
    const { limits } = account;
    const opened = openReader(account, config);
    const { reader } = opened;
    const budget = new Budget(limits.requests_per_minute);
    const gate = new CallGate(budget, clock, limits.max_concurrent_requests, () => undefined);
    if (reader.api === 'nerdgraph') gate.share(places.of(opened.keyMark()));
    const close = (): Promise<void> => {
      gate.close();
      return reader.close();
    };
    return { config: account, reader, call: { signal, gate, patient: true }, close };
  });
}
