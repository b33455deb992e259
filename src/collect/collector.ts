import type { Config, AccountConfig } from '../config/config.ts';
import { AccountCollector } from './account.ts';
import { answerOf, type AnswerTime } from './answer.ts';
import type { AccountContext } from './context.ts';
import type { Clock } from './clock.ts';
import type { CollectorLog } from './log.ts';
import { expectedSeries } from './expectedSeries.ts';
import { probeAccount, type ProbeResult } from './probe.ts';
import { customMetrics } from '../metrics/customFamilies.ts';
import { BatchSize } from './metricData.ts';
import type { UpstreamReader } from '../api/oldReader.ts';
import { coversAccount } from './scope.ts';
import { applicationListOf, countStates, statusOf } from './status.ts';
import type { AccountStatus, Answer, ApplicationList, CollectorView, Scope } from './view.ts';

/** A reader of one account and the key it uses. */
export interface AccountReader {
  readonly reader: UpstreamReader;
  /** Grows whenever the key has changed. */
  keyGeneration(): number;
}

/** What the collector is built from. */
export interface CollectorDependencies {
  readonly clock: Clock;
  readonly log: CollectorLog;
  openReader(account: AccountConfig, config: Config): AccountReader;
}

/** How long a reader is kept after a reload, in milliseconds: longer than the longest pause. */
const RETIREMENT = 600_000;

interface Entry {
  readonly account: AccountCollector;
  opened: AccountReader;
  keyGeneration: number;
}

