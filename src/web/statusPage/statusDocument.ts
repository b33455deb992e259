import type { EntryStatus } from '../../collect/accountStatus.ts';
import { listedDocument } from '../../collect/expandAccounts.ts';
import { failuresOf } from '../../collect/failureGroups.ts';
import type { ReloadFailure } from '../dependencies.ts';
import type { LastScrapes } from '../routes/scrape.ts';
import { listParts, type ShownAccount, type ShownApplication, type ShownEntity } from './shownAccounts.ts';
import type { Problem } from './problems.ts';
import type { ApplicationRow, EntityRow } from './trouble.ts';
import type { Verdict } from './verdict.ts';

const TASK =
  'group applicationId application hostId host entityType entityGuid entity query state failures reason problem since seconds windowEnd';
/** Without the accounts that the key of the entry lists. */
const ENTRY = 'entry success reason problem since refused listed exported leftOut warnings';

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
    yield `${json(pick(entry, ENTRY)).slice(0, -1)},"accounts":`;
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
    yield* list(account.tasks, (task) => [JSON.stringify(pick(task, TASK))]);
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

/** The words of a text, as a type. */
type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

/** Picks fields by their names, and writes the names in snake case; null for what is not known. */
function pick<T extends object, Names extends string>(
  source: T,
  names: Words<Names> extends keyof T ? Names : never,
): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names.split(' ')) {
    const snake = SNAKE_CASE.get(name) ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    SNAKE_CASE.set(name, snake);
    picked[snake] = source[name as keyof T] ?? null;
  }
  return picked;
}

/** Writes a document in which unknown values are null. A replacer is slow: the documents of which there are many do without. */
function json(document: object): string {
  return JSON.stringify(document, (_key, value: unknown) => (value === undefined ? null : value));
}

function accountDocument(account: ShownAccount) {
  const { budget, plan, outage, groups, failures, entities, queries } = account;
  return {
    ...pick(account, 'name accountId entry api labels up refused windowEnd warnings applicationCounts'),
    api_end_of_life: account.endOfLife,
    outage: outage && { ...pick(outage, 'since reason problem remedy'), last_good_values_until: outage.servedUntil },
    budget: {
      requests_per_minute: budget.configured,
      requests_per_minute_in_force: budget.inForce,
      requests_in_last_minute: budget.lastMinute,
      requests_in_flight: budget.inFlight,
      paused_until: budget.pausedUntil,
    },
    plan: { requests_per_minute: plan.callsPerMinute, stretch: plan.slowdown },
    groups: groups.map((group) => ({
      ...pick(
        group,
        'group intervalSeconds effectiveIntervalSeconds success lastSuccess durationSeconds oldestWindowEnd',
      ),
      ...(group.group === 'custom_metrics' ? { interval_of: 'names' } : {}),
      entities: group.tasks,
    })),
    failures: failures.map((failure) => {
      const { length: count } = failure.tasks;
      return { ...pick(failure, 'group reason problem since'), count, failures: failuresOf(failure) };
    }),
    entity_types: entities.map((each) => ({
      ...pick(each, 'type state success lastSuccess listed exported reporting metrics series problem'),
      duration_seconds: each.seconds,
      left_out: { by_configuration: each.excluded, by_max_entities: each.leftOut },
      metric_problems: each.metricProblems.map(({ metric, problem }) => ({ metric, problem })),
      oldest_value: each.oldestRead,
      oldest_window_end: each.windowEnd,
      golden_metrics: each.values,
      golden_metrics_failing: each.failing,
    })),
    queries: queries.map((query) => ({
      ...pick(query, 'name nrql state success lastSuccess windowEnd rows series problem'),
      duration_seconds: query.seconds,
      rows_dropped: query.dropped,
    })),
  };
}

function applicationDocument(application: ShownApplication) {
  return {
    ...pick(application, 'id name language reporting errorRatio apdexScore'),
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
  return { ...pick(entity, 'type guid name reporting'), health_status: health, golden_metrics: golden };
}
