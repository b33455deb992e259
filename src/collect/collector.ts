import type { Logger } from 'pino';
import type { UpstreamReader, Diagnosis } from '../api/upstreamReader.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import { customMetrics } from '../metrics/customMetrics.ts';
import { prepareQueries } from '../metrics/queryFamilies.ts';
import { GROUPS } from '../metrics/sample.ts';
import { SampleWriter } from '../metrics/writeSamples.ts';
import type { AccountContext } from './selection.ts';
import { AccountLog } from './accountLog.ts';
import { type Scope } from './scope.ts';
import { AccountCollector } from './accountCollector.ts';
import {
  applicationViews,
  customExamples,
  expectedSeries,
  noticesOf,
  statusOf,
  summaryOf,
  type AccountStatus,
} from './accountStatus.ts';
import { AccountSnapshot } from './accountSnapshot.ts';
import { probeResult, type ProbeResult } from './probeResult.ts';
import type { EvaluationTime } from './due.ts';
import type { Clock } from './clock.ts';
import { UserConcurrency } from './userConcurrency.ts';

/** How often the timer looks for due work; what is due is decided by the windows and intervals, not by the timer. */
const TICK = 10_000;
const JITTER = 0.2;

/** A reader of one account and the key it uses. */
export type AccountReader = Pick<AccountContext, 'reader' | 'keyMark'>;

/** What the collector is built from. */
interface CollectorDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens the reader of an account, with the memory of the one that it replaces. Throws when it cannot be opened. */
  readonly openReader: (account: AccountConfig, config: Config, before?: object) => AccountReader;
  /** As in an account's context. */
  readonly ignoreDemand?: boolean;
}

export type Snapshot = Awaited<ReturnType<Collector['snapshot']>>;

