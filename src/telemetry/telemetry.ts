import type { CallObserver } from '../api/observer.ts';
import type { AccountStatus } from '../collect/view.ts';
import type { AnswerCounts } from '../exposition/counts.ts';
import type { OwnFamily, OwnSeries } from '../exposition/own.ts';
import { Counter, Gauge, Registry } from '../exposition/promClient.ts';
import { registryFamilies } from '../exposition/registryFamilies.ts';
import { EXPORTER, EXPORTER_FAMILIES } from '../metrics/catalogueExporter.ts';
import type { Labels } from '../metrics/sample.ts';
import { AccountCalls } from './accountCalls.ts';
import { accountSeries } from './accountSeries.ts';
import { ProcessMetrics } from './processMetrics.ts';

interface Account {
  readonly calls: AccountCalls;
  /** True when it has been in an answer since its observer was last asked for. */
  answered: boolean;
}

/** The exporter's own metrics (contract 5.5). */
export class Telemetry {
  readonly #registry = new Registry();
  readonly #process = new ProcessMetrics();
  readonly #accounts = new Map<string, Account>();
  readonly #buildInfo = new Gauge({ ...EXPORTER.buildInfo, registers: [this.#registry] });
  readonly #scrapes = new Counter({ ...EXPORTER.scrapes, registers: [this.#registry] });
  readonly #series = new Gauge({ ...EXPORTER.series, registers: [this.#registry] });
  readonly #dropped = new Counter({ ...EXPORTER.seriesDropped, registers: [this.#registry] });
  readonly #reload = new Gauge({ ...EXPORTER.reloadSuccessful, registers: [this.#registry] });
  readonly #reloadTime = new Gauge({ ...EXPORTER.reloadSuccessTime, registers: [this.#registry] });

  constructor() {
    this.#scrapes.inc({ result: 'complete' }, 0);
    this.#scrapes.inc({ result: 'partial' }, 0);
    this.#reload.remove();
    this.#reloadTime.remove();
  }

  /** Who is told about the calls of an account; the same one for the same name, so that a reload does not reset counters. */
  observer(account: string): CallObserver {
    const known = this.#accountOf(account);
    known.answered = false;
    return known.calls;
  }

  build(version: string, revision: string, nodeVersion: string): void {
    this.#buildInfo.set({ version, revision, node_version: nodeVersion }, 1);
  }

  /** A scrape is about to be answered; `partial` when any due entity of it is not fresh. */
  scraped(result: 'complete' | 'partial'): void {
    this.#scrapes.inc({ result });
  }

  /** The configuration was loaded, at the start or later, or could not be; `at` is Unix time in milliseconds. */
  reloaded(ok: boolean, at: number): void {
    this.#reload.set(Number(ok));
    if (ok) {
      this.#reloadTime.set(at / 1000);
    }
  }

  /**
   * An answer of collected data holds this much. Not for `/probe`, and not for `collect[]=exporter` alone: those say
   * nothing about the answer that is asked for all the time.
   */
  rendered({ series, dropped }: Pick<AnswerCounts, 'series' | 'dropped'>): void {
    this.#series.reset();
    for (const [family, count] of series) {
      this.#series.set({ family }, count);
      this.#dropped.inc({ family }, 0);
    }
    for (const [family, count] of dropped) {
      this.#dropped.inc({ family }, count);
    }
  }

  /** All families as they are now. Series of accounts that are not among `statuses` any more end here. */
  async own(statuses: readonly AccountStatus[]): Promise<readonly OwnFamily[]> {
    this.#forgetAllBut(new Set(statuses.map(({ name }) => name)));
    const now = statuses.map((status) => ({
      staticLabels: status.labels,
      calls: this.#accountOf(status.name, true).calls,
      gauges: accountSeries(status),
    }));
    const series = new Map<string, OwnSeries[]>(EXPORTER_FAMILIES.map(({ name }) => [name, []]));
    for (const { name, series: own } of await registryFamilies(this.#registry)) {
      series.get(name)?.push(...own);
    }
    for (const { staticLabels, calls, gauges } of now) {
      for (const { family, series: one } of gauges) {
        series.get(family.name)?.push(withLabels(one, staticLabels));
      }
      for (const { name, series: counted } of await registryFamilies(calls.registry)) {
        series.get(name)?.push(...counted.map((one) => withLabels(one, staticLabels)));
      }
    }
    const exporter = EXPORTER_FAMILIES.map(({ name, help, type }) => ({
      name,
      help,
      type,
      series: series.get(name) ?? [],
    }));
    return [...exporter, ...(await this.#process.families())];
  }

  #accountOf(name: string, answered = false): Account {
    const known = this.#accounts.get(name) ?? { calls: new AccountCalls(name), answered };
    known.answered ||= answered;
    this.#accounts.set(name, known);
    return known;
  }

  /** An account that no answer has had yet is about to come with a reload: it stays. */
  #forgetAllBut(names: ReadonlySet<string>): void {
    for (const [name, { answered }] of this.#accounts) {
      if (answered && !names.has(name)) {
        this.#accounts.delete(name);
      }
    }
  }
}

function withLabels(series: OwnSeries, labels: Labels): OwnSeries {
  return { ...series, labels: { ...series.labels, ...labels } };
}
