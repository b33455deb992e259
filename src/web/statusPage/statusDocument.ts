import type { TaskStatus } from '../../collect/accountStatus.ts';
import type { EntryStatus } from '../../collect/entryStatus.ts';
import { REMEDIES } from '../../collect/remedies.ts';
import type { ReloadFailure } from '../dependencies.ts';
import type { LastScrapes } from '../lastScrapes.ts';
import { failuresOf } from './failureTable.ts';
import { partsOf, type ShownAccount, type ShownApplication, type ShownEntity } from './shownAccounts.ts';
import type { ApplicationRow } from './trouble.ts';
import type { Verdict } from './verdict.ts';

/** What the pages show. Times are Unix seconds. */
export interface View {
  readonly accounts: readonly ShownAccount[];
  /** The entries with `account_ids`. */
  readonly entries: readonly EntryStatus[];
  readonly rows: readonly ApplicationRow[];
  readonly verdict: Verdict;
  /** The newest first. */
  readonly lastScrapes: ReturnType<LastScrapes['list']>;
  readonly reloadFailure: ReloadFailure | undefined;
  readonly now: number;
}

/**
 * The parts of the document of `/api/status`: snake case, Unix seconds. An unknown value is null, so every key is present. Parts
 * are small, so that other work gets a turn in between: an account may have 100,000 tasks.
 */
export function* statusDocument(
  { accounts, entries, verdict, lastScrapes, reloadFailure, now }: View,
  version: string,
): Generator<string> {
  const head = {
    version,
    now,
    verdict: verdict.verdict,
    verdict_text: verdict.text,
    last_scrapes: lastScrapes,
    reload_failure:
      reloadFailure === undefined ? undefined : { at: reloadFailure.at, faults: reloadFailure.diagnostics },
  };
  yield `${json(head).slice(0, -1)},"account_lists":`;
  yield* list(entries, function* (entry) {
    yield `${json(entryDocument(entry)).slice(0, -1)},"accounts":`;
    yield* list(entry.accounts, (account) => [json(listedDocument(account))]);
    yield '}';
  });
  yield ',"accounts":';
  yield* list(accounts, function* (account) {
    yield `${json(accountDocument(account)).slice(0, -1)},"applications":`;
    if (account.applications === undefined) yield 'null';
    else yield* list(account.applications, (application) => [json(applicationDocument(application))]);
    yield ',"monitored_entities":';
    yield* list(account.monitored, (entity) => [json(entityDocument(entity))]);
    yield ',"entities":';
    yield* list(account.tasks, (task) => [json(taskDocument(task))]);
    yield '}';
  });
  yield '}';
}

function* list<T>(elements: readonly T[], partsOf: (element: T) => Iterable<string>): Generator<string> {
  for (const [position, element] of elements.entries()) {
    yield position === 0 ? '[' : ',';
    yield* partsOf(element);
  }
  yield elements.length === 0 ? '[]' : ']';
}

function json(document: object): string {
  return JSON.stringify(document, (_key, value: unknown) => (value === undefined ? null : value));
}

/** An entry with `account_ids`, without the accounts that its key lists. */
function entryDocument(entry: EntryStatus) {
  return {
    entry: entry.entry,
    success: entry.success,
    reason: entry.reason,
    problem: entry.problem,
    since: entry.since,
    refused: entry.refused,
    listed: entry.listed,
    exported: entry.exported,
    left_out: entry.leftOut,
    warnings: entry.warnings,
  };
}

function listedDocument({ id, name, verdict }: EntryStatus['accounts'][number]) {
  return {
    account_id: id,
    name,
    exported_as: 'exportedAs' in verdict ? verdict.exportedAs : undefined,
    left_out_because: 'why' in verdict ? verdict.why : undefined,
  };
}

