import type { CallObserver } from '../api/observer.ts';
import type { AccountStatus } from '../collect/view.ts';
import type { OwnFamily, OwnMetrics, OwnSeries } from '../exposition/own.ts';
import { Counter, Gauge, Registry } from '../exposition/promClient.ts';
import { registryFamilies } from '../exposition/registryFamilies.ts';
import { EXPORTER, EXPORTER_FAMILIES } from '../metrics/catalogueExporter.ts';
import type { DroppedSeries } from '../metrics/sample.ts';
import { AccountCalls } from './accountCalls.ts';
import { accountFamilies } from './accountFamilies.ts';
import { ProcessMetrics } from './processMetrics.ts';

export interface Build {
  readonly version: string;
  readonly revision: string;
}

export interface TelemetryOptions extends Build {
  /** False: without the families `process_*` and `nodejs_*`. */
  readonly processMetrics: boolean;
}

/** The exporter's own metrics. */
export class Telemetry {
  readonly #registry = new Registry();
  readonly #process: ProcessMetrics | undefined;
  readonly #accounts = new Map<string, AccountCalls>();
  readonly #scrapes = new Counter({ ...EXPORTER.scrapes, registers: [this.#registry] });
  readonly #dropped = new Counter({ ...EXPORTER.seriesDropped, registers: [this.#registry] });
  /** By family, the number of the newest samples whose dropped series are counted. */
  readonly #countedUpTo = new Map<string, number>();
  readonly #reload = new Gauge({ ...EXPORTER.reloadSuccessful, registers: [this.#registry] });
  readonly #reloadTime = new Gauge({ ...EXPORTER.reloadSuccessTime, registers: [this.#registry] });

  constructor({ version, revision, processMetrics }: TelemetryOptions) {
    this.#process = processMetrics ? new ProcessMetrics() : undefined;
    const buildInfo = new Gauge({ ...EXPORTER.buildInfo, registers: [this.#registry] });
    buildInfo.set({ version, revision, node_version: process.version }, 1);
    this.#scrapes.inc({ result: 'complete' }, 0);
    this.#scrapes.inc({ result: 'partial' }, 0);
    // The library would show them as 0 before they are set.
    this.#reload.remove();
    this.#reloadTime.remove();
  }

  /** The observer of an account's calls; the same one for the same name, so that a reload does not reset counters. */
  observer(account: string): CallObserver {
    return this.#callsOf(account);
  }

  /** The accounts of a new configuration: the series of all others end. */
  keepAccounts(names: readonly string[]): void {
    for (const name of this.#accounts.keys()) {
      if (!names.includes(name)) {
        this.#accounts.delete(name);
      }
    }
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
   * An answer leaves out these series, because of a `max_series`. However many answers leave them out, they count once for
   * each refresh of their values.
   */
  dropped(series: readonly DroppedSeries[]): void {
    const counts = new Map<string, number>();
    const newest = new Map<string, number>();
    for (const { family, series: count, number } of series) {
      if (number <= (this.#countedUpTo.get(family) ?? -1)) continue;
      counts.set(family, (counts.get(family) ?? 0) + count);
      newest.set(family, Math.max(newest.get(family) ?? 0, number));
    }
    for (const [family, count] of counts) this.#dropped.inc({ family }, count);
    for (const [family, number] of newest) this.#countedUpTo.set(family, number);
  }

  /** All families, for one answer, as they are when its collected part is known. */
  own(statuses: readonly AccountStatus[]): OwnMetrics {
    return async ({ series }) => {
      for (const family of series.keys()) {
        this.#dropped.inc({ family }, 0);
      }
      const parts = [
        await registryFamilies(this.#registry),
        [{ ...EXPORTER.series, series: [...series].map(([family, count]) => seriesGauge(family, count)) }],
        ...(await Promise.all(statuses.map((status) => this.#ofAccount(status)))),
      ];
      const families = EXPORTER_FAMILIES.map((family) => {
        const ofFamily = parts.flat().filter(({ name }) => name === family.name);
        return { ...family, series: ofFamily.flatMap((part) => part.series) };
      });
      return [...families, ...((await this.#process?.families()) ?? [])];
    };
  }

  async #ofAccount(status: AccountStatus): Promise<readonly OwnFamily[]> {
    const calls = this.#callsOf(status.name);
    if (status.api === 'nerdgraph') calls.expectSplits();
    const families = [...accountFamilies(status), ...(await registryFamilies(calls.registry))];
    return families.map((family) => ({
      ...family,
      series: family.series.map((one) => ({ ...one, labels: { ...one.labels, ...status.labels } })),
    }));
  }

  #callsOf(account: string): AccountCalls {
    let calls = this.#accounts.get(account);
    if (calls === undefined) {
      calls = new AccountCalls(account);
      this.#accounts.set(account, calls);
    }
    return calls;
  }
}

function seriesGauge(family: string, value: number): OwnSeries {
  return { suffix: '', labels: { family }, value };
}
