import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { getOrAdd } from '../../api/maps.ts';
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

/** The shared name while the user of some key is unknown: any two keys may belong to one user. */
const UNKNOWN = 'unknown';

/** New accounts to open in one turn of the event loop. An account takes up to half a millisecond. */
const OPENED_PER_TURN = 5;

export type AccountReader = Pick<AccountContext, 'reader' | 'keyMark'>;

export interface AccountsDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens the reader of an account on its limiter; throws when it cannot. It learns from the reader `before`. */
  readonly openReader: (
    account: AccountConfig,
    config: Config,
    limiter: AccountLimiter,
    before?: UpstreamReader,
  ) => AccountReader;
  readonly ignoreDemand?: boolean;
}

/** An entry with `account_ids`, and its exported accounts. */
export interface Entry {
  readonly list: AccountList;
  /** Undefined before the first successful read of the list. */
  readonly expanded: ExpandedEntry | undefined;
  readonly accounts: readonly AccountCollector[];
}

/** An account, or the account list of an entry. Each has a limiter and a reader. */
type Caller = AccountCollector | AccountList;

interface Opened<Each extends Caller> {
  readonly caller: Each;
  readonly context: AccountContext;
}

/** The accounts of the file, in its order, with the listed accounts in place of each entry with `account_ids`. */
export class Accounts {
  readonly concurrency = new UserConcurrency();
  readonly #dependencies: AccountsDependencies;
  #config: Config;
  #byName: ReadonlyMap<string, AccountCollector> = new Map();
  #lists: ReadonlyMap<string, AccountList> = new Map();
  #expansion: Expansion = { accounts: [], entries: new Map() };
  /** The versions of the lists that the current expansion uses. */
  #expandedFrom: string | undefined;

  constructor(config: Config, dependencies: AccountsDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    this.reconfigure(config);
  }

