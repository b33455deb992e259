import type { Logger } from 'pino';
import type { ListedAccount, UpstreamReader, Diagnosis } from '../api/upstreamReader.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import { customMetrics } from '../metrics/customMetrics.ts';
import { prepareQueries } from '../metrics/queryFamilies.ts';
import { GROUPS } from '../reads/reads.ts';
import { SampleWriter } from '../metrics/writeSamples.ts';
import type { AccountContext } from './accountContext.ts';
import { AccountList, type AccountListContext } from './accountList.ts';
import { expandAccounts, originKey, type Expansion } from './expandAccounts.ts';
import { AccountLog } from './accountLog.ts';
import { type Scope } from './scope.ts';
import { AccountCollector } from './accountCollector.ts';
import { applicationViews, statusInPortions, statusOf, summaryOf, type AccountStatus } from './accountStatus.ts';
import {
  customExamples,
  missingInEntry,
  noticesOf,
  unmatchedExclusions,
  unmatchedWarnings,
} from './accountWarnings.ts';
import { entryStatus, type EntryStatus } from './entryStatus.ts';
import { AccountSnapshot } from './accountSnapshot.ts';
import { expectedSeries } from './expectedSeries.ts';
import { probeResult, type ProbeResult } from './probeResult.ts';
import type { EvaluationTime } from './due.ts';
import { MetricSelections } from './metricSelections.ts';
import type { Clock } from './clock.ts';
import { UserConcurrency } from './userConcurrency.ts';

/**
 * The period of the timer that looks for due work, in milliseconds. Windows and intervals decide what is due, not this timer.
 */
const TICK = 10_000;
/** The largest part of the period by which a tick comes earlier or later. */
const JITTER = 0.2;

/** A reader of one account and the key it uses. */
export type AccountReader = Pick<AccountContext, 'reader' | 'keyMark'>;

interface CollectorDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens the reader of an account, with the learned state of the reader that it replaces. Throws when it cannot be opened. */
  readonly openReader: (account: AccountConfig, config: Config, before?: object) => AccountReader;
  /** True: plans and states count all tasks, requested or not. */
  readonly ignoreDemand?: boolean;
}

export type Snapshot = Awaited<ReturnType<Collector['snapshot']>>;

/** Collects all accounts of a configuration. Each has its own budget and is independent of the others. */
export class Collector {
  readonly #dependencies: CollectorDependencies;
  #config: Config;
  #isReady = false;
  /** By name, those of entries with `account_ids` in the place of their entry. */
  #accounts = new Map<string, AccountCollector>();
  /** The lists of the entries with `account_ids`, by the name of the entry. */
  #lists: ReadonlyMap<string, AccountList> = new Map();
  /** The accounts as they are now, made from the configuration and the lists. */
  #expansion: Expansion = { accounts: [], entries: new Map() };
  /** The versions of the lists that the expansion was made from. */
  #expandedFrom = '';
  /** Readers from before a reload, until they are closed. */
  readonly #retired = new Set<UpstreamReader>();
  readonly #concurrency: UserConcurrency;
  readonly #writer = new SampleWriter();
  /** Start of the newest refresh, in milliseconds of the monotonic clock; background mode judges freshness at this time. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: CollectorDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    this.#concurrency = new UserConcurrency(dependencies.clock);
    this.#take(config);
  }

  /**
   * Takes over a validated configuration. An account with the same name, interface, account id and address keeps its last read
   * values and its spent budget, and so does an account of a list by its number and address; removed accounts are stopped. An
   * entry keeps its list by name and address. Throws, and changes nothing, when a reader cannot be opened.
   */
  reconfigure(config: Config): void {
    const { isReady } = this;
    this.#take(config);
    this.#isReady = isReady;
  }

