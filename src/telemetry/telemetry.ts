import type { CallObserver } from '../api/reader.ts';
import { ROW_DROP_REASONS } from '../nrql/queryRows.ts';
import type { AccountStatus, EntityState, GroupStatus, QueryStatus } from '../collect/view.ts';
import { type OwnFamily, type OwnMetrics, type OwnSeries, registryFamilies } from '../exposition/ownFamilies.ts';
import { Counter, Gauge, Registry, collectDefaultMetrics } from '../exposition/promClient.ts';
import { EXPORTER, EXPORTER_FAMILIES, type ExporterFamily } from '../metrics/catalogueExporter.ts';
import type { DroppedSeries, Labels } from '../metrics/sample.ts';
import { AccountCalls } from './accountCalls.ts';

/** The exporter's own metrics. */
export class Telemetry {
  readonly #registry = new Registry();
  readonly #process: ProcessMetrics | undefined;
  readonly #accounts = new Map<string, AccountCalls>();
  readonly #scrapes = new Counter({ ...EXPORTER.scrapes, registers: [this.#registry] });
  readonly #refusedLogins = new Counter({ ...EXPORTER.refusedLogins, registers: [this.#registry] });
  readonly #dropped = new Counter({ ...EXPORTER.seriesDropped, registers: [this.#registry] });
  /** By family, the number of the newest samples whose dropped series are counted. */
  readonly #countedUpTo = new Map<string, number>();
  readonly #reload = new Gauge({ ...EXPORTER.reloadSuccessful, registers: [this.#registry] });
  readonly #reloadTime = new Gauge({ ...EXPORTER.reloadSuccessTime, registers: [this.#registry] });

  /** @param build `processMetrics` false: without the families `process_*` and `nodejs_*` */
  constructor(build: { readonly version: string; readonly revision: string; readonly processMetrics: boolean }) {
    const { version, revision, processMetrics } = build;
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
    for (const name of this.#accounts.keys()) if (!names.includes(name)) this.#accounts.delete(name);
  }

  /** A scrape is about to be answered; `partial` when any due entity of it is not fresh. */
  scraped(result: 'complete' | 'partial'): void {
    this.#scrapes.inc({ result });
  }

  /** A password was refused. */
  refusedLogin(): void {
    this.#refusedLogins.inc();
  }

  /** The configuration was loaded, at the start or later, or could not be; `at` is Unix time in milliseconds. */
  reloaded(ok: boolean, at: number): void {
    this.#reload.set(Number(ok));
    if (ok) this.#reloadTime.set(at / 1000);
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
      for (const family of series.keys()) this.#dropped.inc({ family }, 0);
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
    if (calls === undefined) this.#accounts.set(account, (calls = new AccountCalls(account)));
    return calls;
  }
}

function seriesGauge(family: string, value: number): OwnSeries {
  return { suffix: '', labels: { family }, value };
}

const STATES: readonly EntityState[] = ['fresh', 'stale', 'missing'];

/**
 * The gauges of an account's state, made anew for each answer, so that nothing is left of a group or an account that is
 * gone. What is not known yet is absent. One entry for each series.
 */
function accountFamilies(status: AccountStatus): OwnFamily[] {
  const { name: account, api, region, budget } = status;
  return [
    ...gauge(EXPORTER.up, { account }, Number(status.up)),
    ...gauge(EXPORTER.accountInfo, { account, api, region }, 1),
    ...gauge(EXPORTER.apiEndOfLife, { account }, status.endOfLife),
    ...(['listed', 'exported', 'reporting'] as const).flatMap((state) =>
      gauge(EXPORTER.applications, { account, state }, status.applicationCounts?.[state]),
    ),
    ...gauge(EXPORTER.windowEnd, { account }, status.windowEnd),
    ...gauge(EXPORTER.apiBudget, { account }, budget.inForce),
    ...gauge(EXPORTER.apiPausedUntil, { account }, budget.pausedUntil),
    ...status.groups.flatMap((group) => groupFamilies(account, group)),
    ...status.queries.flatMap((query) => queryFamilies(account, query)),
  ];
}

function queryFamilies(account: string, { name, success, seconds, series, dropped }: QueryStatus): OwnFamily[] {
  const labels = { account, query: name };
  return [
    ...gauge(EXPORTER.querySuccess, labels, success === undefined ? undefined : Number(success)),
    ...gauge(EXPORTER.queryDuration, labels, seconds),
    ...gauge(EXPORTER.querySeries, labels, series),
    ...ROW_DROP_REASONS.flatMap((reason) => gauge(EXPORTER.queryRowsDropped, { ...labels, reason }, dropped[reason])),
  ];
}

function groupFamilies(account: string, status: GroupStatus): OwnFamily[] {
  const labels = { account, group: status.group };
  const success = status.success === undefined ? undefined : Number(status.success);
  return [
    ...gauge(EXPORTER.collectionSuccess, labels, success),
    ...gauge(EXPORTER.collectionLastSuccess, labels, status.lastSuccess),
    ...gauge(EXPORTER.collectionDuration, labels, status.durationSeconds),
    ...STATES.flatMap((state) => gauge(EXPORTER.collectionEntities, { ...labels, state }, status.entities[state])),
    ...gauge(EXPORTER.oldestWindowEnd, labels, status.oldestWindowEnd),
    ...gauge(EXPORTER.effectiveInterval, labels, status.effectiveIntervalSeconds),
  ];
}

function gauge(family: ExporterFamily, labels: Labels, value: number | undefined): OwnFamily[] {
  return value === undefined ? [] : [{ ...family, series: [{ suffix: '', labels, value }] }];
}

/** Gauges that end in `_total`, which `promtool check metrics` refuses. */
const REFUSED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

const LAG = 'nodejs_eventloop_lag_seconds';
const LAG_DISTRIBUTION = /^nodejs_eventloop_lag_(?:min|max|mean|stddev|p\d+)_seconds$/;

/** The client library's `process_*` and `nodejs_*` families. */
class ProcessMetrics {
  readonly #registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    REFUSED.forEach((name) => this.#registry.removeSingleMetric(name));
    // The lag is measured from one answer to the next: the first answer would show a 0 that nobody measured.
    this.#registry.getSingleMetric(LAG)?.remove();
  }

  async families(): Promise<OwnFamily[]> {
    const families = await registryFamilies(this.#registry);
    return families.some(hasNoLag) ? families.filter(({ name }) => !LAG_DISTRIBUTION.test(name)) : families;
  }
}

/** Between two answers in quick succession nothing is measured: the mean is NaN, and the least is the highest number there is. */
function hasNoLag({ name, series }: OwnFamily): boolean {
  return LAG_DISTRIBUTION.test(name) && series.some(({ value }) => Number.isNaN(value));
}
