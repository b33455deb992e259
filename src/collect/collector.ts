import type { UpstreamReader, Diagnosis } from '../api/reader.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import { customMetrics } from '../metrics/customMetrics.ts';
import { prepareQueries } from '../metrics/queryFamilies.ts';
import { SampleWriter } from '../metrics/writeSamples.ts';
import { type AccountContext, coversAccount } from './scope.ts';
import { AccountCollector } from './accountCollector.ts';
import { applicationViews, noticesOf, statusAtOnce, statusOf } from './accountStatus.ts';
import { AccountAnswer } from './answer.ts';
import { expectedSeries } from './expectedSeries.ts';
import { probeAccount } from './probeAnswer.ts';
import type { CollectorLog } from './collectorLog.ts';
import type { Clock } from './clock.ts';
import { PlacesOfKeys } from './limiter.ts';
import type { AccountStatus, Answer, AnswerTime, ApplicationList, CollectorView, ProbeResult, Scope } from './view.ts';

/** A reader of one account and the key it uses. */
export interface AccountReader {
  readonly reader: UpstreamReader;
  /** Something that is another exactly when the key is another one; it is compared only and never shown. */
  keyMark(): string;
}

/** Opens the reader of an account. Throws when it cannot be opened. */
type OpenReader = (account: AccountConfig, config: Config) => AccountReader;

/** An account of a new configuration with everything that could fail already built. */
interface PreparedAccount {
  readonly opened: AccountReader;
  readonly context: AccountContext;
  readonly keyMark: string;
}

/**
 * Builds everything of a configuration that can fail. Throws what `openReader` throws, and then leaves nothing open.
 *
 * @param contextOf the context so far of the account of that name; undefined for a new one
 */
function prepareAccounts(
  config: Config,
  openReader: OpenReader,
  writer: SampleWriter,
  contextOf: (name: string) => AccountContext | undefined,
): readonly PreparedAccount[] {
  const prepared: PreparedAccount[] = [];
  try {
    for (const account of config.accounts) {
      const before = contextOf(account.name);
      const families = sameOrNew(before, account);
      const queries = sameQueriesOrNew(before, account);
      const opened = openReader(account, config);
      const { reader } = opened;
      const context = { account, collection: config.collection, reader, customMetrics: families, queries, writer };
      prepared.push({ opened, context, keyMark: opened.keyMark() });
    }
    return prepared;
  } catch (error) {
    for (const { opened } of prepared) void opened.reader.close();
    throw error;
  }
}

/** The same families as before where they are defined alike, so that what is held and what is read next are of one. */
function sameOrNew(
  before: AccountContext | undefined,
  { custom_metrics }: AccountConfig,
): AccountContext['customMetrics'] {
  const unchanged = JSON.stringify(before?.account.custom_metrics) === JSON.stringify(custom_metrics);
  return before !== undefined && unchanged ? before.customMetrics : customMetrics(custom_metrics);
}

function sameQueriesOrNew(before: AccountContext | undefined, { queries }: AccountConfig): AccountContext['queries'] {
  const unchanged = JSON.stringify(before?.account.queries) === JSON.stringify(queries);
  return before !== undefined && unchanged ? before.queries : prepareQueries(queries);
}

/** What the collector is built from. */
interface CollectorDependencies {
  readonly clock: Clock;
  readonly log: CollectorLog;
  readonly openReader: OpenReader;
  /** True: plan and states count everything, whether something asks for it or not. Commands that plan ask so. */
  readonly everythingCounts?: boolean;
}

interface Entry {
  readonly account: AccountCollector;
  opened: AccountReader;
  keyMark: string;
  /** The end of the window when the log was last told what should be looked at. */
  noticedFor: number | undefined;
}

/** Collects all accounts of a configuration; each has its own budget and knows nothing of the others. */
export class Collector implements CollectorView {
  readonly #dependencies: CollectorDependencies;
  #config: Config;
  #entries = new Map<string, Entry>();
  /** Readers of before a reload, until they are closed. */
  readonly #retired = new Set<UpstreamReader>();
  readonly #places = new PlacesOfKeys();
  readonly #writer = new SampleWriter();
  #refreshedOnce = false;
  /** Start of the newest refresh, by the monotonic clock; in background mode answers are judged by it. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: CollectorDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    for (const prepared of this.#prepare(config)) this.#enter(prepared);
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
    const prepared = this.#prepare(config);
    this.#config = config;
    const before = this.#entries;
    this.#entries = new Map();
    for (const next of prepared) {
      const { account } = next.context;
      const entry = before.get(account.name);
      if (entry === undefined || !isSameAccount(entry.account.config, account)) {
        this.#enter(next);
        continue;
      }
      before.delete(account.name);
      next.opened.reader.inherit?.(entry.opened.reader);
      this.#closeLater(entry.opened.reader, entry.account);
      const keyChanged = next.keyMark !== entry.keyMark;
      entry.opened = next.opened;
      entry.keyMark = next.keyMark;
      entry.account.reconfigure(next.context, keyChanged);
      this.#entries.set(account.name, entry);
    }
    for (const { account, opened } of before.values()) {
      account.stop();
      void opened.reader.close();
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
      if (!coversAccount(scope, account.config.name)) continue;
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
    const reading = this.#accounts().filter(({ config }) => config.applications.read);
    return reading.map((account) => {
      const { inventory, timetable, config } = account;
      const isServed = timetable.stateOf(inventory.applicationList, time) !== 'missing';
      if (!isServed) return { account: config.name, listed: undefined, applications: undefined };
      const listed = inventory.listedApplications?.length;
      return { account: config.name, listed, applications: applicationViews(account) };
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
    const { timetable, limiter } = entry.account;
    return entry.opened.reader.diagnose(timetable.moveOn(), { signal, gate: limiter, patient: true });
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
    const readers = [...this.#retired, ...[...this.#entries.values()].map(({ opened }) => opened.reader)];
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

  #prepare(config: Config): readonly PreparedAccount[] {
    const contextOf = (name: string): AccountContext | undefined => this.#entries.get(name)?.account.context;
    return prepareAccounts(config, this.#dependencies.openReader, this.#writer, contextOf);
  }

  #enter({ context, opened, keyMark }: PreparedAccount): void {
    const { clock, log, everythingCounts } = this.#dependencies;
    const { name } = context.account;
    const account = new AccountCollector(context, clock, log.ofAccount(name), everythingCounts === true);
    this.#entries.set(name, { account, opened, keyMark, noticedFor: undefined });
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
      const keyMark = entry.opened.keyMark();
      if (keyMark === entry.keyMark) continue;
      entry.keyMark = keyMark;
      entry.account.keyChanged();
      changed = true;
    }
    if (changed) this.#sharePlaces();
  }

  /** Accounts that use one key for NerdGraph share its calls at once. */
  #sharePlaces(): void {
    const used = new Set<string>();
    for (const { account, opened, keyMark } of this.#entries.values()) {
      if (opened.reader.api !== 'nerdgraph' && opened.reader.queries === undefined) continue;
      used.add(keyMark);
      account.limiter.share(this.#places.of(keyMark));
    }
    this.#places.keepOnly(used);
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
