import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { UpstreamReader } from '../../api/upstreamReader.ts';
import type { AccountConfig, Config } from '../../config/config.ts';
import { withTimeout, type Clock } from '../../eventLoop/clock.ts';
import { customMetrics } from '../../metrics/customMetrics.ts';
import { prepareQueries } from '../../metrics/queryFamilies.ts';
import { AccountCollector } from './accountCollector.ts';
import { AccountList } from './accountList.ts';
import { expandAccounts, originKey, type ExpandedEntry, type Expansion } from './expandAccounts.ts';
import { AccountLimiter, UserPlaces } from '../schedule/limiter.ts';
import { enabledGroups, type AccountContext } from '../inventory/accountContext.ts';
import { MetricSelections } from '../inventory/selection.ts';

const REQUEST_AGAIN_AFTER = 3_600_000;

/** All accounts share while the user of some key is not known yet: it may be the user of any other key. */
const UNKNOWN = 'unknown';

/** The new accounts of lists that are opened in one turn: each takes up to half a millisecond. */
const OPENED_AT_ONCE = 5;

export type AccountReader = Pick<AccountContext, 'reader' | 'keyMark'>;

export interface AccountsDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Opens the reader of an account on its limiter, with the learned state of the reader that it replaces. Throws when it cannot be
   * opened.
   */
  readonly openReader: (
    account: AccountConfig,
    config: Config,
    limiter: AccountLimiter,
    before?: UpstreamReader,
  ) => AccountReader;
  /** True: plans and states count all tasks, requested or not. */
  readonly ignoreDemand?: boolean;
}

/** An entry with `account_ids`: its list, what became of the accounts in it, and the accounts that are read. */
export interface Entry {
  readonly list: AccountList;
  /** Undefined before the first good list. */
  readonly expanded: ExpandedEntry | undefined;
  readonly accounts: readonly AccountCollector[];
}

/** What calls New Relic for itself: an account, or the list of an entry. */
type Caller = AccountCollector | AccountList;

interface Opened<Each extends Caller> {
  readonly caller: Each;
  readonly context: AccountContext;
}

/** Which accounts there are: those of the file, and in the places of its entries with `account_ids` the accounts of their lists. */
export class Accounts {
  readonly concurrency = new UserConcurrency();
  readonly #dependencies: AccountsDependencies;
  #config: Config;
  #byName: ReadonlyMap<string, AccountCollector> = new Map();
  #lists: ReadonlyMap<string, AccountList> = new Map();
  #expansion: Expansion = { accounts: [], entries: new Map() };
  /** The versions of the lists that the expansion was made from. */
  #expandedFrom: string | undefined;

  constructor(config: Config, dependencies: AccountsDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    this.reconfigure(config);
  }

  /** Takes over a configuration. Throws, and changes nothing, when a reader cannot be opened. */
  reconfigure(config: Config): void {
    this.#take(config, []);
  }

  get configs(): readonly AccountConfig[] {
    return this.#expansion.accounts;
  }