function accountDocument(account: ShownAccount) {
  const { budget, plan, outage } = account;
  return {
    name: account.name,
    account_id: account.accountId,
    entry: account.entry,
    api: account.api,
    api_end_of_life: account.endOfLife,
    labels: account.labels,
    up: account.up,
    refused: account.refused,
    outage:
      outage === undefined
        ? undefined
        : {
            since: outage.since,
            reason: outage.reason,
            problem: outage.problem,
            remedy: REMEDIES[outage.reason],
            last_good_values_until: outage.servedUntil,
          },
    window_end: account.windowEnd,
    warnings: account.warnings,
    application_counts: account.applicationCounts,
    budget: {
      requests_per_minute: budget.configured,
      requests_per_minute_in_force: budget.inForce,
      requests_in_last_minute: budget.lastMinute,
      requests_in_flight: budget.inFlight,
      paused_until: budget.pausedUntil,
    },
    plan: { requests_per_minute: plan.callsPerMinute, stretch: plan.slowdown },
    groups: account.groups.map((group) => ({
      group: group.group,
      ...(group.group === 'custom_metrics' ? { interval_of: 'names' } : {}),
      interval_seconds: group.intervalSeconds,
      effective_interval_seconds: group.effectiveIntervalSeconds,
      success: group.success,
      last_success: group.lastSuccess,
      duration_seconds: group.durationSeconds,
      entities: { fresh: group.tasks.fresh, stale: group.tasks.stale, missing: group.tasks.missing },
      oldest_window_end: group.oldestWindowEnd,
    })),
    failures: account.failures.map((failure) => ({
      group: failure.group,
      reason: failure.reason,
      problem: failure.problem,
      count: failure.tasks.length,
      failures: failuresOf(failure),
      since: failure.since,
    })),
    entity_types: account.entities.map((each) => ({
      type: each.type,
      state: each.state,
      success: each.success,
      duration_seconds: each.seconds,
      last_success: each.lastSuccess,
      listed: each.listed,
      exported: each.exported,
      reporting: each.reporting,
      left_out: { by_configuration: each.excluded, by_max_entities: each.leftOut },
      metrics: each.metrics,
      metric_problems: each.metricProblems.map(({ metric, problem }) => ({ metric, problem })),
      series: each.series,
      oldest_value: each.oldestRead,
      oldest_window_end: each.windowEnd,
      golden_metrics: each.values,
      golden_metrics_failing: each.failing,
      problem: each.problem,
    })),
    queries: account.queries.map((query) => ({
      name: query.name,
      nrql: query.nrql,
      state: query.state,
      success: query.success,
      duration_seconds: query.seconds,
      last_success: query.lastSuccess,
      window_end: query.windowEnd,
      rows: query.rows,
      series: query.series,
      rows_dropped: query.dropped,
      problem: query.problem,
    })),
  };
}

function applicationDocument(application: ShownApplication) {
  const { id, name, language, reporting, tags = [], window } = application;
  return {
    id,
    name,
    language,
    reporting,
    tags: tags.map(({ key, values }) => ({ key, values })),
    health_status: application.health,
    requests_per_second: application.requests,
    error_ratio: application.errorRatio,
    apdex_score: application.apdexScore,
    apdex_threshold_seconds: application.apdexThreshold,
    response_time_seconds: application.responseTime,
    breakdown: window === undefined ? undefined : partsOf(application),
  };
}

function entityDocument({ type, guid, name, reporting, health, golden }: ShownEntity) {
  return { type, guid, name, reporting, health_status: health, golden_metrics: golden };
}

function taskDocument(task: TaskStatus) {
  return {
    group: task.group,
    application_id: task.applicationId,
    application: task.application,
    host_id: task.hostId,
    host: task.host,
    entity_type: task.entityType,
    entity_guid: task.entityGuid,
    entity: task.entity,
    query: task.query,
    state: task.state,
    failures: task.failures,
    reason: task.reason,
    problem: task.problem,
    since: task.since,
    seconds: task.seconds,
    window_end: task.windowEnd,
  };
}