/** Collects all accounts of a configuration; each has its own budget and knows nothing of the others. */
export class Collector implements CollectorView {
  readonly #dependencies: CollectorDependencies;
  #config: Config;
  #entries = new Map<string, Entry>();
  /** Readers of before a reload, until they are closed. */
  readonly #retired = new Set<UpstreamReader>();
  #refreshedOnce = false;
  /** Start of the newest refresh, Unix milliseconds; in background mode answers are judged by it. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: CollectorDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    for (const [account, opened] of this.#openReaders(config)) {
      this.#entries.set(account.name, this.#enter(account, opened));
    }
  }

  get refreshedOnce(): boolean {
    return this.#refreshedOnce;
  }

  /**
   * Takes over a validated configuration. An account of the same name and base address keeps what it holds and what it
   * has spent; accounts that are gone are stopped. Throws, and changes nothing, when a reader cannot be opened.
   */
  reconfigure(config: Config): void {
    const readers = this.#openReaders(config);
    this.#config = config;
    const before = this.#entries;
    this.#entries = new Map();
    for (const [account, opened] of readers) {
      const entry = before.get(account.name);
      if (entry?.account.config.base_url !== account.base_url) {
        this.#entries.set(account.name, this.#enter(account, opened));
        continue;
      }
      before.delete(account.name);
      const retired = entry.opened.reader;
      entry.opened = opened;
      entry.keyGeneration = opened.keyGeneration();
      entry.account.reconfigure(this.#context(account, opened, entry.account.context));
      this.#entries.set(account.name, entry);
      this.#closeLater(retired);
    }
    for (const { account, opened } of before.values()) {
      account.stop();
      void opened.reader.close();
    }
  }

  async refresh(scope: Scope, deadline: number): Promise<void> {
    if (this.#config.collection.background) return;
    await this.refreshNow(scope, deadline);
  }

  /** As `refresh`, also in background mode, whose timer calls it. */
  async refreshNow(scope: Scope, deadline: number): Promise<void> {
    this.#lastRefresh = this.#dependencies.clock.now();
    const entries = [...this.#entries].filter(([name]) => coversAccount(scope, name));
    for (const [, entry] of entries) this.#noticeKey(entry);
    const ended = await Promise.all(entries.map(([, { account }]) => account.refresh(scope, deadline)));
    if (ended.every(Boolean)) this.#refreshedOnce = true;
  }

  answer(scope: Scope, asOf?: number): Answer {
    const time = this.#time(asOf);
    const accounts = this.#accounts().filter(({ config }) => coversAccount(scope, config.name));
    const states = accounts.map((account) => countStates(account, scope, time));
    const answers = accounts.map((account) => answerOf(account, scope, time));
    return {
      blocks: answers.flatMap(({ blocks }) => blocks),
      complete: states.every(({ stale, missing }) => stale + missing === 0),
      cut: addUp(answers.map(({ cut }) => cut)),
    };
  }

  status(asOf?: number): readonly AccountStatus[] {
    const time = this.#time(asOf);
    return this.#accounts().map((account) => statusOf(account, time));
  }

  applicationLists(): readonly ApplicationList[] {
    const time = this.#time(undefined);
    return this.#accounts().map((account) => applicationListOf(account, time));
  }

  /** How many series of 5.1 to 5.4 an account has at most, with the lists and names that are known now. */
  expectedSeries(accountName: string): number {
    const account = this.#entries.get(accountName)?.account;
    return account === undefined ? 0 : expectedSeries(account, this.#time(undefined));
  }

  /** Refreshes and answers for one application (contract 3, `/probe`). */
  async probe(accountName: string, applicationId: number, deadline: number): Promise<ProbeResult> {
    const account = this.#entries.get(accountName)?.account;
    if (account === undefined) return { kind: 'unknown_account' };
    const { clock } = this.#dependencies;
    return probeAccount(
      account,
      applicationId,
      (scope) => this.refresh(scope, deadline),
      () => clock.now(),
    );
  }

  progressing(): boolean {
    return this.#accounts().every((account) => account.scheduler.progressing());
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

  /** By default an answer is asked for now; in background mode the last refresh says what should be there. */
  #time(asOf: number | undefined): AnswerTime {
    const now = this.#dependencies.clock.now();
    const last = this.#config.collection.background ? (this.#lastRefresh ?? now) : now;
    return { asOf: Math.min(asOf ?? last, now), now };
  }

  #openReaders(config: Config): [AccountConfig, AccountReader][] {
    const readers: [AccountConfig, AccountReader][] = [];
    try {
      for (const account of config.accounts) readers.push([account, this.#dependencies.openReader(account, config)]);
    } catch (error) {
      for (const [, { reader }] of readers) void reader.close();
      throw error;
    }
    return readers;
  }

  #enter(config: AccountConfig, opened: AccountReader): Entry {
    const { clock, log } = this.#dependencies;
    const account = new AccountCollector(this.#context(config, opened), clock, log.ofAccount(config.name));
    return { account, opened, keyGeneration: opened.keyGeneration() };
  }

  #context(account: AccountConfig, { reader }: AccountReader, before?: AccountContext): AccountContext {
    const { collection } = this.#config;
    const unchanged = JSON.stringify(before?.account.custom_metrics) === JSON.stringify(account.custom_metrics);
    return {
      account,
      collection,
      reader,
      batchSize: before?.batchSize ?? new BatchSize(),
      // The same families as before, so that what is held and what is read next are of one.
      customMetrics: before !== undefined && unchanged ? before.customMetrics : customMetrics(account.custom_metrics),
    };
  }

  #noticeKey(entry: Entry): void {
    const generation = entry.opened.keyGeneration();
    if (generation === entry.keyGeneration) return;
    entry.keyGeneration = generation;
    entry.account.keyChanged();
  }

  /** Work in flight goes on with the old reader, through pages, retries and pauses. */
  #closeLater(reader: UpstreamReader): void {
    this.#retired.add(reader);
    this.#dependencies.clock.after(RETIREMENT, () => {
      this.#retired.delete(reader);
      void reader.close();
    });
  }
}

function addUp(counts: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sum = new Map<string, number>();
  for (const count of counts) for (const [family, value] of count) sum.set(family, (sum.get(family) ?? 0) + value);
  return sum;
}
