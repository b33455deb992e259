import type { TaskStatus, EntryStatus } from '../../collect/accountStatus.ts';
import { listedDocument } from '../../collect/expandAccounts.ts';
import { failuresOf } from '../../collect/failureGroups.ts';
import type { ReloadFailure } from '../dependencies.ts';
import type { LastScrapes } from '../routes/scrape.ts';
import { listParts, type ShownAccount, type ShownApplication, type ShownEntity } from './shownAccounts.ts';
import type { Problem } from './problems.ts';
import type { ApplicationRow, EntityRow } from './trouble.ts';
import type { Verdict } from './verdict.ts';

/** What the pages show. Times are Unix seconds. */
export interface View {
  readonly accounts: readonly ShownAccount[];
  /** The entries with `account_ids`. */
  readonly entries: readonly EntryStatus[];
  readonly rows: readonly ApplicationRow[];
  readonly entities: readonly EntityRow[];
  readonly problems: readonly Problem[];
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
    reload_failure: reloadFailure && { at: reloadFailure.at, faults: reloadFailure.diagnostics },
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
    else yield* list(account.applications, (application) => [JSON.stringify(applicationDocument(application))]);
    yield ',"monitored_entities":';
    yield* list(account.monitored, (entity) => [JSON.stringify(entityDocument(entity))]);
    yield ',"entities":';
    yield* list(account.tasks, (task) => [JSON.stringify(taskDocument(task))]);
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

const SNAKE_CASE = new Map<string, string>();

/** These fields, with their names in snake case; null for what is not known. */
function fields<T extends object>(of: T, ...names: readonly (keyof T & string)[]): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  for (const name of names) {
    const snake = SNAKE_CASE.get(name) ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    SNAKE_CASE.set(name, snake);
    written[snake] = of[name] ?? null;
  }
  return written;
}

/** The text of a document in which unknown values are null. A replacer is slow: the documents of which there are many do without. */
function json(document: object): string {
  return JSON.stringify(document, (_key, value: unknown) => (value === undefined ? null : value));
}

/** An entry with `account_ids`, without the accounts that its key lists. */
function entryDocument(entry: EntryStatus) {
  return {
    ...fields(entry, 'entry', 'success', 'reason', 'problem', 'since'),
    ...fields(entry, 'refused', 'listed', 'exported', 'leftOut', 'warnings'),
  };
}

function accountDocument(account: ShownAccount) {
  const { budget, plan, outage } = account;
  return {
    ...fields(account, 'name', 'accountId', 'entry', 'api', 'labels', 'up', 'refused', 'windowEnd', 'warnings'),
    api_end_of_life: account.endOfLife,
    outage: outage && {
      ...fields(outage, 'since', 'reason', 'problem', 'remedy'),
      last_good_values_until: outage.servedUntil,
    },
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
      ...fields(group, 'group', 'intervalSeconds', 'effectiveIntervalSeconds', 'success', 'lastSuccess'),
      ...fields(group, 'durationSeconds', 'oldestWindowEnd'),
      ...(group.group === 'custom_metrics' ? { interval_of: 'names' } : {}),
      entities: group.tasks,
    })),
    failures: account.failures.map((failure) => ({
      ...fields(failure, 'group', 'reason', 'problem', 'since'),
      count: failure.tasks.length,
      failures: failuresOf(failure),
    })),
    entity_types: account.entities.map((each) => ({
      ...fields(each, 'type', 'state', 'success', 'lastSuccess', 'listed', 'exported', 'reporting', 'metrics'),
      ...fields(each, 'series', 'problem'),
      duration_seconds: each.seconds,
      left_out: { by_configuration: each.excluded, by_max_entities: each.leftOut },
      metric_problems: each.metricProblems.map(({ metric, problem }) => ({ metric, problem })),
      oldest_value: each.oldestRead,
      oldest_window_end: each.windowEnd,
      golden_metrics: each.values,
      golden_metrics_failing: each.failing,
    })),
    queries: account.queries.map((query) => ({
      ...fields(query, 'name', 'nrql', 'state', 'success', 'lastSuccess', 'windowEnd', 'rows', 'series', 'problem'),
      duration_seconds: query.seconds,
      rows_dropped: query.dropped,
    })),
  };
}

function applicationDocument(application: ShownApplication) {
  return {
    ...fields(application, 'id', 'name', 'language', 'reporting', 'errorRatio', 'apdexScore'),
    tags: application.tags ?? [],
    health_status: application.health ?? null,
    requests_per_second: application.requests ?? null,
    apdex_threshold_seconds: application.apdexThreshold ?? null,
    response_time_seconds: application.responseTime ?? null,
    breakdown: application.window === undefined ? null : listParts(application),
  };
}

function entityDocument(entity: ShownEntity) {
  const { health = null, golden } = entity;
  return { ...fields(entity, 'type', 'guid', 'name', 'reporting'), health_status: health, golden_metrics: golden };
}

function taskDocument(task: TaskStatus) {
  return {
    ...fields(task, 'group', 'applicationId', 'application', 'hostId', 'host', 'entityType', 'entityGuid', 'entity'),
    ...fields(task, 'query', 'state', 'failures', 'reason', 'problem', 'since', 'seconds', 'windowEnd'),
  };
}
