import type { Config, AccountConfig } from '../config/config.ts';
import { withTimeout } from '../eventLoop/clock.ts';
import { inSlices } from '../eventLoop/turns.ts';
import { GROUPS } from '../reads/reads.ts';
import type { AccountCollector } from './accounts/accountCollector.ts';
import { Accounts, type AccountsDependencies } from './accounts/accounts.ts';
import { AccountSnapshot } from './serve/accountSnapshot.ts';
import {
  applicationViews,
  entryStatus,
  statusOf,
  summaryOf,
  taskStatus,
  type AccountStatus,
  type EntryStatus,
  type TaskStatus,
} from './serve/accountStatus.ts';
import { logNew, noticesOf, noticesOfEntry } from './serve/accountWarnings.ts';
import { probeResult, type ProbeResult } from './serve/probeResult.ts';
import type { Scope } from './schedule/demand.ts';

/** The period of the timer that looks for due work, in milliseconds. */
const TICK = 10_000;

export type Snapshot = Awaited<ReturnType<Collector['snapshot']>>;

/** Collects all accounts of a configuration. Each has its own budget and is independent of the others. */
export class Collector {
  readonly #accounts: Accounts;
  readonly #dependencies: AccountsDependencies;
  #config: Config;
  #isReady = false;
  /** Start of the newest refresh, in milliseconds of the monotonic clock; background mode judges freshness at this time. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: AccountsDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    this.#accounts = new Accounts(config, dependencies);
  }

  /**
   * Takes over a validated configuration. An account of the same name, interface, account id and address keeps its data and its
   * spent budget; removed accounts are stopped. Throws, and changes nothing, when a reader cannot be opened.
   */
  reconfigure(config: Config): void {
    const { isReady } = this;
    this.#accounts.reconfigure(config);
    this.#config = config;
    this.#isReady = isReady;
  }