  /** Throws, and changes nothing, when a reader cannot be opened. */
  reconfigure(config: Config): void {
    this.#apply(config, []);
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
   * Reads the due lists and applies them, also a late one. Resolves when these reads end, after `waitMs` milliseconds,
   * or when the signal aborts. Never rejects.
   */
  async readLists(waitMs: number, signal?: AbortSignal): Promise<void> {
    const { lists } = this;
    if (lists.length === 0) return;
    // The caller does not wait for the retry of a failed list while an earlier list is there.
    const isAwaited = lists.map((list) => list.problem === undefined || list.accounts === undefined);
    const readings = lists.map((list) => list.read());
    const awaited = Promise.all(readings.filter((_, index) => isAwaited[index]));
    void Promise.all(readings).then(() => this.#expand());
    await withTimeout(awaited, waitMs, this.#dependencies.clock, signal);
    // One step applies all lists, so that the names of accounts do not depend on the order of the responses.
    await this.#expand();
  }

  async stop(): Promise<void> {
    this.concurrency.stop();
    const all = [...this.#lists.values(), ...this.#byName.values()];
    for (const each of all) each.stop();
    await Promise.allSettled(all.map(({ context }) => context.reader.close()));
  }

  /** Applies the current lists. Opens new accounts in portions, so that other work gets a turn. */
  async #expand(): Promise<void> {
    while (this.#expandedFrom !== versionsOf(this.#lists) || this.#byName.size < this.#expansion.accounts.length) {
      try {
        this.#apply(this.#config, this.#expansion.accounts, OPENED_PER_TURN);
      } catch (error) {
        const text = 'Cannot open an account of a list: keeping the accounts as they are';
        this.#dependencies.log.error({ err: error }, text);
        return;
      }
      await nextTurn();
    }
  }

  /** @param before the accounts that keep their names, as in `expandAccounts` */
  #apply(config: Config, before: readonly AccountConfig[], maxNew = Infinity): void {
    const { collection } = config;
    const { clock, log, openReader, ignoreDemand = false } = this.#dependencies;
    const readers: UpstreamReader[] = [];
    const openContext: OpenContext = (account, limiter, previous) => {
      if (previous?.account === account && previous.collection === collection) return previous;
      const { name, account_ids, custom_metrics } = account;
      const opened = openReader(account, config, limiter, previous?.reader);
      readers.push(opened.reader);
      // Unchanged custom metrics stay the same objects, so that the inventory does not calculate the last data again.
      const isSame = JSON.stringify(previous?.account.custom_metrics) === JSON.stringify(custom_metrics);
      const metrics = previous !== undefined && isSame ? previous.customMetrics : customMetrics(custom_metrics);
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
      lists = openAll(entries, this.lists, clock, openContext, AccountList);
      if (config === this.#config && this.#expandedFrom === versionsOf(this.#lists)) expansion = this.#expansion;
      else {
        const listed = Array.from(lists, ([name, { caller }]) => [name, caller.accounts] as const);
        expansion = expandAccounts(config.accounts, new Map(listed), before);
      }
      const known = new Set(this.all().map(({ context }) => identityOf(context.account)));
      const fresh = expansion.accounts.filter((account) => !known.has(identityOf(account)));
      const postponed = new Set(fresh.slice(maxNew));
      const wanted = expansion.accounts.filter((account) => !postponed.has(account));
      accounts = openAll(wanted, this.all(), clock, openContext, AccountCollector);
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

  /** Reconfigures callers that have a new context. Stops callers that the configuration no longer has. */
  #replace<Each extends Caller>(
    before: ReadonlyMap<string, Each>,
    opened: ReadonlyMap<string, Opened<Each>>,
  ): ReadonlyMap<string, Each> {
    const gone = new Set(before.values());
    for (const { caller, context } of opened.values()) {
      gone.delete(caller);
      if (caller.context === context) continue;
      // The old reader finishes its reads in flight, including pages, retries and pauses.
      caller.reconfigure(context);
    }
    for (const caller of gone) {
      caller.stop();
      void caller.context.reader.close();
    }
    return new Map(Array.from(opened, ([name, { caller }]) => [name, caller]));
  }

  share(): void {
    this.concurrency.share([...this.#lists.values(), ...this.#byName.values()]);
  }
}

type OpenContext = (account: AccountConfig, limiter: AccountLimiter, previous?: AccountContext) => AccountContext;

/** Returns a caller and its context for each account, by name. An account with the same identity keeps its caller. */
function openAll<Each extends Caller>(
  accounts: readonly AccountConfig[],
  before: readonly Each[],
  clock: Clock,
  openContext: OpenContext,
  Caller: new (context: AccountContext, limiter: AccountLimiter) => Each,
): ReadonlyMap<string, Opened<Each>> {
  const known = new Map(before.map((caller) => [identityOf(caller.context.account), caller]));
  return new Map(
    accounts.map((account) => {
      const same = known.get(identityOf(account));
      const limiter = same?.limiter ?? new AccountLimiter(account.limits, clock);
      const context = openContext(account, limiter, same?.context);
      return [account.name, { caller: same ?? new Caller(context, limiter), context }];
    }),
  );
}

/** An account with the same identity keeps its data after a reload. The account id identifies an account of a list. */
function identityOf(account: AccountConfig): string {
  const { name, api, account_id, base_url, origin } = account;
  return origin === undefined ? JSON.stringify([name, api, account_id, base_url]) : originKey(account);
}

function versionsOf(lists: ReadonlyMap<string, AccountList>): string {
  return Array.from(lists.values(), ({ version }) => version).join();
}

/**
 * Shares the places of a NerdGraph user among the accounts with keys of that user. With several keys, requests the
 * user of each key once. If New Relic does not tell it, only the accounts of that key share places.
 */
class UserConcurrency {
  readonly #stopping = new AbortController();
  /** By the mark of a key; `requestAt`: when to ask again; `requestedBy`: the account whose request is in flight. */
  readonly #users = new Map<
    string,
    { readonly user: string; readonly requestAt: number; readonly requestedBy?: Caller }
  >();
  #accounts: readonly Caller[] = [];

  share(accounts: readonly Caller[]): void {
    this.#accounts = accounts.filter(
      ({ context: { reader } }) => reader.api === 'nerdgraph' || reader.queries !== undefined,
    );
    // The request of a removed account may never end, so another account with the key repeats it.
    for (const [keyMark, { requestedBy }] of this.#users) {
      if (requestedBy !== undefined && !accounts.includes(requestedBy)) this.#users.delete(keyMark);
    }
    const findUser = ({ keyMark, context }: Caller): string =>
      this.#users.get(keyMark)?.user ?? (context.reader.user === undefined ? keyMark : UNKNOWN);
    const isUnknown = this.#accounts.some((account) => findUser(account) === UNKNOWN);
    const places = new Map<string, UserPlaces>();
    for (const { limiter } of accounts) limiter.share(undefined);
    for (const account of this.#accounts) {
      const user = isUnknown ? UNKNOWN : findUser(account);
      account.limiter.share(getOrAdd(places, user, () => new UserPlaces()));
    }
    // The places count the calls in flight of all accounts only now, so no call may start before.
    for (const { limiter } of accounts) limiter.wake();
  }

  /** Requests unknown users in the background. `now`: milliseconds of the monotonic clock. */
  requestUsers(now: number): void {
    // All accounts with a single key share anyway.
    if (new Set(this.#accounts.map(({ keyMark }) => keyMark)).size < 2) return;
    for (const account of this.#accounts) {
      const { keyMark, context } = account;
      const known = this.#users.get(keyMark);
      const { user } = context.reader;
      if (user === undefined || (known !== undefined && now < known.requestAt)) continue;
      this.#users.set(keyMark, { user: known?.user ?? UNKNOWN, requestAt: Infinity, requestedBy: account });
      const store = (name: string, requestAt: number): void => {
        this.#users.set(keyMark, { user: name, requestAt });
        this.share(this.#accounts);
      };
      void user({ signal: this.#stopping.signal }).then(
        (id) => store(`user ${id}`, Infinity),
        () => store(keyMark, now + REQUEST_AGAIN_AFTER),
      );
    }
  }

  stop(): void {
    this.#stopping.abort(new Error('the exporter stops'));
  }
}
