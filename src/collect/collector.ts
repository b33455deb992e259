import type { Config, AccountConfig } from '../config/config.ts';
import { AccountCollector } from './account.ts';
import { answerOf } from './answer.ts';
import type { AccountContext } from './context.ts';
import type { Clock } from './clock.ts';
import type { CollectorLog } from './log.ts';
import { probeAccount, type ProbeResult } from './probe.ts';
import { customMetrics } from '../metrics/customFamilies.ts';
import { BatchSize } from './metricData.ts';
import type { UpstreamReader } from '../api/reader.ts';
import { coversAccount } from './scope.ts';
import { countStates, statusOf } from './status.ts';
import type { AccountStatus, Answer, CollectorView, Scope } from './view.ts';

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
  #refreshedOnce = false;
  /** Start of the newest refresh, Unix milliseconds; in background mode answers are judged by it. */
  #lastRefresh: number | undefined;

  constructor(config: Config, dependencies: CollectorDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    for (const account of config.accounts) this.#entries.set(account.name, this.#open(account));
  }

  get refreshedOnce(): boolean {
    return this.#refreshedOnce;
  }

  /**
   * Takes over a validated configuration. An account of the same name and base address keeps what it holds and what it
   * has spent; accounts that are gone are stopped.
   */
  reconfigure(config: Config): void {
    this.#config = config;
    const before = this.#entries;
    this.#entries = new Map();
    for (const account of config.accounts) {
      const entry = before.get(account.name);
      if (entry?.account.config.base_url !== account.base_url) {
        this.#entries.set(account.name, this.#open(account));
        continue;
      }
      before.delete(account.name);
      const retired = entry.opened;
      entry.opened = this.#dependencies.openReader(account, config);
      entry.keyGeneration = entry.opened.keyGeneration();
      entry.account.reconfigure(this.#context(account, entry.opened, entry.account.context.batchSize));
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
    await Promise.all(entries.map(([, { account }]) => account.refresh(scope, deadline)));
    this.#refreshedOnce = true;
  }

  answer(scope: Scope, asOf = this.#asOf()): Answer {
    const accounts = this.#accounts().filter(({ config }) => coversAccount(scope, config.name));
    const states = accounts.map((account) => countStates(account, scope, asOf));
    const answers = accounts.map((account) => answerOf(account, scope, asOf));
    return {
      blocks: answers.flatMap(({ blocks }) => blocks),
      complete: states.every(({ stale, missing }) => stale + missing === 0),
      cut: addUp(answers.map(({ cut }) => cut)),
    };
  }

  status(asOf = this.#asOf()): readonly AccountStatus[] {
    return this.#accounts().map((account) => statusOf(account, asOf, this.#dependencies.clock.now()));
  }

  /** Refreshes and answers for one application (contract 3, `/probe`). */
  async probe(accountName: string, applicationId: number, deadline: number): Promise<ProbeResult> {
    const account = this.#entries.get(accountName)?.account;
    if (account === undefined) return { kind: 'unknown_account' };
    const asOf = this.#dependencies.clock.now();
    return probeAccount(account, applicationId, (scope) => this.refresh(scope, deadline), asOf);
  }

  progressing(): boolean {
    return this.#accounts().every((account) => account.scheduler.progressing());
  }

  /** Stops calling upstream for good; rejects nothing, whatever is in flight. */
  async stop(): Promise<void> {
    for (const account of this.#accounts()) account.stop();
    await Promise.allSettled([...this.#entries.values()].map(({ opened }) => opened.reader.close()));
  }

  #accounts(): AccountCollector[] {
    return [...this.#entries.values()].map(({ account }) => account);
  }

  #asOf(): number {
    const { clock } = this.#dependencies;
    return this.#config.collection.background ? (this.#lastRefresh ?? clock.now()) : clock.now();
  }

  #open(config: AccountConfig): Entry {
    const opened = this.#dependencies.openReader(config, this.#config);
    const context = this.#context(config, opened, new BatchSize());
    const account = new AccountCollector(
      context,
      this.#dependencies.clock,
      this.#dependencies.log.ofAccount(config.name),
    );
    return { account, opened, keyGeneration: opened.keyGeneration() };
  }

  #context(account: AccountConfig, { reader }: AccountReader, batchSize: BatchSize): AccountContext {
    const { collection } = this.#config;
    return { account, collection, reader, batchSize, customMetrics: customMetrics(account.custom_metrics) };
  }

  #noticeKey(entry: Entry): void {
    const generation = entry.opened.keyGeneration();
    if (generation === entry.keyGeneration) return;
    entry.keyGeneration = generation;
    entry.account.keyChanged();
  }

  /** Calls in flight still use the old reader; none of them lasts longer than the retries allow. */
  #closeLater({ reader }: AccountReader): void {
    this.#dependencies.clock.after(60_000, () => void reader.close());
  }
}

function addUp(counts: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sum = new Map<string, number>();
  for (const count of counts) for (const [family, value] of count) sum.set(family, (sum.get(family) ?? 0) + value);
  return sum;
}
