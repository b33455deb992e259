import type { Logger } from 'pino';
import type { UpstreamReader, Diagnosis } from '../api/reader.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import { customMetrics } from '../metrics/customMetrics.ts';
import { prepareQueries } from '../metrics/queryFamilies.ts';
import { SampleWriter } from '../metrics/writeSamples.ts';
import type { AccountContext } from './selection.ts';
import { coversAccount } from './refresh.ts';
import { AccountCollector } from './accountCollector.ts';
import { applicationViews, expectedSeries, noticesOf, statusAtOnce, statusOf } from './accountStatus.ts';
import { AccountAnswer } from './answer.ts';
import { probeAccount } from './probeAnswer.ts';
import type { Clock } from './clock.ts';
import { SharedPlaces } from './limiter.ts';
import { AccountLog } from './progress.ts';
import type { AccountStatus, Answer, AnswerTime, ApplicationList, CollectorView, ProbeResult, Scope } from './view.ts';

/** A reader of one account and the key it uses. */
export interface AccountReader {
  readonly reader: UpstreamReader;
  /** Something that is another exactly when the key is another one; it is compared only and never shown. */
  keyMark(): string;
}

/** An account, how to tell that its key is another one, and what its key was when that was looked at last. */
interface Entry {
  readonly account: AccountCollector;
  keyMark: () => string;
  key: string;
  /** The end of the window when the log was last told what should be looked at. */
  noticedFor: number | undefined;
}

/** What the collector is built from. */
interface CollectorDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens the reader of an account. Throws when it cannot be opened. */
  readonly openReader: (account: AccountConfig, config: Config) => AccountReader;
  /** True: plan and states count everything, whether something asks for it or not. Commands that plan ask so. */
  readonly everythingCounts?: boolean;
}