/** Collects all accounts of a configuration; each has its own budget and knows nothing of the others. */
export class Collector {
  readonly #dependencies: CollectorDependencies;
  #config: Config;
  #isReady = false;
  #accounts = new Map<string, AccountCollector>();
  /** Readers of before a reload, until they are closed. */
  readonly #retired = new Set<UpstreamReader>();
  readonly #concurrency: UserConcurrency;
  readonly #writer = new SampleWriter();
  /** Start of the newest refresh, by the monotonic clock; in background mode answers are judged by it. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: CollectorDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    this.#concurrency = new UserConcurrency(dependencies.clock);
    for (const context of this.#open(config)) this.#add(context);
    this.#concurrency.share([...this.#accounts.values()]);
  }

  /**
   * Takes over a validated configuration. An account of the same name, interface, account id and address keeps what it
   * holds and what it has spent; accounts that are gone are stopped. Throws, and changes nothing, when a reader cannot
   * be opened.
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
   * Starts whatever is due in the scope and resolves when it has ended, after `waitMs` milliseconds, at once when it
   * cannot end by then, or when the signal is aborted: then nobody waits for it, and the work goes on. Never rejects.
   */
  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#config.collection.background) return;
    await this.refreshNow(scope, waitMs, signal);
  }

  /** As `refresh`, also in background mode, whose timer calls it. */
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
   * Refreshes at once and then on a timer (`collection.background`), whose jitter keeps several exporters from calling
   * upstream in step. It waits for no refresh: the next one carries on what is left, for the window of then.
   *
   * @param random a number from 0 up to 1
   * @returns stops the timer
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
   * What is served now; put together in portions between which other work goes on. `asOf`, milliseconds of the monotonic
   * clock, judges freshness by the start of the scrape that is answered; in background mode the newest refresh of the
   * timer decides instead. Never rejects.
   */
  async snapshot(scope: Scope, asOf?: number) {
    return this.#snapshot(scope, this.#time(asOf), summaryOf);
  }

  /** What is served now with the whole state of the accounts, for the pages, which ask for nothing. Never rejects. */
  async overview(scope: Scope) {
    return this.#snapshot(scope, this.#time(undefined), statusOf);
  }

  async #snapshot<State>(scope: Scope, time: EvaluationTime, stateOf: (...of: Parameters<typeof summaryOf>) => State) {
    const wallNow = this.#dependencies.clock.now();
    const snapshots: AccountSnapshot[] = [];
    const accounts: State[] = [];
    // One after the other: each gives its turn to other work.
    for (const account of this.#accountsOf(scope)) {
      account.schedule.advanceWindow();
      const snapshot = await AccountSnapshot.inPortions(account, scope, time);
      snapshots.push(snapshot);
      accounts.push(stateOf(account, snapshot, time, wallNow));
    }
    return {
      blocks: snapshots.flatMap(({ blocks }) => blocks),
      /** True when every due task of the scope is fresh. */
      complete: snapshots.every(({ complete }) => complete),
      /** Series left out by the caps of custom metrics and queries, reading by reading. */
      cut: snapshots.flatMap(({ cut }) => cut),
      /** Of the same moment as the series: nothing counts as fresh that is not in them. */
      accounts,
    };
  }

  /** The state of all accounts, all at once. */
  status(): readonly AccountStatus[] {
    const time = this.#time(undefined);
    return this.#accountsOf().map((account) => {
      account.schedule.updateAtOnce();
      // The state is the same whatever a scope asks for.
      const snapshot = AccountSnapshot.atOnce(account, { groups: new Set() }, time);
      return statusOf(account, snapshot, time, this.#dependencies.clock.now());
    });
  }

  /**
   * The application lists as they are served now, without the state of anything else, of the accounts that read them. The
   * list is undefined where it was never read, or what is held is too old to be served; so is how many it lists.
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
        applications: isServed ? applicationViews(account) : undefined,
      };
    });
  }

  /** Applications of an account that between them have every custom metric that matches, by id. */
  customExamples(accountName: string): readonly number[] {
    const account = this.#accounts.get(accountName);
    return account === undefined ? [] : customExamples(account);
  }

  /** How many series an account has at most, with the lists and names that are known now; undefined of an unknown account. */
  expectedSeries(accountName: string): ReturnType<typeof expectedSeries> | undefined {
    const account = this.#accounts.get(accountName);
    return account === undefined ? undefined : expectedSeries(account, this.#time(undefined));
  }

  /**
   * Tries what the lists of an account do not show, under its budget. Rejects with an UpstreamError, or with the reason of
   * the signal.
   */
  async diagnose(accountName: string, signal: AbortSignal): Promise<Diagnosis> {
    const account = this.#accounts.get(accountName);
    if (account === undefined) throw new Error(`there is no account ${accountName}`);
    const { schedule, limiter, context } = account;
    return context.reader.diagnose(schedule.advanceWindow(), { signal, limiter: limiter, patient: true });
  }

  /** Refreshes and answers for one application; waits at most `waitMs` milliseconds, or until the signal. Never rejects. */
  async probe(accountName: string, applicationId: number, waitMs: number, signal?: AbortSignal): Promise<ProbeResult> {
    const account = this.#accounts.get(accountName);
    if (account === undefined) return { kind: 'unknown_account' };
    const scope = { groups: new Set(GROUPS), account: accountName, applicationId };
    const { asOf } = this.#time(undefined);
    await this.refresh(scope, waitMs, signal);
    return probeResult(account, scope, this.#time(asOf));
  }

  /**
   * True from the moment a scrape can be answered: in background mode once everything that is known was tried once. It stays
   * true, whatever is added later.
   */
  get isReady(): boolean {
    return (this.#isReady ||=
      !this.#config.collection.background || this.#accountsOf().every((account) => account.isExplored));
  }

  /** False when there is work that could be started and none has been for too long. */
  progressing(): boolean {
    return this.#accountsOf().every((account) => account.progressing());
  }

  /** Stops calling upstream for good; rejects nothing, whatever is in flight. */
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

  /** By default an answer is asked for now; in background mode the newest refresh says what should be there. */
  #time(asOf: number | undefined): EvaluationTime {
    const now = this.#dependencies.clock.monotonic();
    const startedAt = this.#config.collection.background ? this.#lastRefresh : asOf;
    return { asOf: Math.min(startedAt ?? now, now), now };
  }

  /** Builds everything of a configuration that can fail. Throws what `openReader` throws, and then leaves nothing open. */
  #open(config: Config): AccountContext[] {
    const { clock, openReader, ignoreDemand = false } = this.#dependencies;
    const opened: AccountContext[] = [];
    try {
      for (const account of config.accounts) {
        const before = this.#accounts.get(account.name)?.context;
        // The same families and queries as before where they are defined alike: what is held and what is read next are of one.
        const isSame = (key: 'custom_metrics' | 'queries'): boolean =>
          JSON.stringify(before?.account[key]) === JSON.stringify(account[key]);
        const families =
          before !== undefined && isSame('custom_metrics')
            ? before.customMetrics
            : customMetrics(account.custom_metrics);
        const queries = before !== undefined && isSame('queries') ? before.queries : prepareQueries(account.queries);
        const { collection } = config;
        const own = { account, collection, customMetrics: families, queries };
        const memory =
          before !== undefined && isSameAccount(before.account, account) ? before.reader.memory : undefined;
        opened.push({ ...openReader(account, config, memory), ...own, writer: this.#writer, clock, ignoreDemand });
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

  /** Work in flight goes on with the old reader, through pages, retries and pauses; then its connections are closed. */
  #closeLater(reader: UpstreamReader, account: AccountCollector): void {
    reader.retire();
    this.#retired.add(reader);
    void account.readingsUnderWay().then(() => {
      this.#retired.delete(reader);
      return reader.close();
    });
  }
}

/** Once a minute is enough: what they are made of changes with the window. */
function writeNotices(account: AccountCollector): void {
  const { to } = account.schedule.window;
  if (account.noticedFor === to) return;
  account.noticedFor = to;
  account.log.warnings(noticesOf(account));
}

function isSameAccount(a: AccountConfig, b: AccountConfig): boolean {
  return a.api === b.api && a.account_id === b.account_id && a.base_url === b.base_url;
}