  #take(config: Config): void {
    const lists = this.#openLists(config);
    try {
      const expansion = expandAccounts(config.accounts, listsOf(lists), []);
      const opened = this.#open(config, expansion, lists);
      this.#config = config;
      this.#replaceLists(lists);
      this.#replaceAccounts(expansion, opened);
    } catch (error) {
      for (const { context } of lists.values()) void context.reader.close();
      throw error;
    }
  }

  /**
   * Starts all due tasks of the scope. Resolves when they have ended, after `waitMs` milliseconds, at once when they cannot end
   * by then, or when the signal is aborted. The work continues in each case. Never rejects.
   */
  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#config.collection.background) return;
    await this.refreshNow(scope, waitMs, signal);
  }

  /** The same as `refresh`, but also in background mode, where the timer calls it. */
  async refreshNow(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#dependencies;
    const deadline = clock.monotonic() + waitMs;
    this.#lastRefresh = clock.monotonic();
    const accounts = this.#accountsOf(scope);
    for (const account of this.#accounts.values()) account.noticeKey();
    this.#share();
    if (scope.groups.size > 0) this.#concurrency.learn();
    const added = this.#readLists(waitMs, signal).then(() =>
      this.#refresh(
        this.#accountsOf(scope).filter((account) => !accounts.includes(account)),
        scope,
        deadline - clock.monotonic(),
        signal,
      ),
    );
    await Promise.all([this.#refresh(accounts, scope, waitMs, signal), within(added, waitMs, clock, signal)]);
  }

  async #refresh(accounts: readonly AccountCollector[], scope: Scope, waitMs: number, signal?: AbortSignal) {
    await Promise.all(accounts.map((account) => account.refresh(scope, waitMs, signal)));
    for (const account of accounts) writeNotices(account);
    for (const list of this.#lists.values()) list.log.warnings(this.#entryNotices(list.entry));
  }

  /**
   * Reads the lists of accounts that are due, unless the timer does (`collection.background`), and takes over what has arrived.
   * Resolves when all have been read, after `waitMs` milliseconds, or when the signal is aborted; a list that comes later is
   * taken over then. Never rejects.
   */
  async readLists(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#config.collection.background) await this.#readLists(waitMs, signal);
  }

  async #readLists(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#lists.size === 0) return;
    const lists = [...this.#lists.values()];
    // A list that failed is not waited for again while there is an earlier one.
    const isAwaited = lists.map((list) => list.problem === undefined || list.accounts === undefined);
    const readings = lists.map((list) => list.read());
    const awaited = Promise.all(readings.filter((_, index) => isAwaited[index]));
    void Promise.all(readings).then(() => this.#expand());
    await within(awaited, waitMs, this.#dependencies.clock, signal);
    // All are taken over together, so that names do not depend on which comes first.
    this.#expand();
  }

  /**
   * Refreshes at once and then on a timer (`collection.background`), whose jitter keeps several exporters from calling New
   * Relic at the same time. A tick does not wait for the previous refresh: tasks that still wait are read for the newer window.
   *
   * @param random gives numbers from 0 to below 1
   * @returns a function that stops the timer
   */
  refreshInBackground(random: () => number): () => void {
    const everything = { groups: new Set(GROUPS) };
    let cancel: () => void;
    const schedule = (): void => {
      cancel = this.#dependencies.clock.after(TICK * (1 - JITTER + 2 * JITTER * random()), () => {
        schedule();
        void this.refreshNow(everything, 0);
      });
    };
    schedule();
    void this.refreshNow(everything, Infinity);
    return () => cancel();
  }

  /**
   * The samples that are served now, built in portions so that other work gets a turn. `asOf`, milliseconds of the monotonic
   * clock, is the start of the scrape, at which freshness is judged; in background mode the start of the timer's newest refresh
   * is used instead. Rejects only with the reason of the signal, which ends the work.
   */
  async snapshot(scope: Scope, asOf?: number, signal?: AbortSignal) {
    return this.#snapshot(scope, this.#time(asOf), summaryOf, signal);
  }

  /**
   * The samples that are served now with the whole state of the accounts, for the pages. It requests no task. Rejects only with the
   * reason of the signal, which ends the work.
   */
  async overview(scope: Scope, signal?: AbortSignal) {
    const stateOf = (...of: Parameters<typeof summaryOf>) => statusInPortions(of, signal);
    return this.#snapshot(scope, this.#time(undefined), stateOf, signal);
  }

  async #snapshot<State>(
    scope: Scope,
    time: EvaluationTime,
    stateOf: (...of: Parameters<typeof summaryOf>) => State | Promise<State>,
    signal?: AbortSignal,
  ) {
    const wallNow = this.#dependencies.clock.now();
    const snapshots: AccountSnapshot[] = [];
    const accounts: State[] = [];
    // Snapshots are built one after the other; each yields to other work.
    for (const account of this.#accountsOf(scope)) {
      account.schedule.advanceWindow();
      const snapshot = await AccountSnapshot.inPortions(account, scope, time, signal);
      snapshots.push(snapshot);
      accounts.push(await stateOf(account, snapshot, time, wallNow));
    }
    return {
      blocks: snapshots.flatMap(({ blocks }) => blocks),
      /** True when every due task of the scope is fresh. */
      complete: snapshots.every(({ complete }) => complete),
      /** Series that the `max_series` of custom metrics and queries leave out, by read. */
      cut: snapshots.flatMap(({ cut }) => cut),
      entries: this.entries(),
      /** The state is of the same moment as the series: a task without series never counts as fresh. */
      accounts,
    };
  }

  /** The state of all accounts, built in one step. */
  status(): readonly AccountStatus[] {
    const time = this.#time(undefined);
    return this.#accountsOf().map((account) => {
      account.schedule.updateAtOnce();
      // A scope without groups gives the same state, and collects no samples.
      const snapshot = AccountSnapshot.atOnce(account, { groups: new Set() }, time);
      return statusOf(account, snapshot, time, this.#dependencies.clock.now());
    });
  }

  /**
   * The served applications of each account that reads applications, and `listed`, the length of its list before the filters.
   * Both are undefined when the list was never read or is too old to be served.
   */
  applicationLists() {
    const time = this.#time(undefined);
    const reading = this.#accountsOf().filter(({ context }) => context.account.applications.read);
    return reading.map((account) => {
      const { inventory, schedule, context, isWithoutApplications } = account;
      const isServed = schedule.stateOf(inventory.applicationList, time) !== 'missing';
      return {
        account: context.account.name,
        /** True when it need not have applications: its key lists it, and it never listed one, but was tried. */
        isOptional: isWithoutApplications && inventory.applicationList.tried,
        listed: isServed ? inventory.listedApplications?.length : undefined,
        /** Made when it is asked for. */
        get applications() {
          return isServed ? applicationViews(account) : undefined;
        },
      };
    });
  }

  /** The ids of some applications of an account: every custom metric that matches anything matches in one of them. */
  customExamples(accountName: string): readonly number[] {
    const account = this.#accounts.get(accountName);
    return account === undefined ? [] : customExamples(account);
  }

  /** The entries of `exclude` of an account of the file, or of all accounts of an entry, that match nothing, in sentences. */
  unmatchedExclusions(name: string): readonly string[] {
    const account = this.#accounts.get(name);
    if (account === undefined) return unmatchedExclusions(this.#accountsOfEntry(name));
    return account.context.list === undefined ? unmatchedExclusions([account]) : [];
  }

  /** The maximum number of series of an account, by the lists and names known now; undefined for an unknown account. */
  expectedSeries(accountName: string): ReturnType<typeof expectedSeries> | undefined {
    const account = this.#accounts.get(accountName);
    return account === undefined ? undefined : expectedSeries(account, this.#time(undefined));
  }

  /**
   * Looks for problems that the lists of an account do not show; its calls keep to the budget of the account. Rejects with an
   * UpstreamError, or with the reason of the signal.
   */
  async diagnose(accountName: string, signal: AbortSignal): Promise<Diagnosis> {
    const account = this.#accounts.get(accountName);
    if (account === undefined) throw new Error(`there is no account ${accountName}`);
    const { schedule, limiter, context } = account;
    return context.reader.diagnose(schedule.advanceWindow(), { signal, limiter: limiter, patient: true });
  }

  /**
   * Refreshes one application and gives its result; waits at most `waitMs` milliseconds, or until the signal. Never rejects.
   */
  async probe(accountName: string, applicationId: number, waitMs: number, signal?: AbortSignal): Promise<ProbeResult> {
    if (!this.#accounts.has(accountName)) await this.readLists(waitMs, signal);
    const account = this.#accounts.get(accountName);
    if (account === undefined) {
      // While the accounts of an entry are not known, it may be one of them.
      const unread = this.entries().filter(({ exported }) => exported === undefined || exported === 0);
      if (!this.isIncomplete) return { kind: 'unknown_account' };
      const notes = unread.map(
        ({ entry, problem }) => `list of accounts of ${entry}: ${problem ?? 'it leaves no account'}`,
      );
      return { kind: 'unreadable', notes };
    }
    const scope = { groups: new Set(GROUPS), account: accountName, applicationId };
    const { asOf } = this.#time(undefined);
    await this.refresh(scope, waitMs, signal);
    return probeResult(account, scope, this.#time(asOf));
  }

  /** The configurations of all accounts as they are now, those of entries included. */
  get accounts(): readonly AccountConfig[] {
    return this.#expansion.accounts;
  }

  /** True while an entry has no account yet: it is not known which accounts there are. */
  get isIncomplete(): boolean {
    return [...this.#lists.values()].some(({ hasExported }) => !hasExported);
  }

  /** The state of the entries with `account_ids`, in the order of the configuration. */
  entries(): readonly EntryStatus[] {
    const { clock } = this.#dependencies;
    return Array.from(this.#lists.values(), (list) => {
      const ofEntry = this.#accountsOfEntry(list.entry);
      const missingMetrics = missingInEntry(ofEntry);
      const warnings = [...this.#ownWarnings(list.entry), ...unmatchedWarnings(ofEntry), ...missingMetrics];
      const verdicts = this.#expansion.entries.get(list.entry)?.verdicts;
      return entryStatus(list, verdicts, { warnings, missingMetrics }, clock);
    });
  }

  /** The warnings of an entry that may begin while the exporter runs. */
  #entryNotices(entry: string): string[] {
    return [...this.#ownWarnings(entry), ...missingInEntry(this.#accountsOfEntry(entry))];
  }

  #ownWarnings(entry: string): readonly string[] {
    return this.#expansion.entries.get(entry)?.warnings ?? [];
  }

  #accountsOfEntry(entry: string): readonly AccountCollector[] {
    return [...this.#accounts.values()].filter(({ context }) => context.account.origin?.entry === entry);
  }

  /**
   * True once a scrape can be served: in background mode after every known task was tried once. It stays true even if tasks are
   * added later.
   */
  get isReady(): boolean {
    return (this.#isReady ||=
      !this.#config.collection.background ||
      ([...this.#lists.values()].every(({ tried }) => tried) &&
        this.#accountsOf().every((account) => account.isExplored)));
  }

  /** False when an account could call New Relic and has not for minutes. */
  progressing(): boolean {
    return this.#accountsOf().every((account) => account.progressing());
  }

  /** Stops all calls to New Relic for good; never rejects, even with calls in flight. */
  async stop(): Promise<void> {
    this.#concurrency.stop();
    const all = [...this.#lists.values(), ...this.#accounts.values()];
    for (const each of all) each.stop();
    const readers = [...this.#retired, ...all.map(({ context }) => context.reader)];
    await Promise.allSettled(readers.map((reader) => reader.close()));
  }

  #accountsOf({ account }: Pick<Scope, 'account'> = {}): AccountCollector[] {
    return [...this.#accounts.values()].filter(
      ({ context }) => account === undefined || account === context.account.name,
    );
  }

  /** The times for judging freshness: as of `asOf`, by default now; in background mode as of the newest refresh. */
  #time(asOf: number | undefined): EvaluationTime {
    const now = this.#dependencies.clock.monotonic();
    const startedAt = this.#config.collection.background ? this.#lastRefresh : asOf;
    return { asOf: Math.min(startedAt ?? now, now), now };
  }

  /** Takes over what the lists of accounts have now. When a reader cannot be opened, everything stays as it is. */
  #expand(): void {
    const versions = Array.from(this.#lists.values(), ({ version }) => version).join();
    if (versions === this.#expandedFrom) return;
    const lists = new Map(Array.from(this.#lists, ([name, list]) => [name, { list, context: list.context }]));
    const expansion = expandAccounts(this.#config.accounts, listsOf(lists), this.#expansion.accounts);
    try {
      this.#replaceAccounts(expansion, this.#open(this.#config, expansion, lists));
      this.#expandedFrom = versions;
    } catch (error) {
      this.#dependencies.log.error(
        { err: error },
        'An account of a list cannot be read: the accounts stay as they were',
      );
    }
  }

  /** Opens the lists of the entries with `account_ids`; one of the same name and address stays. */
  #openLists(config: Config): ReadonlyMap<string, OpenedList> {
    const { clock, log, openReader } = this.#dependencies;
    const opened = new Map<string, OpenedList>();
    try {
      for (const account of config.accounts) {
        if (account.account_ids === undefined) continue;
        const before = this.#lists.get(account.name);
        const same = before?.context.account.base_url === account.base_url ? before : undefined;
        const reader = openReader(account, config, same?.context.reader.memory);
        const context = { ...reader, account, collection: config.collection, clock };
        const list = same ?? new AccountList(context, new AccountLog(log.child({ entry: account.name })));
        opened.set(account.name, { list, context });
      }
      return opened;
    } catch (error) {
      for (const { context } of opened.values()) void context.reader.close();
      throw error;
    }
  }

  /**
   * Makes the contexts of the accounts that are new or changed, by their configurations. When a reader cannot be opened, throws
   * that error and leaves no reader open.
   */
  #open(config: Config, { accounts }: Expansion, lists: ReadonlyMap<string, OpenedList>) {
    const { clock, openReader, ignoreDemand = false } = this.#dependencies;
    const opened = new Map<AccountConfig, AccountContext>();
    const known = this.#byIdentity();
    try {
      for (const account of accounts) {
        const before = known.get(identityOf(account))?.context;
        if (before?.account === account) continue;
        // Custom metrics that are defined as before stay the same objects, so that the last read data are not calculated again.
        const isSame = JSON.stringify(before?.account.custom_metrics) === JSON.stringify(account.custom_metrics);
        const prepared = before !== undefined && isSame ? before.customMetrics : customMetrics(account.custom_metrics);
        const reader = openReader(account, config, before?.reader.memory);
        opened.set(account, {
          ...reader,
          account,
          list: account.origin === undefined ? undefined : lists.get(account.origin.entry)?.list,
          collection: config.collection,
          customMetrics: prepared,
          selections: new MetricSelections(reader.reader, prepared),
          queries: prepareQueries(account.queries),
          writer: this.#writer,
          clock,
          ignoreDemand,
        });
      }
      return opened;
    } catch (error) {
      for (const { reader } of opened.values()) void reader.close();
      throw error;
    }
  }

  #replaceLists(opened: ReadonlyMap<string, OpenedList>): void {
    const lists = new Map(Array.from(opened, ([name, { list }]) => [name, list]));
    for (const [name, list] of this.#lists) {
      if (lists.get(name) === list) continue;
      list.stop();
      void list.context.reader.close();
    }
    for (const { list, context } of opened.values()) {
      if (list.context === context) continue;
      this.#closeLater(list.context.reader, list.readingUnderWay);
      list.reconfigure(context);
    }
    this.#lists = lists;
  }

  /** Adds, changes and removes accounts; those without a new context stay as they are. */
  #replaceAccounts(expansion: Expansion, opened: ReadonlyMap<AccountConfig, AccountContext>): void {
    const before = this.#byIdentity();
    this.#expansion = expansion;
    this.#accounts = new Map();
    for (const account of expansion.accounts) {
      const { name } = account;
      const identity = identityOf(account);
      const same = before.get(identity);
      const context = opened.get(account);
      before.delete(identity);
      if (same === undefined) {
        if (context === undefined) throw new Error(`account ${name} was not opened`);
        const log = new AccountLog(this.#dependencies.log.child({ account: name }));
        this.#accounts.set(name, new AccountCollector(context, log));
        continue;
      }
      this.#accounts.set(name, same);
      if (context === undefined) continue;
      if (name !== same.context.account.name) same.log.logger = this.#dependencies.log.child({ account: name });
      this.#closeLater(same.context.reader, same.readingsUnderWay());
      same.reconfigure(context);
    }
    for (const account of before.values()) {
      account.stop();
      void account.context.reader.close();
    }
    for (const { context } of this.#accounts.values()) if (context.list !== undefined) context.list.hasExported = true;
    this.#share();
  }

  #byIdentity(): Map<string, AccountCollector> {
    return new Map(Array.from(this.#accounts.values(), (account) => [identityOf(account.context.account), account]));
  }

  #share(): void {
    this.#concurrency.share([...this.#lists.values(), ...this.#accounts.values()]);
  }

  /** Reads in flight finish with the old reader, pages, retries and pauses included; then its connections are closed. */
  #closeLater(reader: UpstreamReader, readings: Promise<void>): void {
    reader.retire();
    this.#retired.add(reader);
    void readings.then(() => {
      this.#retired.delete(reader);
      return reader.close();
    });
  }
}

/** Logs new warnings at most once per window, because most data behind them are read once per window. */
function writeNotices(account: AccountCollector): void {
  const { to } = account.schedule.window;
  if (account.noticedFor === to) return;
  account.noticedFor = to;
  account.log.warnings(noticesOf(account));
}

/** An opened list, and the context that it gets when the configuration is taken over. */
interface OpenedList {
  readonly list: AccountList;
  readonly context: AccountListContext;
}

function listsOf(opened: ReadonlyMap<string, OpenedList>): ReadonlyMap<string, readonly ListedAccount[]> {
  return new Map(
    Array.from(opened).flatMap(([name, { list }]) => (list.accounts === undefined ? [] : [[name, list.accounts]])),
  );
}

/** An account that is the same keeps its data: one of the file by its name, one of a list by its number. */
function identityOf(account: AccountConfig): string {
  const { name, api, account_id, base_url, origin } = account;
  return origin === undefined ? JSON.stringify([name, api, account_id, base_url]) : originKey(account);
}

/** Waits for work, for `waitMs` milliseconds at most, or until the signal is aborted. */
async function within(work: Promise<unknown>, waitMs: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true || waitMs <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const cancel = waitMs === Infinity ? () => undefined : clock.after(waitMs, end);
    function end(): void {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    }
    signal?.addEventListener('abort', end, { once: true });
    work.then(end, reject);
  });
}
