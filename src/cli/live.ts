import process from 'node:process';
import type { CallOptions, UpstreamReader } from '../api/reader.ts';
import type { CallObserver } from '../api/observer.ts';
import { Budget } from '../collect/budget.ts';
import { systemClock } from '../collect/clock.ts';
import { CallGate } from '../collect/gate.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import type { Secrets } from '../log/secrets.ts';
import { openReader } from './readers.ts';

/** An account that a command reads from, under the same budget, client and masking as the daemon. */
export interface LiveAccount {
  readonly config: AccountConfig;
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
}

/** Ends the calls of a command on ctrl-C and SIGTERM. */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new Error('stopped'));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  return controller.signal;
}

/** Opens every account of a configuration; `close` ends their connections. */
export function openAccounts(
  config: Config,
  options: { readonly secrets: Secrets; readonly signal: AbortSignal; readonly observer: CallObserver },
): { readonly accounts: readonly LiveAccount[]; close(): Promise<void> } {
  const accounts = config.accounts.map((account) => {
    const { reader } = openReader(account, config, {
      secrets: options.secrets,
      observer: () => options.observer,
      keyProblem: () => undefined,
    });
    const budget = new Budget(account.limits.requests_per_minute);
    const gate = new CallGate(budget, systemClock, account.limits.max_concurrent_requests, () => undefined);
    return { config: account, reader, call: { signal: options.signal, gate } };
  });
  return {
    accounts,
    close: async () => {
      await Promise.allSettled(accounts.map(({ reader }) => reader.close()));
    },
  };
}
