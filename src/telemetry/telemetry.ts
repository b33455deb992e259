import { SPLIT_REASONS, type CallObserver, type SplitReason } from '../api/upstreamReader.ts';
import { FAILURE_REASONS, type FailureReason } from '../api/upstreamError.ts';
// The library only counts and measures. src/exposition writes the text, because the library's writer renames a counter for good once
// it was written as OpenMetrics, and knows no units, escaped quotes in HELP or canonical bounds. Its successor needs Node 22.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { AccountSummary, GroupStatus, QueryStatus, EntryStatus } from '../collect/serve/accountStatus.ts';
import type { OwnFamily } from '../exposition/exposition.ts';
import { EXPORTER, EXPORTER_FAMILIES, type ExporterFamily } from '../metrics/catalogueExporter.ts';
import type { Labels } from '../metrics/family.ts';
import type { DroppedSeries } from '../metrics/writeSamples.ts';
import { ROW_DROP_REASONS } from '../nrql/queryRows.ts';

export class Telemetry {
  readonly #registry = new Registry();
  readonly #process: Registry | undefined;
  readonly #accounts = new Map<string, AccountCalls>();
  /** The scrapes, counted before their responses are written; `partial` when any due task is not fresh. */
  readonly scrapes = new Counter({ ...EXPORTER.scrapes, registers: [this.#registry] });
  readonly refusedLogins = new Counter({ ...EXPORTER.refusedLogins, registers: [this.#registry] });
  readonly #dropped = new Counter({ ...EXPORTER.seriesDropped, registers: [this.#registry] });
  /** By family, the readings whose dropped series are counted. */
  readonly #counted = new Map<string, WeakSet<object>>();
  readonly #reload = new Gauge({ ...EXPORTER.reloadSuccessful, registers: [this.#registry] });
  readonly #reloadTime = new Gauge({ ...EXPORTER.reloadSuccessTime, registers: [this.#registry] });

  /** @param build `processMetrics` false: without the families `process_*` and `nodejs_*` */
  constructor(build: {
    readonly version: string;
    readonly revision: string;
    readonly processMetrics: boolean;
    readonly droppedLines: () => number;
  }) {
    const { version, revision, processMetrics, droppedLines } = build;
    this.#process = processMetrics ? processRegistry() : undefined;
    const buildInfo = new Gauge({ ...EXPORTER.buildInfo, registers: [this.#registry] });
    buildInfo.set({ version, revision, node_version: process.version }, 1);
    new Counter({
      ...EXPORTER.logLinesDropped,
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(droppedLines());
      },
    });
    this.scrapes.inc({ result: 'complete' }, 0);
    this.scrapes.inc({ result: 'partial' }, 0);
    // The library would show a 0 before the first value is set.
    this.#reload.remove();
    this.#reloadTime.remove();
  }

  /** The observer of an account's calls, which a reload keeps, so that no counter is reset. */
  observer(account: string): AccountCalls {
    let calls = this.#accounts.get(account);
    if (calls === undefined) this.#accounts.set(account, (calls = new AccountCalls()));
    return calls;
  }

  /** Ends the series of accounts that a new configuration does not have. */
  keepAccounts(names: readonly string[]): void {
    for (const name of this.#accounts.keys()) if (!names.includes(name)) this.#accounts.delete(name);
  }

  /** Records that the configuration was loaded, at the start or later, or could not be; `at` is Unix time in milliseconds. */
  reloaded(ok: boolean, at: number): void {
    this.#reload.set(Number(ok));
    if (ok) this.#reloadTime.set(at / 1000);
  }

  /** Counts series that a `max_series` cuts: once for each refresh of their values, even in several expositions. */
  dropped(series: readonly DroppedSeries[]): void {
    for (const { family, series: count, reading } of series) {
      const counted = this.#counted.get(family) ?? new WeakSet();
      this.#counted.set(family, counted);
      if (counted.has(reading)) continue;
      counted.add(reading);
      this.#dropped.inc({ family }, count);
    }
  }

  /** All families, for an exposition with the given collected families. */
  async own(
    statuses: readonly AccountSummary[],
    entries: readonly EntryStatus[],
    collected: ReadonlyMap<string, { readonly series: number }>,
  ): Promise<readonly OwnFamily[]> {
    for (const family of collected.keys()) this.#dropped.inc({ family }, 0);
    // Found before the first turn of other work: a reload may remove an account meanwhile.
    const accounts = statuses.map((status) => ({ status, calls: this.observer(status.name) }));
    const lists = entries.map((entry) => ({ entry, calls: this.observer(entry.entry) }));
    const byName = new Map<string, OwnFamily['series'][number][]>();
    const add = (parts: readonly Part[]): void => {
      for (const { name, series } of parts) {
        const known = byName.get(name);
        if (known === undefined) byName.set(name, [...series]);
        else known.push(...series);
      }
    };
    add(await registryFamilies(this.#registry));
    add([...collected].flatMap(([family, { series }]) => gauge(EXPORTER.series, { family }, series)));
    for (const { status, calls } of accounts) {
      // An account that is read in batches has counters of splits, from 0 on.
      if (status.api === 'nerdgraph') for (const reason of SPLIT_REASONS) calls.splits.inc({ reason }, 0);
      add(labelled([...accountFamilies(status), ...(await registryFamilies(calls.registry))], status));
    }
    for (const { entry, calls } of lists) add(await partsOfEntry(entry, calls));
    const families = EXPORTER_FAMILIES.map((family) => ({ ...family, series: byName.get(family.name) ?? [] }));
    if (this.#process === undefined) return families;
    const ofProcess = await registryFamilies(this.#process);
    const lag = ofProcess.filter(({ name }) => LAG_DISTRIBUTION.test(name));
    // Where two expositions follow each other closely, nothing was measured: the mean is NaN, and the minimum the largest number.
    const isUnmeasured = lag.some(({ series }) => series.some(({ value }) => Number.isNaN(value)));
    return [...families, ...(isUnmeasured ? ofProcess.filter((family) => !lag.includes(family)) : ofProcess)];
  }
}

type Part = Pick<OwnFamily, 'name' | 'series'>;

/** What is said about the list of accounts of an entry, and its calls under the name of the entry as account. */
async function partsOfEntry(status: EntryStatus, calls: AccountCalls): Promise<readonly Part[]> {
  const { entry, labels, success, isEmpty, listed, exported, leftOut } = status;
  const up = gauge(EXPORTER.up, {}, isEmpty ? 0 : undefined);
  return [
    ...labelled([...up, ...(await registryFamilies(calls.registry))], { name: entry, labels }),
    ...gauge(EXPORTER.accountListSuccess, { entry }, success),
    ...Object.entries({ listed, exported }).flatMap(([state, count]) =>
      gauge(EXPORTER.accounts, { entry, state }, count),
    ),
    ...gauge(EXPORTER.accountsLeftOut, { entry }, leftOut),
  ];
}

/** The parts with the name of the account and its static labels; a label of the family itself takes precedence. */
function labelled(
  parts: readonly Part[],
  { name, labels }: { readonly name: string; readonly labels: Labels },
): readonly Part[] {
  return parts.map((part) => ({
    name: part.name,
    series: part.series.map((one) => ({
      suffix: one.suffix,
      labels: { account: name, ...one.labels, ...labels, ...one.labels },
      value: one.value,
    })),
  }));
}

/** Seconds: from a very near server to well beyond the default `request_timeout`. */
const DURATION_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];

/**
 * Counts the calls of one account; its name is added when they are shown. Each account has a registry of its own, so its series
 * end with it. Expected series begin at 0, because `increase()` would miss the first event of a series that begins at 1.
 */
class AccountCalls implements Omit<CallObserver, 'leftOut' | 'serviceMessage'> {
  readonly registry = new Registry();
  readonly #requests = new Counter({ ...EXPORTER.apiRequests, registers: [this.registry] });
  readonly #durations = new Histogram({
    ...EXPORTER.apiRequestDuration,
    registers: [this.registry],
    buckets: DURATION_BUCKETS,
  });
  readonly #failures = new Counter({ ...EXPORTER.apiFailures, registers: [this.registry] });
  readonly #retries = new Counter({ ...EXPORTER.apiRetries, registers: [this.registry] });
  readonly #inFlight = new Gauge({ ...EXPORTER.apiInFlight, registers: [this.registry] });
  readonly splits = new Counter({ ...EXPORTER.apiBatchesSplit, registers: [this.registry] });
  readonly #endpoints = new Set<string>();

  constructor() {
    this.#retries.inc(0);
    this.#inFlight.set(0);
  }

  started(endpoint: string): void {
    this.#expectFailures(endpoint);
    this.#inFlight.inc();
  }

  ended(endpoint: string, code: number | 'error', seconds: number): void {
    this.#inFlight.dec();
    this.#requests.inc({ endpoint, code: String(code) });
    this.#durations.observe({ endpoint }, seconds);
  }

  failed(endpoint: string, reason: FailureReason): void {
    this.#expectFailures(endpoint);
    this.#failures.inc({ endpoint, reason });
  }

  retried(): void {
    this.#retries.inc();
  }

  split(reason: SplitReason): void {
    this.splits.inc({ reason });
  }

  #expectFailures(endpoint: string): void {
    if (this.#endpoints.has(endpoint)) return;
    this.#endpoints.add(endpoint);
    for (const reason of FAILURE_REASONS) this.#failures.inc({ endpoint, reason }, 0);
  }
}

/**
 * The gauges of an account's state, made anew for each exposition, so that removed groups and accounts leave no series. A value
 * that is not known yet is absent. Each element has one series; the caller joins those of a family and adds the account's name.
 */
function accountFamilies(status: AccountSummary): Part[] {
  const { api, region, budget, accountId } = status;
  return [
    ...gauge(EXPORTER.up, {}, status.up),
    ...gauge(EXPORTER.accountInfo, { api, region, account_id: String(accountId ?? '') }, 1),
    ...gauge(EXPORTER.apiEndOfLife, {}, status.endOfLife),
    ...(['listed', 'exported', 'reporting'] as const).flatMap((state) =>
      gauge(EXPORTER.applications, { state }, status.isOptional ? undefined : status.applicationCounts?.[state]),
    ),
    ...gauge(EXPORTER.windowEnd, {}, status.windowEnd),
    ...gauge(EXPORTER.lostSeconds, {}, status.counters?.lostSeconds),
    ...gauge(EXPORTER.lateTransactions, {}, status.counters?.lateTransactions),
    ...gauge(EXPORTER.apiBudget, {}, budget.inForce),
    ...gauge(EXPORTER.apiPausedUntil, {}, budget.pausedUntil),
    ...status.groups.flatMap((group) => groupFamilies(group)),
    ...status.entities.flatMap(({ type, listed, leftOut }) =>
      gauge(EXPORTER.entitiesLeftOut, { entity_type: type }, listed === undefined ? undefined : leftOut),
    ),
    ...status.queries.flatMap((query) => queryFamilies(query)),
  ];
}

function queryFamilies({ name, success, seconds, series, dropped }: QueryStatus): Part[] {
  const labels = { query: name };
  return [
    ...gauge(EXPORTER.querySuccess, labels, success),
    ...gauge(EXPORTER.queryDuration, labels, seconds),
    ...gauge(EXPORTER.querySeries, labels, series),
    ...ROW_DROP_REASONS.flatMap((reason) => gauge(EXPORTER.queryRowsDropped, { ...labels, reason }, dropped[reason])),
  ];
}

function groupFamilies(status: GroupStatus): Part[] {
  const labels = { group: status.group };
  return [
    ...gauge(EXPORTER.collectionSuccess, labels, status.success),
    ...gauge(EXPORTER.collectionLastSuccess, labels, status.lastSuccess),
    ...gauge(EXPORTER.collectionDuration, labels, status.durationSeconds),
    ...Object.entries(status.tasks).flatMap(([state, count]) =>
      gauge(EXPORTER.collectionEntities, { ...labels, state }, count),
    ),
    ...gauge(EXPORTER.oldestWindowEnd, labels, status.oldestWindowEnd),
    ...gauge(EXPORTER.effectiveInterval, labels, status.effectiveIntervalSeconds),
  ];
}

function gauge({ name }: ExporterFamily, labels: Labels, value: number | boolean | undefined): Part[] {
  return value === undefined ? [] : [{ name, series: [{ suffix: '', labels, value: Number(value) }] }];
}

/** Gauges that end in `_total`, which `promtool check metrics` refuses. */
const REFUSED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

const LAG = 'nodejs_eventloop_lag_seconds';
const LAG_DISTRIBUTION = /^nodejs_eventloop_lag_(?:min|max|mean|stddev|p\d+)_seconds$/;

/** The client library's `process_*` and `nodejs_*` families. */
function processRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of REFUSED) registry.removeSingleMetric(name);
  // The lag is measured from one exposition to the next: the first one would show a 0 that was not measured.
  registry.getSingleMetric(LAG)?.remove();
  return registry;
}

/** The present contents of a registry of the client library, as copies: changes to them do not reach the registry. */
export async function registryFamilies(registry: Registry): Promise<OwnFamily[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, values }) => ({
    name,
    help,
    type: String(type) as OwnFamily['type'],
    series: values.map(({ labels, value, ...rest }) => ({
      suffix: 'metricName' in rest && typeof rest.metricName === 'string' ? rest.metricName.slice(name.length) : '',
      labels: Object.fromEntries(Object.entries(labels).map(([label, text]) => [label, String(text)])),
      value,
    })),
  }));
}
