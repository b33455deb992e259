import { readKey } from '../../config/keys.ts';
import process from 'node:process';
import type { Logger } from 'pino';
import type { AccountsDependencies } from '../../collect/accounts/accounts.ts';
import type { AccountStatus } from '../../collect/serve/accountStatus.ts';
import type { AccountCollector } from '../../collect/accounts/accountCollector.ts';
import { Collector } from '../../collect/collector.ts';
import type { AccountConfig, Config } from '../../config/config.ts';
import { FIRST_OF, GROUPS, type Group } from '../../reads/reads.ts';
import { errorText } from '../../log/logger.ts';
import { escapeLines, escapeUnsafe } from '../../text/escaping.ts';
import { loadOrExit, openLog, logIfFromEnvironment, type LoadedConfiguration } from '../../cli/configuration.ts';
import type { CommonOptions } from '../../cli/flags.ts';
import { ExitStatus, OutputError, printError, stopOnSignals, UsageError, colourLines } from '../../cli/process.ts';
import { showProgress } from '../terminal.ts';
import { clientOptions, observeCalls, openReader } from '../../cli/createReader.ts';
import type { RestReaderOptions } from '../../api/rest/restReader.ts';
import type { CallOptions, UpstreamReader } from '../../api/upstreamReader.ts';
import { UpstreamError, type FailureReason, REMEDIES } from '../../api/upstreamError.ts';
import { systemClock } from '../../eventLoop/clock.ts';
import { AccountLimiter, UserPlaces } from '../../collect/schedule/limiter.ts';
import { expandAccounts, type Expansion } from '../../collect/accounts/expandAccounts.ts';
import { suggest } from '../../text/wording.ts';
import { HOUR_MS } from '../../formulas/units.ts';

export interface CommandContext {
  readonly config: Config;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly openReader: AccountsDependencies['openReader'];
  /** Returns the client options for requests outside the reader. */
  readonly clientOptions: (account: AccountConfig, config: Config, limiter: AccountLimiter) => RestReaderOptions;
  readonly mask: (text: string) => string;
  /** Writes to standard output, with keys masked. */
  readonly print: (text: string) => void;
  /** Prints an error, with keys masked. The remedy for each reason follows once, at the end. */
  readonly reportError: (sentence: string, reason?: FailureReason) => void;
}

export interface ReadingOptions extends CommonOptions {
  /** The configuration, if the caller has read it. */
  readonly loaded?: LoadedConfiguration;
  /** The only account to read; undefined: all accounts. */
  readonly account?: string | undefined;
}

/** Runs a command that reads from New Relic. Prints a failure. Status 2 for wrong usage, 1 for other failures. */
export async function runReadingCommand(options: ReadingOptions, run: (context: CommandContext) => Promise<void>) {
  const loaded = options.loaded ?? (await loadOrExit({ configFile: options['config.file'], once: true }));
  const { logger, secrets } = openLog(options);
  // Masks the keys of all accounts, because a response may echo any key.
  for (const account of loaded.config.accounts) secrets.add(readKey(account) ?? '');
  const signal = stopOnSignals();
  // A wait for the budget does not keep the process alive.
  const alive = setInterval(() => undefined, HOUR_MS);
  const mask = (text: string): string => secrets.mask(text);
  const hints = new Set<string>();
  const reportError = (text: string, reason?: FailureReason, escape = escapeUnsafe): void => {
    printError(mask(escape(text)));
    if (reason !== undefined) hints.add(`hint: ${REMEDIES[reason]}\n`);
  };
  const surroundings = {
    secrets,
    environment: process.env,
    observer: (name: string) => observeCalls(undefined, logger.child({ account: name })),
    keyProblem: () => undefined,
  };
  try {
    logIfFromEnvironment(logger, loaded.path);
    await run({
      config: loaded.config,
      signal,
      logger,
      openReader: (account, from, limiter, before) => openReader(account, from, surroundings, limiter, before),
      clientOptions: (account, from, limiter) => clientOptions(account, from, surroundings, limiter),
      mask,
      print: (text) => void process.stdout.write(mask(text)),
      reportError,
    });
  } catch (error) {
    if (signal.reason instanceof ExitStatus) {
      process.stderr.write('stopped\n');
      throw signal.reason;
    }
    if (error instanceof ExitStatus) throw error;
    if (error instanceof UsageError) {
      reportError(error.message);
      throw new ExitStatus(2);
    }
    if (signal.reason instanceof OutputError) throw signal.reason;
    const withStack = options['log.level'] === 'debug';
    reportError(errorText(error, withStack), reasonOf(error), withStack ? escapeLines : escapeUnsafe);
    throw new ExitStatus(1);
  } finally {
    clearInterval(alive);
    for (const hint of hints) process.stderr.write(colourLines(hint, process.stderr));
  }
}

