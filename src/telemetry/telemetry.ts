import { SPLIT_REASONS, type CallObserver, type SplitReason } from '../api/upstreamReader.ts';
import { FAILURE_REASONS, type FailureReason } from '../api/upstreamError.ts';
// The library only counts and measures; src/exposition writes the text. The library's writer renames a counter for good
// when it writes OpenMetrics. It also lacks units, escaped quotes in HELP and canonical bounds. The next version needs
// Node 22.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { AccountSummary, GroupStatus, QueryStatus, EntryStatus } from '../collect/serve/accountStatus.ts';
import type { OwnFamily } from '../exposition/exposition.ts';
import { EXPORTER, EXPORTER_FAMILIES } from '../metrics/catalogueExporter.ts';
import type { Labels } from '../metrics/family.ts';
import type { DroppedSeries } from '../metrics/writeSamples.ts';
import { ROW_DROP_REASONS } from '../nrql/queryRows.ts';

interface Build {
  readonly version: string;
  readonly revision: string;
  /** True adds the families `process_*` and `nodejs_*`. */
  readonly processMetrics: boolean;
  readonly droppedLines: () => number;
}

export class Telemetry {
  readonly #registry = new Registry();
  readonly #process: Registry | undefined;
  readonly #accounts = new Map<string, AccountCalls>();
  /** Counts a scrape before its response is written: `partial` if a due task is not fresh, else `complete`. */
  readonly scrapes = new Counter({ ...EXPORTER.newrelic_exporter_scrapes_total, registers: [this.#registry] });
  readonly refusedLogins = new Counter({
    ...EXPORTER.newrelic_exporter_web_refused_logins_total,
    registers: [this.#registry],
  });
  readonly #dropped = new Counter({ ...EXPORTER.newrelic_exporter_series_dropped_total, registers: [this.#registry] });
  /** The readings whose dropped series are counted already, by family. */
  readonly #counted = new Map<string, WeakSet<object>>();
  readonly #build: Build;
  #isReloaded: boolean | undefined;
  /** Unix seconds of the last successful reload. */
  #reloadedAt: number | undefined;

  constructor(build: Build) {
    this.#build = build;
    this.#process = build.processMetrics ? createProcessRegistry() : undefined;
    this.scrapes.inc({ result: 'complete' }, 0);
    this.scrapes.inc({ result: 'partial' }, 0);
  }

  /** Returns the call counters of an account. A reload keeps them, so that no counter is reset. */
  observer(account: string): AccountCalls {
    let calls = this.#accounts.get(account);
    if (calls === undefined) this.#accounts.set(account, (calls = new AccountCalls()));
    return calls;
  }

  /** Removes the series of every account that is not in `names`. */
  keepAccounts(names: readonly string[]): void {
    for (const name of this.#accounts.keys()) if (!names.includes(name)) this.#accounts.delete(name);
  }

  /** Records whether the configuration was loaded, at the start or by a reload. `now`: Unix milliseconds. */
  reloaded(ok: boolean, now: number): void {
    this.#isReloaded = ok;
    if (ok) this.#reloadedAt = now / 1000;
  }

  /** Counts the series that a `max_series` drops. Counts each reading once, even if several scrapes serve it. */
  dropped(series: readonly DroppedSeries[]): void {
    for (const { family, series: count, reading } of series) {
      const counted = this.#counted.get(family) ?? new WeakSet();
      this.#counted.set(family, counted);
      if (counted.has(reading)) continue;
      counted.add(reading);
      this.#dropped.inc({ family }, count);
    }
  }

  /** Returns the exporter's families for an exposition that contains the families in `collected`. */
  async readFamilies(
    statuses: readonly AccountSummary[],
    entries: readonly EntryStatus[],
    collected: ReadonlyMap<string, { readonly series: number }>,
  ): Promise<readonly OwnFamily[]> {
    for (const family of collected.keys()) this.#dropped.inc({ family }, 0);
    // Looked up before the first `await`, because a reload may remove an account meanwhile.
    const accounts = statuses.map((status) => ({ status, calls: this.observer(status.name) }));
    const lists = entries.map((entry) => ({ entry, calls: this.observer(entry.entry) }));
    const { version, revision, droppedLines } = this.#build;
    const parts: Part[] = [
      ...(await readRegistry(this.#registry)),
      ...gauge('newrelic_exporter_build_info', { version, revision, node_version: process.version }, 1),
      ...gauge('newrelic_exporter_log_lines_dropped_total', {}, droppedLines()),
      ...gauge('newrelic_exporter_config_last_reload_successful', {}, this.#isReloaded),
      ...gauge('newrelic_exporter_config_last_reload_success_timestamp_seconds', {}, this.#reloadedAt),
    ];
    for (const [family, { series }] of collected) parts.push(...gauge('newrelic_exporter_series', { family }, series));
    for (const { status, calls } of accounts) {
      // NerdGraph reads in batches, so the counters of splits begin at 0.
      if (status.api === 'nerdgraph') for (const reason of SPLIT_REASONS) calls.splits.inc({ reason }, 0);
      const accountParts = [...listAccountFamilies(status), ...(await readRegistry(calls.registry))];
      parts.push(...addAccountLabels(accountParts, status));
    }
    for (const { entry, calls } of lists) parts.push(...(await listEntryFamilies(entry, calls)));
    const byName = new Map<string, Part['series'][number][]>(EXPORTER_FAMILIES.map(({ name }) => [name, []]));
    for (const { name, series } of parts) byName.get(name)?.push(...series);
    const families = EXPORTER_FAMILIES.map((family) => ({ ...family, series: byName.get(family.name) ?? [] }));
    const processFamilies = this.#process === undefined ? [] : await readRegistry(this.#process);
    const lag = processFamilies.filter(({ name }) => LAG_DISTRIBUTION.test(name));
    // Two scrapes in quick succession leave no measurement: the mean is NaN, and the minimum is the largest number.
    const isUnmeasured = lag.some(({ series }) => series.some(({ value }) => Number.isNaN(value)));
    return [...families, ...processFamilies.filter((family) => !isUnmeasured || !lag.includes(family))];
  }
}

type Part = Pick<OwnFamily, 'name' | 'series'>;

/** Returns the state of the account list of an entry, and its calls, with the entry's name as account. */
async function listEntryFamilies(status: EntryStatus, calls: AccountCalls): Promise<readonly Part[]> {
  const { entry, labels, success, isEmpty, listed, exported, leftOut } = status;
  const up = gauge('newrelic_up', {}, isEmpty ? 0 : undefined);
  return [
    ...addAccountLabels([...up, ...(await readRegistry(calls.registry))], { name: entry, labels }),
    ...gauge('newrelic_exporter_account_list_success', { entry }, success),
    ...Object.entries({ listed, exported }).flatMap(([state, count]) =>
      gauge('newrelic_exporter_accounts', { entry, state }, count),
    ),
    ...gauge('newrelic_exporter_accounts_left_out', { entry }, leftOut),
  ];
}

/** Adds the account's name and static labels. Labels of the family take precedence. */
function addAccountLabels(parts: Part[], { name, labels }: Pick<AccountSummary, 'name' | 'labels'>): Part[] {
  return parts.map((part) => ({
    name: part.name,
    series: part.series.map((one) => ({
      ...one,
      labels: { account: name, ...one.labels, ...labels, ...one.labels },
    })),
  }));
}

/** Seconds. The last bucket is above the default `request_timeout`. */
const DURATION_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];

/**
 * Counts the calls of one account. Each account has its own registry, so that a removed account leaves no series.
 * Expected series begin at 0: `increase()` misses the first event of a series that begins at 1.
 */
class AccountCalls implements Omit<CallObserver, 'leftOut' | 'serviceMessage'> {
  readonly registry = new Registry();
  readonly #requests = new Counter({ ...EXPORTER.newrelic_exporter_api_requests_total, registers: [this.registry] });
  readonly #durations = new Histogram({
    ...EXPORTER.newrelic_exporter_api_request_duration_seconds,
    registers: [this.registry],
    buckets: DURATION_BUCKETS,
  });
  readonly #failures = new Counter({ ...EXPORTER.newrelic_exporter_api_failures_total, registers: [this.registry] });
  readonly #retries = new Counter({ ...EXPORTER.newrelic_exporter_api_retries_total, registers: [this.registry] });
  readonly #inFlight = new Gauge({ ...EXPORTER.newrelic_exporter_api_requests_in_flight, registers: [this.registry] });
  readonly splits = new Counter({ ...EXPORTER.newrelic_exporter_api_batches_split_total, registers: [this.registry] });
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

/** Returns the gauges of an account, new for each exposition, so that removed groups and accounts leave no series. */
function listAccountFamilies(status: AccountSummary): Part[] {
  const { api, region, budget, accountId } = status;
  return [
    ...gauge('newrelic_up', {}, status.up),
    ...gauge('newrelic_exporter_account_info', { api, region, account_id: String(accountId ?? '') }, 1),
    ...gauge('newrelic_exporter_api_end_of_life_timestamp_seconds', {}, status.endOfLife),
    ...(['listed', 'exported', 'reporting'] as const).flatMap((state) =>
      gauge(
        'newrelic_exporter_applications',
        { state },
        status.isOptional ? undefined : status.applicationCounts?.[state],
      ),
    ),
    ...gauge('newrelic_exporter_window_end_timestamp_seconds', {}, status.windowEnd),
    ...gauge('newrelic_exporter_lost_seconds_total', {}, status.counters?.lostSeconds),
    ...gauge('newrelic_exporter_late_transactions_total', {}, status.counters?.lateTransactions),
    ...gauge('newrelic_exporter_api_budget_requests_per_minute', {}, budget.inForce),
    ...gauge('newrelic_exporter_api_paused_until_timestamp_seconds', {}, budget.pausedUntil),
    ...status.groups.flatMap((group) => listGroupFamilies(group)),
    ...status.entities.flatMap(({ type, listed, leftOut }) =>
      gauge('newrelic_exporter_entities_left_out', { entity_type: type }, listed === undefined ? undefined : leftOut),
    ),
    ...status.queries.flatMap((query) => listQueryFamilies(query)),
  ];
}

function listQueryFamilies({ name, success, seconds, series, dropped }: QueryStatus): Part[] {
  const labels = { query: name };
  return [
    ...gauge('newrelic_exporter_query_success', labels, success),
    ...gauge('newrelic_exporter_query_duration_seconds', labels, seconds),
    ...gauge('newrelic_exporter_query_series', labels, series),
    ...ROW_DROP_REASONS.flatMap((reason) =>
      gauge('newrelic_exporter_query_rows_dropped_total', { ...labels, reason }, dropped[reason]),
    ),
  ];
}

function listGroupFamilies(status: GroupStatus): Part[] {
  const labels = { group: status.group };
  return [
    ...gauge('newrelic_exporter_collection_success', labels, status.success),
    ...gauge('newrelic_exporter_collection_last_success_timestamp_seconds', labels, status.lastSuccess),
    ...gauge('newrelic_exporter_collection_duration_seconds', labels, status.durationSeconds),
    ...Object.entries(status.tasks).flatMap(([state, count]) =>
      gauge('newrelic_exporter_collection_entities', { ...labels, state }, count),
    ),
    ...gauge('newrelic_exporter_oldest_window_end_timestamp_seconds', labels, status.oldestWindowEnd),
    ...gauge('newrelic_exporter_effective_interval_seconds', labels, status.effectiveIntervalSeconds),
  ];
}

function gauge(name: keyof typeof EXPORTER, labels: Labels, value: number | boolean | undefined): Part[] {
  return value === undefined ? [] : [{ name, series: [{ suffix: '', labels, value: Number(value) }] }];
}

/** Gauges that `promtool check metrics` rejects, because they end in `_total`. */
const REFUSED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

const LAG = 'nodejs_eventloop_lag_seconds';
const LAG_DISTRIBUTION = /^nodejs_eventloop_lag_(?:min|max|mean|stddev|p\d+)_seconds$/;

/** Registers the client library's `process_*` and `nodejs_*` families. */
function createProcessRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of REFUSED) registry.removeSingleMetric(name);
  // The lag is measured between two scrapes, so the first scrape would show a 0 without a measurement.
  registry.getSingleMetric(LAG)?.remove();
  return registry;
}

export async function readRegistry(registry: Registry): Promise<OwnFamily[]> {
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
