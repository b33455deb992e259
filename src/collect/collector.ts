import type { Config, AccountConfig } from '../config/config.ts';
import { withTimeout } from '../eventLoop/clock.ts';
import { inSlices } from '../eventLoop/turns.ts';
import { GROUPS } from '../reads/reads.ts';
import type { AccountCollector } from './accounts/accountCollector.ts';
import { Accounts, type AccountsDependencies } from './accounts/accounts.ts';
import { AccountSnapshot } from './serve/accountSnapshot.ts';
import {
  listApplications,
  entryStatus,
  describeAccount,
  summarize,
  taskStatus,
  type AccountStatus,
  type EntryStatus,
  type TaskStatus,
} from './serve/accountStatus.ts';
import { findEntryNotices, findNotices, logNew } from './serve/accountWarnings.ts';
import { probeResult, type ProbeResult } from './serve/probeResult.ts';
import type { Scope } from './schedule/demand.ts';

/** The period of the timer that looks for due work, in milliseconds. */
const TICK = 10_000;

export type Snapshot = Awaited<ReturnType<Collector['snapshot']>>;

/** Collects all accounts of a configuration. Each account has its own budget and does not wait for other accounts. */
export class Collector {
  readonly #accounts: Accounts;
  readonly #dependencies: AccountsDependencies;
  #config: Config;
  #isReady = false;
  /** Start of the newest refresh, by the monotonic clock. Background mode judges freshness at this time. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: AccountsDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    this.#accounts = new Accounts(config, dependencies);
  }

  /**
   * An account with the same name, interface, account id and address keeps its data and its spent budget. Throws, and
   * changes nothing, when a reader cannot be opened.
   */
  reconfigure(config: Config): void {
    const { isReady } = this;
    this.#accounts.reconfigure(config);
    this.#config = config;
    this.#isReady = isReady;
  }