/** Collects all accounts of a configuration; each has its own budget and knows nothing of the others. */
export class Collector implements CollectorView {
  readonly #dependencies: CollectorDependencies;
  #config: Config;
  #entries = new Map<string, Entry>();
  /** Readers of before a reload, until they are closed. */
  readonly #retired = new Set<UpstreamReader>();
  /** What accounts of one key share, by the mark of the key. */
  #places = new Map<string, SharedPlaces>();
  readonly #writer = new SampleWriter();
  #refreshedOnce = false;
  /** Start of the newest refresh, by the monotonic clock; in background mode answers are judged by it. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: CollectorDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    for (const { context, keyMark } of this.#open(config)) this.#enter(context, keyMark);
    this.#sharePlaces();
  }

  get refreshedOnce(): boolean {
    return this.#refreshedOnce;
  }

  /**
   * Takes over a validated configuration. An account of the same name, interface, account id and address keeps what it
   * holds and what it has spent; accounts that are gone are stopped. Throws, and changes nothing, when a reader cannot
   * be opened.
   */
  reconfigure(config: Config): void {
    const opened = this.#open(config);
    this.#config = config;
    const before = this.#entries;
    this.#entries = new Map();
    for (const { context, keyMark } of opened) {
      const { name } = context.account;
      const entry = before.get(name);
      if (entry === undefined || !isSameAccount(entry.account.context.account, context.account)) {
        this.#enter(context, keyMark);
        continue;
      }
      before.delete(name);
      const { account } = entry;
      const { reader } = account.context;
      context.reader.inherit?.(reader);
      this.#closeLater(reader, account);
      const key = keyMark();
      const keyChanged = key !== entry.key;
      Object.assign(entry, { keyMark, key });
      account.reconfigure(context, keyChanged);
      this.#entries.set(name, entry);
    }
    for (const { account } of before.values()) {
      account.stop();
      void account.context.reader.close();
    }
    this.#sharePlaces();
  }

  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#config.collection.background) return;
    await this.refreshNow(scope, waitMs, signal);
  }

  /** As `refresh`, also in background mode, whose timer calls it. */
  async refreshNow(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    this.#lastRefresh = this.#dependencies.clock.monotonic();
    const entries = [...this.#entries].filter(([name]) => coversAccount(scope, name));
    this.#noticeKeys(entries.map(([, entry]) => entry));
    const ended = await Promise.all(entries.map(([, { account }]) => account.refresh(scope, waitMs, signal)));
    if (ended.every(Boolean)) this.#refreshedOnce = true;
    for (const [, entry] of entries) this.#writeNotices(entry);
  }

  async answer(scope: Scope, asOf?: number): Promise<Answer> {
    const time = this.#time(asOf);
    const wallNow = this.#dependencies.clock.now();
    const answers: AccountAnswer[] = [];
    const accounts: AccountStatus[] = [];
    // One after the other: each gives its turn to other work.
    for (const account of this.#accounts()) {
      if (!coversAccount(scope, account.context.account.name)) continue;
      account.timetable.moveOn();
      const answer = await AccountAnswer.inPortions(account, scope, time);
      answers.push(answer);
      accounts.push(statusOf(account, answer, time, wallNow));
    }
    return {
      blocks: answers.flatMap(({ blocks }) => blocks),
      complete: answers.every(({ complete }) => complete),
      cut: answers.flatMap(({ cut }) => cut),
      accounts,
    };
  }

  /** The state of all accounts, all at once. */
  status(): readonly AccountStatus[] {
    const time = this.#time(undefined);
    return this.#accounts().map((account) => statusAtOnce(account, time, this.#dependencies.clock.now()));
  }

  applicationLists(): readonly ApplicationList[] {
    const time = this.#time(undefined);
    const reading = this.#accounts().filter(({ context }) => context.account.applications.read);
    return reading.map((account) => {
      const { inventory, timetable, context } = account;
      const { name } = context.account;
      const isServed = timetable.stateOf(inventory.applicationList, time) !== 'missing';
      if (!isServed) return { account: name, listed: undefined, applications: undefined };
      const listed = inventory.listedApplications?.length;
      return { account: name, listed, applications: applicationViews(account) };
    });
  }

  /** How many series of applications and hosts an account has at most, with the lists and names that are known now. */
  expectedSeries(accountName: string): number {
    const account = this.#entries.get(accountName)?.account;
    return account === undefined ? 0 : expectedSeries(account, this.#time(undefined));
  }

  /**
   * Tries what the lists of an account do not show, under its budget. Rejects with an UpstreamError, or with the reason of
   * the signal.
   */
  async diagnose(accountName: string, signal: AbortSignal): Promise<Diagnosis> {
    const entry = this.#entries.get(accountName);
    if (entry === undefined) throw new Error(`there is no account ${accountName}`);
    const { timetable, limiter, context } = entry.account;
    return context.reader.diagnose(timetable.moveOn(), { signal, gate: limiter, patient: true });
  }

  /** Refreshes and answers for one application; waits at most `waitMs` milliseconds, or until the signal. Never rejects. */
  async probe(accountName: string, applicationId: number, waitMs: number, signal?: AbortSignal): Promise<ProbeResult> {
    const account = this.#entries.get(accountName)?.account;
    if (account === undefined) return { kind: 'unknown_account' };
    return probeAccount(
      account,
      applicationId,
      (scope) => this.refresh(scope, waitMs, signal),
      (asOf) => this.#time(asOf),
    );
  }

  progressing(): boolean {
    return this.#accounts().every((account) => account.progressing());
  }

  /** Stops calling upstream for good; rejects nothing, whatever is in flight. */
  async stop(): Promise<void> {
    for (const account of this.#accounts()) account.stop();
    const readers = [...this.#retired, ...this.#accounts().map(({ context }) => context.reader)];
    await Promise.allSettled(readers.map((reader) => reader.close()));
  }

  #accounts(): AccountCollector[] {
    return [...this.#entries.values()].map(({ account }) => account);
  }

  /** By default an answer is asked for now; in background mode the newest refresh says what should be there. */
  #time(asOf: number | undefined): AnswerTime {
    const now = this.#dependencies.clock.monotonic();
    const asked = this.#config.collection.background ? this.#lastRefresh : asOf;
    return { asOf: Math.min(asked ?? now, now), now };
  }

  /** Builds everything of a configuration that can fail. Throws what `openReader` throws, and then leaves nothing open. */
  #open(config: Config): { readonly context: AccountContext; readonly keyMark: () => string }[] {
    const opened: { readonly context: AccountContext; readonly keyMark: () => string }[] = [];
    try {
      for (const account of config.accounts) {
        const before = this.#entries.get(account.name)?.account.context;
        // The same families and queries as before where they are defined alike: what is held and what is read next are of one.
        const isSame = (key: 'custom_metrics' | 'queries'): boolean =>
          JSON.stringify(before?.account[key]) === JSON.stringify(account[key]);
        const families =
          before !== undefined && isSame('custom_metrics')
            ? before.customMetrics
            : customMetrics(account.custom_metrics);
        const queries = before !== undefined && isSame('queries') ? before.queries : prepareQueries(account.queries);
        const found = this.#dependencies.openReader(account, config);
        const { reader } = found;
        const { collection } = config;
        const context = { account, collection, reader, customMetrics: families, queries, writer: this.#writer };
        opened.push({ context, keyMark: () => found.keyMark() });
      }
      return opened;
    } catch (error) {
      for (const { context } of opened) void context.reader.close();
      throw error;
    }
  }

  #enter(context: AccountContext, keyMark: () => string): void {
    const { clock, log, everythingCounts } = this.#dependencies;
    const { name } = context.account;
    const account = new AccountCollector(
      context,
      clock,
      new AccountLog(log.child({ account: name })),
      everythingCounts === true,
    );
    this.#entries.set(name, { account, keyMark, key: keyMark(), noticedFor: undefined });
  }

  /** Once a minute is enough: what they are made of changes with the window. */
  #writeNotices(entry: Entry): void {
    const { log, timetable } = entry.account;
    if (entry.noticedFor === timetable.window.to) return;
    entry.noticedFor = timetable.window.to;
    log.warnings(noticesOf(entry.account));
  }

  #noticeKeys(entries: readonly Entry[]): void {
    let changed = false;
    for (const entry of entries) {
      const key = entry.keyMark();
      if (key === entry.key) continue;
      entry.key = key;
      entry.account.keyChanged();
      changed = true;
    }
    if (changed) this.#sharePlaces();
  }

  /** Accounts that use one key for NerdGraph share its calls at once. */
  #sharePlaces(): void {
    const places = new Map<string, SharedPlaces>();
    for (const { account, key } of this.#entries.values()) {
      const { reader } = account.context;
      if (reader.api !== 'nerdgraph' && reader.queries === undefined) continue;
      const ofKey = places.get(key) ?? this.#places.get(key) ?? new SharedPlaces();
      places.set(key, ofKey);
      account.limiter.share(ofKey);
    }
    this.#places = places;
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

function isSameAccount(a: AccountConfig, b: AccountConfig): boolean {
  return a.api === b.api && a.account_id === b.account_id && a.base_url === b.base_url;
}