export function reasonOf(error: unknown): FailureReason | undefined {
  if (error instanceof UpstreamError) return error.failure.reason;
  return error instanceof Error ? reasonOf(error.cause) : undefined;
}

/** An account that a command reads from, with the daemon's client and limits. */
export interface LiveAccount {
  readonly config: AccountConfig;
  readonly reader: UpstreamReader;
  readonly limiter: AccountLimiter;
  readonly call: CallOptions;
}

export type LiveSession = Pick<CommandContext, 'config' | 'signal'> & { readonly accounts: readonly LiveAccount[] };

/** Returns the only account. Throws a UsageError if there are several. */
export function requireSingleAccount({ accounts }: Config): AccountConfig {
  const [account, ...others] = accounts;
  if (account !== undefined && others.length === 0) return account;
  if (account === undefined) throw new UsageError('there is no account');
  throw new UsageError(`there are several accounts (${namesOf(accounts)}): choose one with --account`);
}

/**
 * Runs a command on the accounts that `--account` chooses, and closes them. `prepare` changes the configuration before
 * the accounts open, or throws a UsageError.
 */
export function withAccounts(
  options: ReadingOptions,
  run: (session: LiveSession & CommandContext) => Promise<void>,
  prepare: (config: Config) => Config = (config) => config,
): Promise<void> {
  return runReadingCommand(options, async (context) => {
    const config = prepare({ ...context.config, accounts: await chooseAccounts(context, options.account) });
    const accounts = openAccounts({ ...context, config });
    try {
      await run({ ...context, config, accounts });
    } finally {
      await Promise.allSettled(accounts.map(({ reader }) => reader.close()));
    }
  });
}

/**
 * Returns the accounts that `--account` names: one by name or number, or all accounts of an entry. Reads the account
 * lists unless an account of the file has the name. Throws a UsageError for an unknown name.
 */
async function chooseAccounts(context: CommandContext, name: string | undefined): Promise<readonly AccountConfig[]> {
  const { accounts: file } = context.config;
  const written = file.filter(({ account_ids }) => account_ids === undefined);
  const isKnown = written.length === file.length || written.some((account) => account.name === name);
  const accounts = isKnown ? written : (await readAccountLists(context)).accounts;
  if (name === undefined) return accounts;
  const ways = [
    (account: AccountConfig) => account.name === name,
    (account: AccountConfig) => String(account.account_id) === name,
    (account: AccountConfig) => account.origin?.entry === name,
  ];
  const found = ways.map((isMeant) => accounts.filter(isMeant)).find(({ length }) => length > 0);
  if (found !== undefined) return found;
  if (file.some((entry) => entry.name === name)) throw new UsageError(`entry ${name} has no account`);
  const names = [...accounts, ...file.filter((entry) => !written.includes(entry))].map((each) => each.name);
  throw new UsageError(`there is no account "${name}": the accounts are ${namesOf(accounts)}${suggest(name, names)}`);
}

/** A key may see thousands of accounts. */
const MAX_NAMED = 20;

function namesOf(accounts: readonly AccountConfig[]): string {
  const named = accounts.slice(0, MAX_NAMED).map(({ name }) => name);
  return named.join(', ') + (accounts.length > MAX_NAMED ? ` and ${accounts.length - MAX_NAMED} more` : '');
}