  /**
   * Refreshes all accounts of the scope, as `AccountCollector.refresh`. In background mode, the timer does, so nothing
   * happens without `always`. Never rejects.
   */
  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal, always = false): Promise<void> {
    if (this.#config.collection.background && !always) return;
    const { clock } = this.#dependencies;
    const deadline = clock.monotonic() + waitMs;
    this.#lastRefresh = clock.monotonic();
    const accounts = this.#accountsOf(scope);
    for (const account of this.#accounts.all()) account.checkKey();
    this.#accounts.share();
    if (scope.groups.size > 0) this.#accounts.concurrency.requestUsers(clock.monotonic());
    const readLists = async (): Promise<void> => {
      await this.#accounts.readLists(waitMs, signal);
      const added = this.#accountsOf(scope).filter((account) => !accounts.includes(account));
      await this.#refresh(added, scope, deadline - clock.monotonic(), signal);
    };
    const reading = withTimeout(readLists(), waitMs, clock, signal);
    await Promise.all([this.#refresh(accounts, scope, waitMs, signal), reading]);
  }

  async #refresh(accounts: readonly AccountCollector[], scope: Scope, waitMs: number, signal?: AbortSignal) {
    await Promise.all(accounts.map((account) => account.refresh(scope, waitMs, signal)));
    for (const account of accounts) {
      const { to } = account.schedule.window;
      // Warnings change at most once per window, because tasks read most of their data once per window.
      if (account.warningsCheckedFor === to) continue;
      account.warningsCheckedFor = to;
      account.loggedWarnings = logNew(account.context.logger, findNotices(account), account.loggedWarnings);
    }
    for (const entry of this.#accounts.entries()) {
      const { list } = entry;
      list.loggedWarnings = logNew(list.context.logger, findEntryNotices(entry), list.loggedWarnings);
    }
  }

  /** As `Accounts.readLists`. In background mode, the timer reads the lists. */
  async readLists(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#config.collection.background) await this.#accounts.readLists(waitMs, signal);
  }

  /** Refreshes at once and then on a timer (`collection.background`). Returns a function that stops the timer. */
  refreshInBackground(): () => void {
    let cancel: () => void;
    // A tick does not wait for the previous refresh: what is still queued then reads the newer window.
    const tick = (waitMs: number): void => {
      cancel = this.#dependencies.clock.after(TICK, () => tick(0));
      void this.refresh({ groups: new Set(GROUPS) }, waitMs, undefined, true);
    };
    tick(Infinity);
    return () => cancel();
  }

  /**
   * Returns the samples to serve now. Judges freshness at `asOf`, the start of the scrape by the monotonic clock; in
   * background mode, at the start of the newest refresh. Rejects only with the reason of the signal.
   */
  async snapshot(scope: Scope, asOf?: number, signal?: AbortSignal) {
    return this.#snapshot(scope, asOf, summarize, signal);
  }

  /** As `snapshot`, with the whole state of the accounts, for the pages. */
  async overview(scope: Scope, signal?: AbortSignal) {
    const describe = async (...[account, snapshot, time]: Parameters<typeof summarize>) => {
      const tasks: TaskStatus[] = [];
      await inSlices(account.inventory.tasks(), (task) => tasks.push(taskStatus(account, task, time)), signal);
      return describeAccount(account, snapshot, time, tasks);
    };
    return this.#snapshot(scope, undefined, describe, signal);
  }

  async #snapshot<State>(
    scope: Scope,
    asOf: number | undefined,
    describe: (...account: Parameters<typeof summarize>) => State | Promise<State>,
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
      /** The state belongs to the same moment as the series, so a task without series never counts as fresh. */
      accounts,
    };
  }

  status(): readonly AccountStatus[] {
    const time = this.#time();
    return this.#accountsOf().map((account) => {
      account.schedule.updateAtOnce();
      // A scope without groups gives the state without collecting samples.
      const snapshot = AccountSnapshot.atOnce(account, { groups: new Set() }, time);
      const tasks = account.inventory.tasks().map((task) => taskStatus(account, task, time));
      return describeAccount(account, snapshot, time, tasks);
    });
  }

  /**
   * Returns the served applications of each account that reads applications, and the length of its list before the
   * filters: undefined before the first read of the list, and when the list is too old to serve.
   */
  applicationLists() {
    const time = this.#time();
    const reading = this.#accountsOf().filter(({ context }) => context.account.applications.read);
    return reading.map((account) => {
      const { inventory, schedule, context, isWithoutApplications } = account;
      const isServed = schedule.stateOf(inventory.applicationList, time) !== 'missing';
      return {
        account: context.account.name,
        /** True for an account of an entry that has tried its list and never listed an application. */
        isOptional: isWithoutApplications && inventory.applicationList.tried,
        listed: isServed ? inventory.listedApplications?.length : undefined,
        applications: isServed ? listApplications(account) : undefined,
      };
    });
  }

  collectors(): readonly AccountCollector[] {
    return this.#accounts.all();
  }

  /** Refreshes one application. Waits at most `waitMs` milliseconds, or until the signal aborts. Never rejects. */
  async probe(accountName: string, applicationId: number, waitMs: number, signal?: AbortSignal): Promise<ProbeResult> {
    if (this.#accountsOf({ account: accountName }).length === 0) await this.readLists(waitMs, signal);
    const [account] = this.#accountsOf({ account: accountName });
    if (account === undefined) {
      if (!this.isIncomplete) return { kind: 'unknown_account', known: this.accounts.map(({ name }) => name) };
      // An entry whose accounts are still unknown may have this account.
      const unread = this.entries().filter(({ exported = 0 }) => exported === 0);
      const describe = ({ entry, problem = 'it leaves no account' }: EntryStatus): string =>
        `list of accounts of ${entry}: ${problem}`;
      return { kind: 'unreadable', notes: unread.map(describe) };
    }
    const scope = { groups: new Set(GROUPS), account: accountName, applicationId };
    const { asOf } = this.#time();
    await this.refresh(scope, waitMs, signal);
    return probeResult(account, applicationId, this.#time(asOf));
  }

  get accounts(): readonly AccountConfig[] {
    return this.#accounts.configs;
  }

  /** True while an entry has not exported an account yet, so that some accounts may be unknown. */
  get isIncomplete(): boolean {
    return this.#accounts.lists.some(({ hasExported }) => !hasExported);
  }

  entries(): readonly EntryStatus[] {
    const time = this.#time();
    return this.#accounts.entries().map((entry) => entryStatus(entry, time));
  }

  /** True once scrapes can be served. Background mode tries every known task once before. */
  get isReady(): boolean {
    return (this.#isReady ||=
      !this.#config.collection.background ||
      (this.#accounts.lists.every(({ tried }) => tried) && this.#accountsOf().every((account) => account.isExplored)));
  }

  progressing(): boolean {
    return this.#accountsOf().every((account) => account.progressing());
  }

  /** Stops all calls to New Relic for good. Never rejects. */
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
