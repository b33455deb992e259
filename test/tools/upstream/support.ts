import type { CallOptions } from '../../../src/api/upstreamReader.ts';
import { AccountLimiter } from '../../../src/collect/schedule/limiter.ts';
import { systemClock } from '../../../src/eventLoop/clock.ts';
import { openReader } from '../../../src/cli/createReader.ts';
import type { AccountConfig, Config } from '../../../src/config/config.ts';
import { Secrets } from '../../../src/log/secrets.ts';
import { SILENT } from '../../api/support/silent.ts';

/** Options of calls that never wait. */
export const FREE_CALL: CallOptions = {
  signal: new AbortController().signal,
};

/** A reader as the program opens it; its calls are neither counted nor logged. */
export function openedReader(
  account: AccountConfig,
  config: Config,
  { secrets = new Secrets(), limiter = new AccountLimiter(account.limits, systemClock) } = {},
) {
  const surroundings = { secrets, environment: {}, observer: () => SILENT, keyProblem: () => undefined };
  return openReader(account, config, surroundings, limiter);
}
