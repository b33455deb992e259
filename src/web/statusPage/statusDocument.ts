import type { ShownAccount } from './breakdown.ts';

/**
 * The document of `/api/status`: keys in snake case, times in Unix seconds, lengths in seconds. What is not known is null, so that
 * every key is always there.
 */
export function statusDocument(accounts: readonly ShownAccount[], version: string, now: number): string {
  const document = { version, now, accounts: accounts.map(accountDocument) };
  return JSON.stringify(document, (_key, value: unknown) => (value === undefined ? null : value));
}

function accountDocument(account: ShownAccount) {
  const { budget, plan } = account;
  return {
    name: account.name,
    api: account.api,
    api_end_of_life: account.endOfLife,
    labels: account.labels,
    up: account.up,
    refused: account.refused,
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
    plan: { requests_per_minute: plan.callsPerMinute, stretch: plan.stretch },
    groups: account.groups.map((group) => ({
      group: group.group,
      interval_seconds: group.intervalSeconds,
      effective_interval_seconds: group.effectiveIntervalSeconds,
      success: group.success,
      last_success: group.lastSuccess,
      duration_seconds: group.durationSeconds,
      entities: { fresh: group.entities.fresh, stale: group.entities.stale, missing: group.entities.missing },
      oldest_window_end: group.oldestWindowEnd,
    })),
    applications: account.applications?.map(({ id, name, language, reporting, tags = [], breakdown }) => ({
      id,
      name,
      language,
      reporting,
      tags: tags.map(({ key, values }) => ({ key, values })),
      response_time_seconds: breakdown?.responseTime,
      breakdown: breakdown?.parts,
    })),
    queries: account.queries.map((query) => ({
      name: query.name,
      nrql: query.nrql,
      state: query.state,
      success: query.success,
      duration_seconds: query.seconds,
      last_success: query.lastSuccess,
      rows: query.rows,
      series: query.series,
      rows_dropped: query.dropped,
      problem: query.problem,
    })),
    entities: account.entities.map((entity) => ({
      group: entity.group,
      application_id: entity.applicationId,
      application: entity.application,
      host_id: entity.hostId,
      host: entity.host,
      query: entity.query,
      state: entity.state,
      failures: entity.failures,
      reason: entity.reason,
      problem: entity.problem,
      seconds: entity.seconds,
      window_end: entity.windowEnd,
    })),
  };
}
