import type { TaskStatus } from '../../collect/accountStatus.ts';
import { REMEDIES } from '../../collect/remedies.ts';
import type { ReloadFailure } from '../dependencies.ts';
import type { ShownAccount, ShownApplication } from './breakdown.ts';
import { failuresOf, groupFailures } from './failureTable.ts';

/**
 * The parts of the document of `/api/status`: snake case, Unix seconds. An unknown value is null, so every key is present. Parts
 * are small, so that other work gets a turn in between: an account may have 100,000 tasks.
 */
export function* statusDocument(
  accounts: readonly ShownAccount[],
  reloadFailure: ReloadFailure | undefined,
  version: string,
  now: number,
): Generator<string> {
  const head = {
    version,
    now,
    reload_failure:
      reloadFailure === undefined ? undefined : { at: reloadFailure.at, faults: reloadFailure.diagnostics },
  };
  yield `${json(head).slice(0, -1)},"accounts":`;
  yield* list(accounts, function* (account) {
    yield `${json(accountDocument(account)).slice(0, -1)},"applications":`;
    if (account.applications === undefined) yield 'null';
    else yield* list(account.applications, (application) => [json(applicationDocument(application))]);
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

function accountDocument(account: ShownAccount) {
  const { budget, plan, outage } = account;
  return {
    name: account.name,
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
    failures: groupFailures(account.tasks).map((failure) => ({
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

function applicationDocument({ id, name, language, reporting, tags = [], breakdown }: ShownApplication) {
  return {
    id,
    name,
    language,
    reporting,
    tags: tags.map(({ key, values }) => ({ key, values })),
    response_time_seconds: breakdown?.responseTime,
    breakdown: breakdown?.parts,
  };
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