  /**
   * As `AccountCollector.refresh`, of all accounts of the scope. In background mode, where the timer refreshes, only a call with
   * `always` does. Never rejects.
   */
  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal, always = false): Promise<void> {
    if (this.#config.collection.background && !always) return;
    const { clock } = this.#dependencies;
    const deadline = clock.monotonic() + waitMs;
    this.#lastRefresh = clock.monotonic();
    const accounts = this.#accountsOf(scope);
    for (const account of this.#accounts.all()) account.noticeKey();
    this.#accounts.share();
    if (scope.groups.size > 0) this.#accounts.concurrency.learn(clock.monotonic());
    const added = this.#accounts.readLists(waitMs, signal).then(() =>
      this.#refresh(
        this.#accountsOf(scope).filter((account) => !accounts.includes(account)),
        scope,
        deadline - clock.monotonic(),
        signal,
      ),
    );
    await Promise.all([this.#refresh(accounts, scope, waitMs, signal), withTimeout(added, waitMs, clock, signal)]);
  }

  async #refresh(accounts: readonly AccountCollector[], scope: Scope, waitMs: number, signal?: AbortSignal) {
    await Promise.all(accounts.map((account) => account.refresh(scope, waitMs, signal)));
    for (const account of accounts) {
      const { to } = account.schedule.window;
      // Once per window, because most data behind them are read once per window.
      if (account.noticedFor === to) continue;
      account.noticedFor = to;
      account.noticed = logNew(account.context.logger, noticesOf(account), account.noticed);
    }
    for (const entry of this.#accounts.entries()) {
      entry.list.noticed = logNew(entry.list.context.logger, noticesOfEntry(entry), entry.list.noticed);
    }
  }

  /** As `Accounts.readLists`, unless the timer does it (`collection.background`). */
  async readLists(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#config.collection.background) await this.#accounts.readLists(waitMs, signal);
  }

  /**
   * Refreshes at once and then on a timer (`collection.background`). A tick does not wait for the previous refresh: tasks that
   * still wait are read for the newer window.
   *
   * @returns a function that stops the timer
   */
  refreshInBackground(): () => void {
    const everything = { groups: new Set(GROUPS) };
    let cancel: () => void;
    const schedule = (): void => {
      cancel = this.#dependencies.clock.after(TICK, () => {
        schedule();
        void this.refresh(everything, 0, undefined, true);
      });
    };
    schedule();
    void this.refresh(everything, Infinity, undefined, true);
    return () => cancel();
  }

  /**
   * The samples that are served now. `asOf`, milliseconds of the monotonic clock, is the start of the scrape, at which freshness is
   * judged; in background mode it is that of the newest refresh. Rejects only with the reason of the signal, which ends the work.
   */
  async snapshot(scope: Scope, asOf?: number, signal?: AbortSignal) {
    return this.#snapshot(scope, asOf, summaryOf, signal);
  }

  /** The same with the whole state of the accounts, for the pages. */
  async overview(scope: Scope, signal?: AbortSignal) {
    const describe = async (...[account, snapshot, time]: Parameters<typeof summaryOf>) => {
      const tasks: TaskStatus[] = [];
      await inSlices(account.inventory.tasks(), (task) => tasks.push(taskStatus(account, task, time)), signal);
      return statusOf(account, snapshot, time, tasks);
    };
    return this.#snapshot(scope, undefined, describe, signal);
  }

  async #snapshot<State>(
    scope: Scope,
    asOf: number | undefined,
    describe: (...account: Parameters<typeof summaryOf>) => State | Promise<State>,
    signal?: AbortSignal,
  ) {
    const time = this.#time(asOf);
    const snapshots: AccountSnapshot[] = [];
    const accounts: State[] = [];
    for (const account of this.#accountsOf(scope)) {
      account.schedule.advanceWindow();
      const snapshot = new AccountSnapshot(account, scope, time);
      await inSlices(snapshot.walk(), undefined, signal);
      snapshots.push(snapshot);
      accounts.push(await describe(account, snapshot, time));
    }
    return {
      blocks: snapshots.flatMap(({ blocks }) => blocks),
      complete: snapshots.every(({ complete }) => complete),
      cut: snapshots.flatMap(({ cut }) => cut),
      entries: this.entries(),
      /** The state is of the same moment as the series: a task without series never counts as fresh. */
      accounts,
    };
  }

  status(): readonly AccountStatus[] {
    const time = this.#time();
    return this.#accountsOf().map((account) => {
      account.schedule.updateAtOnce();
      // A scope without groups gives the same state, and collects no samples.
      const snapshot = AccountSnapshot.atOnce(account, { groups: new Set() }, time);
      const tasks = account.inventory.tasks().map((task) => taskStatus(account, task, time));
      return statusOf(account, snapshot, time, tasks);
    });
  }

  /**
   * The served applications of each account that reads applications, and `listed`, the length of its list before the filters.
   * Both are undefined when the list was never read or is too old to be served.
   */
  applicationLists() {
    const time = this.#time();
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

  collectors(): readonly AccountCollector[] {
    return this.#accounts.all();
  }

  /**
   * Refreshes one application and gives its result; waits at most `waitMs` milliseconds, or until the signal. Never rejects.
   */
  async probe(accountName: string, applicationId: number, waitMs: number, signal?: AbortSignal): Promise<ProbeResult> {
    if (this.#accountsOf({ account: accountName }).length === 0) await this.readLists(waitMs, signal);
    const [account] = this.#accountsOf({ account: accountName });
    if (account === undefined) {
      // While the accounts of an entry are not known, it may be one of them.
      const unread = this.entries().filter(({ exported }) => exported === undefined || exported === 0);
      if (!this.isIncomplete) return { kind: 'unknown_account', known: this.accounts.map(({ name }) => name) };
      const notes = unread.map(
        ({ entry, problem }) => `list of accounts of ${entry}: ${problem ?? 'it leaves no account'}`,
      );
      return { kind: 'unreadable', notes };
    }
    const scope = { groups: new Set(GROUPS), account: accountName, applicationId };
    const { asOf } = this.#time();
    await this.refresh(scope, waitMs, signal);
    return probeResult(account, applicationId, this.#time(asOf));
  }

  get accounts(): readonly AccountConfig[] {
    return this.#accounts.configs;
  }

  /** True while an entry has no account yet: it is not known which accounts there are. */
  get isIncomplete(): boolean {
    return this.#accounts.lists.some(({ hasExported }) => !hasExported);
  }

  entries(): readonly EntryStatus[] {
    const time = this.#time();
    return this.#accounts.entries().map((entry) => entryStatus(entry, time));
  }

  /** True once a scrape can be served: in background mode after every known task was tried once. */
  get isReady(): boolean {
    return (this.#isReady ||=
      !this.#config.collection.background ||
      (this.#accounts.lists.every(({ tried }) => tried) && this.#accountsOf().every((account) => account.isExplored)));
  }

  progressing(): boolean {
    return this.#accountsOf().every((account) => account.progressing());
  }

  /** Stops all calls to New Relic for good; never rejects, even with calls in flight. */
  async stop(): Promise<void> {
    await this.#accounts.stop();
  }

  #accountsOf({ account }: Pick<Scope, 'account'> = {}): readonly AccountCollector[] {
    return this.#accounts.all().filter(({ context }) => account === undefined || account === context.account.name);
  }

  #time(asOf?: number) {
    const { clock } = this.#dependencies;
    const now = clock.monotonic();
    const startedAt = this.#config.collection.background ? this.#lastRefresh : asOf;
    return { asOf: Math.min(startedAt ?? now, now), now, wallNow: clock.now() };
  }
}
