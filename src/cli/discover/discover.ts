import process from 'node:process';
import { errorText } from '../../log/errorText.ts';
import { escapeUnsafe } from '../../log/logfmt.ts';
import type { CommonOptions } from '../flags/commonFlags.ts';
import { ExitStatus } from '../process/exitStatus.ts';
import { showProgress } from '../terminal/progress.ts';
import { withAccounts, type LiveAccount, type LiveSession } from '../upstream/session.ts';
import { formatDiscovered, type DiscoverFormat } from './format.ts';
import { readEverything, readNamed, type Discovered, type Reading } from './read.ts';
import { whereIs, type Places } from './places.ts';

export interface DiscoverOptions extends CommonOptions {
  readonly format: DiscoverFormat;
  /** Ids or exact names; without them and without key transactions, everything is listed. */
  readonly app?: readonly string[];
  readonly keyTransaction?: readonly number[];
}

/** The command `discover`. What cannot be read is said on standard error, hides nothing else, and gives status 1. */
export async function runDiscover(options: DiscoverOptions): Promise<void> {
  await withAccounts(options, async (session) => {
    const { app: apps = [], keyTransaction: keyTransactions = [] } = options;
    const places = apps.length + keyTransactions.length > 0 ? await whereIs(session, apps, keyTransactions) : undefined;
    const { found, failures } = await discoverAll(session, places);
    if (found.length > 0) process.stdout.write(formatDiscovered(found, options.format));
    if (failures > 0) throw new ExitStatus(1);
  });
}

async function discoverAll(
  { accounts, config, signal }: LiveSession,
  places: Places | undefined,
): Promise<{ readonly found: readonly Discovered[]; readonly failures: number }> {
  const found: Discovered[] = [];
  let failures = 0;
  for (const account of accounts) {
    const { name } = account.config;
    const note = (what: string, error: unknown): void => {
      signal.throwIfAborted();
      failures += 1;
      process.stderr.write(`account ${name}: ${escapeUnsafe(what)} cannot be read: ${errorText(error, false)}\n`);
    };
    const progress = showProgress(`reading hosts and instances of ${name}`);
    const reading: Reading = { account, collection: config.collection, progress, note };
    try {
      const discovered = await read(account, reading, places);
      if (discovered !== undefined) found.push(discovered);
    } catch (error) {
      note('the application list', error);
    } finally {
      progress.stop();
    }
  }
  return { found, failures };
}

function read(account: LiveAccount, reading: Reading, places: Places | undefined): Promise<Discovered | undefined> {
  if (places === undefined) return readEverything(reading);
  const named = places.get(account);
  return named === undefined ? Promise.resolve(undefined) : readNamed(reading, named);
}