  all(): readonly AccountCollector[] {
    return [...this.#byName.values()];
  }

  get lists(): readonly AccountList[] {
    return [...this.#lists.values()];
  }

  entries(): readonly Entry[] {
    return this.lists.map((list) => ({
      list,
      expanded: this.#expansion.entries.get(list.entry),
      accounts: this.all().filter((account) => account.list === list),
    }));
  }

  /**
   * Reads the lists that are due. Resolves when all have been read, after `waitMs` milliseconds, or when the signal is aborted; a
   * list that comes later is taken over then. Never rejects.
   */
  async readLists(waitMs: number, signal?: AbortSignal): Promise<void> {
    const { lists } = this;
    if (lists.length === 0) return;
    // A list that failed is not waited for again while there is an earlier one.
    const isAwaited = lists.map((list) => list.problem === undefined || list.accounts === undefined);
    const readings = lists.map((list) => list.read());
    const awaited = Promise.all(readings.filter((_, index) => isAwaited[index]));
    void Promise.all(readings).then(() => this.#expand());
    await withTimeout(awaited, waitMs, this.#dependencies.clock, signal);
    // All are taken over together, so that names do not depend on which comes first.
    await this.#expand();
  }

  async stop(): Promise<void> {
    this.concurrency.stop();
    const all = [...this.#lists.values(), ...this.#byName.values()];
    for (const each of all) each.stop();
    await Promise.allSettled(all.map(({ context }) => context.reader.close()));
  }

  /**
   * Takes over what the lists have now; new accounts are opened in portions, so that other work gets a turn. When a reader cannot
   * be opened, the accounts stay as they are. Never rejects.
   */
  async #expand(): Promise<void> {
    while (this.#expandedFrom !== versionsOf(this.#lists) || this.#byName.size < this.#expansion.accounts.length) {
      try {
        this.#take(this.#config, this.#expansion.accounts, OPENED_AT_ONCE);
      } catch (error) {
        const text = 'An account of a list cannot be read: the accounts stay as they were';
        this.#dependencies.log.error({ err: error }, text);
        return;
      }
      await nextTurn();
    }
  }

  /**
   * @param before the accounts that keep their names, as in `expandAccounts`
   * @param mostNew the most new accounts that are opened
   */
  #take(config: Config, before: readonly AccountConfig[], mostNew = Infinity): void {
    const { collection } = config;
    const { clock, log, openReader, ignoreDemand = false } = this.#dependencies;
    const readers: UpstreamReader[] = [];
    const contextOf: ContextOf = (account, limiter, from) => {
      if (from?.account === account && from.collection === collection) return from;
      const { name, account_ids, custom_metrics } = account;
      const opened = openReader(account, config, limiter, from?.reader);
      readers.push(opened.reader);
      // Custom metrics that are defined as before stay the same objects, so that the last read data are not calculated again.
      const isSame = JSON.stringify(from?.account.custom_metrics) === JSON.stringify(custom_metrics);
      const metrics = from !== undefined && isSame ? from.customMetrics : customMetrics(custom_metrics);
      return {
        ...opened,
        account,
        collection,
        clock,
        logger: log.child(account_ids === undefined ? { account: name } : { entry: name }),
        enabled: enabledGroups(account, opened.reader),
        customMetrics: metrics,
        selections: new MetricSelections(metrics),
        queries: prepareQueries(account.queries),
        ignoreDemand,
      };
    };
    let lists: ReadonlyMap<string, Opened<AccountList>>;
    let expansion: Expansion;
    let accounts: ReadonlyMap<string, Opened<AccountCollector>>;
    try {
      const entries = config.accounts.filter(({ account_ids }) => account_ids !== undefined);
      lists = openAll(entries, this.lists, clock, contextOf, AccountList);
      if (config === this.#config && this.#expandedFrom === versionsOf(this.#lists)) expansion = this.#expansion;
      else {
        const listed = Array.from(lists, ([name, { caller }]) => [name, caller.accounts] as const);
        expansion = expandAccounts(config.accounts, new Map(listed), before);
      }
      const known = new Set(this.all().map(({ context }) => identityOf(context.account)));
      const fresh = expansion.accounts.filter((account) => !known.has(identityOf(account)));
      const waiting = new Set(fresh.slice(mostNew));
      const taken = expansion.accounts.filter((account) => !waiting.has(account));
      accounts = openAll(taken, this.all(), clock, contextOf, AccountCollector);
    } catch (error) {
      for (const reader of readers) void reader.close();
      throw error;
    }
    this.#config = config;
    this.#expansion = expansion;
    this.#lists = this.#replace(this.#lists, lists);
    this.#expandedFrom = versionsOf(this.#lists);
    for (const { caller, context } of accounts.values()) {
      caller.list = context.account.origin && this.#lists.get(context.account.origin.entry);
      if (caller.list !== undefined) caller.list.hasExported = true;
    }
    this.#byName = this.#replace(this.#byName, accounts);
    this.share();
  }

  /** Gives callers their new contexts, and stops the ones that are gone. */
  #replace<Each extends Caller>(
    before: ReadonlyMap<string, Each>,
    opened: ReadonlyMap<string, Opened<Each>>,
  ): ReadonlyMap<string, Each> {
    const gone = new Set(before.values());
    for (const { caller, context } of opened.values()) {
      gone.delete(caller);
      if (caller.context === context) continue;
      // Reads in flight finish with the old reader, pages, retries and pauses included.
      caller.context.reader.retire();
      caller.reconfigure(context);
    }
    for (const caller of gone) {
      caller.stop();
      void caller.context.reader.close();
    }
    return new Map(Array.from(opened, ([name, { caller }]) => [name, caller]));
  }

  /** Shares the calls at once anew, after keys or accounts have changed. */
  share(): void {
    this.concurrency.share([...this.#lists.values(), ...this.#byName.values()]);
  }
}

type ContextOf = (account: AccountConfig, limiter: AccountLimiter, before?: AccountContext) => AccountContext;

/** The callers of these configurations by name: what has the same identity stays, and gets a context for a changed configuration. */
function openAll<Each extends Caller>(
  accounts: readonly AccountConfig[],
  before: readonly Each[],
  clock: Clock,
  contextOf: ContextOf,
  Caller: new (context: AccountContext, limiter: AccountLimiter) => Each,
): ReadonlyMap<string, Opened<Each>> {
  const known = new Map(before.map((caller) => [identityOf(caller.context.account), caller]));
  return new Map(
    accounts.map((account) => {
      const same = known.get(identityOf(account));
      const limiter = same?.limiter ?? new AccountLimiter(account.limits, clock);
      const context = contextOf(account, limiter, same?.context);
      return [account.name, { caller: same ?? new Caller(context, limiter), context }];
    }),
  );
}

/** An account that is the same keeps its data: one of the file by its name, one of a list by its number. */
function identityOf(account: AccountConfig): string {
  const { name, api, account_id, base_url, origin } = account;
  return origin === undefined ? JSON.stringify([name, api, account_id, base_url]) : originKey(account);
}

function versionsOf(lists: ReadonlyMap<string, AccountList>): string {
  return Array.from(lists.values(), ({ version }) => version).join();
}

/**
 * Shares the concurrent calls that New Relic allows a user of NerdGraph among the accounts whose keys are of that user. If
 * there are several keys, the user of each key is requested once; a key with an unknown user shares only with accounts of the
 * same key.
 */
class UserConcurrency {
  readonly #stopping = new AbortController();
  /**
   * By the mark of the key: the name under which its accounts share, and the time when its user may be requested again; while it
   * is requested, the account that does so.
   */
  readonly #users = new Map<
    string,
    { readonly by: string; readonly requestAt: number; readonly requestedBy?: Caller }
  >();
  #accounts: readonly Caller[] = [];
  /** A single key has no other key to share with, so its user does not matter. */
  #hasOneKey = true;

  share(accounts: readonly Caller[]): void {
    this.#accounts = accounts.filter(
      ({ context: { reader } }) => reader.api === 'nerdgraph' || reader.queries !== undefined,
    );
    this.#hasOneKey = new Set(this.#accounts.map(({ keyMark }) => keyMark)).size < 2;
    // The request of an account that was removed may never end: another account of the key makes it again.
    for (const [keyMark, { requestedBy }] of this.#users) {
      if (requestedBy !== undefined && !accounts.includes(requestedBy)) this.#users.delete(keyMark);
    }
    const users = this.#accounts.map(({ keyMark, context }) => {
      return this.#users.get(keyMark)?.by ?? (context.reader.user === undefined ? keyMark : UNKNOWN);
    });
    const isUnknown = users.includes(UNKNOWN);
    const places = new Map<string, UserPlaces>();
    for (const { limiter } of accounts) limiter.share(undefined);
    for (const [index, { limiter, keyMark }] of this.#accounts.entries()) {
      const by = this.#hasOneKey ? keyMark : isUnknown ? UNKNOWN : (users[index] ?? keyMark);
      const ofUser = places.get(by) ?? new UserPlaces();
      places.set(by, ofUser);
      limiter.share(ofUser);
    }
    // Calls start only after all accounts have moved: earlier, calls in flight of accounts that move later would not count.
    for (const { limiter } of accounts) limiter.wake();
  }

  /** Requests the unknown users, in the background. `now` is in milliseconds of the monotonic clock. */
  learn(now: number): void {
    if (this.#hasOneKey) return;
    for (const account of this.#accounts) {
      const { keyMark, context } = account;
      const known = this.#users.get(keyMark);
      const { user } = context.reader;
      if (user === undefined || (known !== undefined && now < known.requestAt)) continue;
      this.#users.set(keyMark, { by: known?.by ?? UNKNOWN, requestAt: Infinity, requestedBy: account });
      const learned = (by: string, requestAt: number): void => {
        this.#users.set(keyMark, { by, requestAt });
        this.share(this.#accounts);
      };
      void user({ signal: this.#stopping.signal }).then(
        (id) => learned(`user ${id}`, Infinity),
        () => learned(keyMark, now + REQUEST_AGAIN_AFTER),
      );
    }
  }

  stop(): void {
    this.#stopping.abort(new Error('the exporter stops'));
  }
}