type Opening = Pick<CommandContext, 'config' | 'signal' | 'openReader'>;

/** Opens accounts. NerdGraph accounts share the places of one user: finding the users would take calls. */
export function openAccounts({ config, signal, openReader }: Opening): readonly LiveAccount[] {
  const shared = new UserPlaces();
  return config.accounts.map((account) => {
    const limiter = new AccountLimiter(account.limits, systemClock);
    const { reader } = openReader(account, config, limiter);
    if (reader.api === 'nerdgraph') limiter.share(shared);
    return { config: account, reader, limiter, call: { signal, patient: true } };
  });
}

/** Reads the lists of all entries. Rejects with an Error that names the entry. */
export async function readAccountLists(context: Opening & Pick<CommandContext, 'mask'>): Promise<Expansion> {
  const { accounts: file } = context.config;
  const entries = file.filter(({ account_ids }) => account_ids !== undefined);
  const opened = openAccounts({ ...context, config: { ...context.config, accounts: entries } });
  try {
    const read = opened.map(async ({ config, reader, call }) => {
      try {
        const { accounts = [], problem } = (await reader.listAccounts?.(call)) ?? {};
        if (problem !== undefined) process.stderr.write(context.mask(`warning: entry ${config.name}: ${problem}\n`));
        return [config.name, accounts] as const;
      } catch (cause) {
        context.signal.throwIfAborted();
        throw new Error(`entry ${config.name}: the list of accounts cannot be read`, { cause });
      }
    });
    await Promise.allSettled(read);
    return expandAccounts(file, new Map(await Promise.all(read)), []);
  } finally {
    await Promise.allSettled(opened.map(({ reader }) => reader.close()));
  }
}

const PROGRESS_EVERY_MS = 250;

/** These groups decide how many calls metric data take. */
const LISTS: ReadonlySet<Group> = new Set(GROUPS.filter((group) => /^(?:list|names)$/.test(FIRST_OF[group].gives)));

/** Runs a command on the lists of all accounts. The daemon's collector reads them, so the plan is the same. */
export function withLists(
  options: ReadingOptions,
  run: (context: CommandContext & { readonly collector: Collector }) => Promise<void> | void,
): Promise<void> {
  return runReadingCommand(options, async (context) => {
    const { config, signal, logger, openReader } = context;
    const collector = new Collector(config, {
      clock: systemClock,
      ignoreDemand: true,
      // The command prints the failures itself, so the log has them only at debug.
      log: logger.level === 'debug' ? logger : logger.child({}, { level: 'silent' }),
      openReader,
    });
    const progress = showProgress('reading lists');
    const progressTimer = setInterval(() => {
      const lists = collector.status().flatMap(({ tasks }) => tasks.filter(({ group }) => LISTS.has(group)));
      progress.update(lists.filter(({ seconds }) => seconds !== undefined).length, lists.length);
    }, PROGRESS_EVERY_MS);
    try {
      await collector.refresh({ groups: LISTS, listsOnly: true }, Infinity, signal, true).finally(() => {
        clearInterval(progressTimer);
        progress.stop();
      });
      signal.throwIfAborted();
      await run({ ...context, collector });
    } finally {
      await collector.stop();
    }
  });
}

/** Returns the status of each account with its collector. */
export function pairAccounts(collector: Collector): readonly (readonly [AccountStatus, AccountCollector])[] {
  const statuses = collector.status();
  return collector.collectors().map((each, index) => [statuses[index] as AccountStatus, each]);
}

/** Reports the accounts whose application list cannot be read. Returns their names. */
export function reportUnread(statuses: readonly AccountStatus[], reportError: CommandContext['reportError']) {
  const unread = new Set<string>();
  for (const { name, applications, groups, tasks } of statuses) {
    if (applications !== undefined || !groups.some(({ group }) => group === 'applications')) continue;
    const { problem = 'nothing was read', reason } = tasks.find(({ group }) => group === 'applications') ?? {};
    reportError(`account ${name}: the application list cannot be read: ${problem}`, reason);
    unread.add(name);
  }
  return unread;
}
