import type { Logger } from 'pino';
import type { UpstreamReader, Diagnosis } from '../api/upstreamReader.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import { customMetrics } from '../metrics/customMetrics.ts';
import { prepareQueries } from '../metrics/queryFamilies.ts';
import { GROUPS } from '../reads/reads.ts';
import { SampleWriter } from '../metrics/writeSamples.ts';
import type { AccountContext } from './accountContext.ts';
import { AccountLog } from './accountLog.ts';
import { type Scope } from './scope.ts';
import { AccountCollector } from './accountCollector.ts';
import { applicationViews, statusInPortions, statusOf, summaryOf, type AccountStatus } from './accountStatus.ts';
import { customExamples, noticesOf, unmatchedExclusions } from './accountWarnings.ts';
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
  #accounts = new Map<string, AccountCollector>();
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
    for (const context of this.#open(config)) this.#add(context);
    this.#concurrency.share([...this.#accounts.values()]);
  }

  /**
   * Takes over a validated configuration. An account with the same name, interface, account id and address keeps its last read
   * values and its spent budget; removed accounts are stopped. Throws, and changes nothing, when a reader cannot be opened.
   */
  reconfigure(config: Config): void {
    const opened = this.#open(config);
    this.#isReady = this.isReady;
    this.#config = config;
    const before = this.#accounts;
    this.#accounts = new Map();
    for (const context of opened) {
      const { name } = context.account;
      const account = before.get(name);
      if (account === undefined || !isSameAccount(account.context.account, context.account)) {
        this.#add(context);
        continue;
      }
      before.delete(name);
      const { reader } = account.context;
      this.#closeLater(reader, account);
      account.reconfigure(context);
      this.#accounts.set(name, account);
    }
    for (const account of before.values()) {
      account.stop();
      void account.context.reader.close();
    }
    this.#concurrency.share([...this.#accounts.values()]);
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
    this.#lastRefresh = this.#dependencies.clock.monotonic();
    const accounts = this.#accountsOf(scope);
    for (const account of accounts) account.noticeKey();
    this.#concurrency.share([...this.#accounts.values()]);
    if (scope.groups.size > 0) this.#concurrency.learn();
    await Promise.all(accounts.map((account) => account.refresh(scope, waitMs, signal)));
    for (const account of accounts) writeNotices(account);
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
      const { inventory, schedule, context } = account;
      const isServed = schedule.stateOf(inventory.applicationList, time) !== 'missing';
      return {
        account: context.account.name,
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

  /** The entries of `exclude` of an account that match nothing, in sentences. */
  unmatchedExclusions(accountName: string): readonly string[] {
    const account = this.#accounts.get(accountName);
    return account === undefined ? [] : unmatchedExclusions(account);
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
    const account = this.#accounts.get(accountName);
    if (account === undefined) return { kind: 'unknown_account' };
    const scope = { groups: new Set(GROUPS), account: accountName, applicationId };
    const { asOf } = this.#time(undefined);
    await this.refresh(scope, waitMs, signal);
    return probeResult(account, scope, this.#time(asOf));
  }

  /**
   * True once a scrape can be served: in background mode after every known task was tried once. It stays true even if tasks are
   * added later.
   */
  get isReady(): boolean {
    return (this.#isReady ||=
      !this.#config.collection.background || this.#accountsOf().every((account) => account.isExplored));
  }

  /** False when an account could call New Relic and has not for minutes. */
  progressing(): boolean {
    return this.#accountsOf().every((account) => account.progressing());
  }

  /** Stops all calls to New Relic for good; never rejects, even with calls in flight. */
  async stop(): Promise<void> {
    this.#concurrency.stop();
    for (const account of this.#accounts.values()) account.stop();
    const readers = [...this.#retired, ...this.#accountsOf().map(({ context }) => context.reader)];
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

  /** Makes the contexts of all accounts. When a reader cannot be opened, throws that error and leaves no reader open. */
  #open(config: Config): AccountContext[] {
    const { clock, openReader, ignoreDemand = false } = this.#dependencies;
    const opened: AccountContext[] = [];
    try {
      for (const account of config.accounts) {
        const before = this.#accounts.get(account.name)?.context;
        // Custom metrics that are defined as before stay the same objects, so that the last read data are not calculated again.
        const isSame = JSON.stringify(before?.account.custom_metrics) === JSON.stringify(account.custom_metrics);
        const prepared = before !== undefined && isSame ? before.customMetrics : customMetrics(account.custom_metrics);
        const memory =
          before !== undefined && isSameAccount(before.account, account) ? before.reader.memory : undefined;
        const reader = openReader(account, config, memory);
        opened.push({
          ...reader,
          account,
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
      for (const { reader } of opened) void reader.close();
      throw error;
    }
  }

  #add(context: AccountContext): void {
    const { name } = context.account;
    const log = new AccountLog(this.#dependencies.log.child({ account: name }));
    this.#accounts.set(name, new AccountCollector(context, log));
  }

  /** Reads in flight finish with the old reader, pages, retries and pauses included; then its connections are closed. */
  #closeLater(reader: UpstreamReader, account: AccountCollector): void {
    reader.retire();
    this.#retired.add(reader);
    void account.readingsUnderWay().then(() => {
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

function isSameAccount(a: AccountConfig, b: AccountConfig): boolean {
  return a.api === b.api && a.account_id === b.account_id && a.base_url === b.base_url;
}
