import type {
  AccountStatus,
  ApplicationView,
  BudgetStatus,
  EntityStatus,
  GroupStatus,
  QueryStatus,
} from '../dependencies.ts';
import { breakdownKey, type Breakdown } from './breakdown.ts';

/** A JSON value; what is not known is null, so that every key is always there. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** The document of `/api/status`: keys in snake case, times in Unix seconds, lengths in seconds. */
export function statusDocument(
  accounts: readonly AccountStatus[],
  breakdowns: ReadonlyMap<string, Breakdown>,
  version: string,
  now: number,
): Json {
  return { version, now, accounts: accounts.map((account) => accountDocument(account, breakdowns)) };
}

function accountDocument(account: AccountStatus, breakdowns: ReadonlyMap<string, Breakdown>): Json {
  return {
    name: account.name,
    api: account.api,
    api_end_of_life: account.endOfLife ?? null,
    labels: account.labels,
    up: account.up,
    refused: account.refused ?? null,
    window_end: account.windowEnd ?? null,
    warnings: account.warnings,
    application_counts: account.applicationCounts ?? null,
    budget: budgetDocument(account.budget),
    plan: { requests_per_minute: account.plan.callsPerMinute, stretch: account.plan.stretch },
    groups: account.groups.map(groupDocument),
    applications:
      account.applications?.map((application) =>
        applicationDocument(application, breakdowns.get(breakdownKey(account.name, application.id))),
      ) ?? null,
    queries: account.queries.map(queryDocument),
    entities: account.entities.map(entityDocument),
  };
}

function budgetDocument(budget: BudgetStatus): Json {
  return {
    requests_per_minute: budget.configured,
    requests_per_minute_in_force: budget.inForce,
    requests_in_last_minute: budget.lastMinute,
    requests_in_flight: budget.inFlight,
    paused_until: budget.pausedUntil ?? null,
  };
}

function groupDocument(group: GroupStatus): Json {
  return {
    group: group.group,
    interval_seconds: group.intervalSeconds,
    effective_interval_seconds: group.effectiveIntervalSeconds,
    success: group.success ?? null,
    last_success: group.lastSuccess ?? null,
    duration_seconds: group.durationSeconds ?? null,
    entities: { fresh: group.entities.fresh, stale: group.entities.stale, missing: group.entities.missing },
    oldest_window_end: group.oldestWindowEnd ?? null,
  };
}

function queryDocument(query: QueryStatus): Json {
  return {
    name: query.name,
    nrql: query.nrql,
    state: query.state,
    success: query.success ?? null,
    duration_seconds: query.seconds ?? null,
    last_success: query.lastSuccess ?? null,
    rows: query.rows ?? null,
    series: query.series,
    rows_dropped: { ...query.dropped },
    problem: query.problem ?? null,
  };
}

function entityDocument(entity: EntityStatus): Json {
  return {
    group: entity.group,
    application_id: entity.applicationId ?? null,
    application: entity.application ?? null,
    host_id: entity.hostId ?? null,
    host: entity.host ?? null,
    query: entity.query ?? null,
    state: entity.state,
    failures: entity.failures,
    reason: entity.reason ?? null,
    problem: entity.problem ?? null,
    seconds: entity.seconds ?? null,
    window_end: entity.windowEnd ?? null,
  };
}

function applicationDocument(application: ApplicationView, breakdown: Breakdown | undefined): Json {
  return {
    id: application.id,
    name: application.name,
    language: application.language ?? null,
    reporting: application.reporting,
    tags: (application.tags ?? []).map(({ key, values }) => ({ key, values })),
    response_time_seconds: breakdown?.responseTime ?? null,
    breakdown: breakdown?.parts.map(({ kind, name, metric, seconds }) => ({ kind, name, metric, seconds })) ?? null,
  };
}
