import { describeListed } from '../../collect/accounts/expandAccounts.ts';
import type { LastScrapes } from '../routes/scrape.ts';
import type { Problem, Situation } from './problems.ts';
import { listGoldenMetrics, listParts, type Shown, type ShownAccount } from './shownAccounts.ts';
import type { Verdict } from './verdict.ts';

const TASK = 'group applicationId application hostId host entityType entityGuid entity query state failures reason';

export interface View extends Situation {
  readonly problems: readonly Problem[];
  readonly verdict: Verdict;
  readonly lastScrapes: LastScrapes['list'];
}

/**
 * Yields the JSON of `/api/status`: times in Unix seconds, null for an unknown value. Parts are small, so that other
 * work runs in between: an account may have 100,000 tasks.
 */
export function* statusDocument(view: View, version: string): Generator<string> {
  const { accounts, entries, verdict, lastScrapes, reloadFailure, now } = view;
  const head = {
    version,
    now,
    ...pick(verdict, 'verdict text=verdictText'),
    last_scrapes: lastScrapes,
    reload_failure: reloadFailure === undefined ? null : pick(reloadFailure, 'failedAt=at diagnostics=faults'),
  };
  yield `${JSON.stringify(head).slice(0, -1)},"account_lists":`;
  yield* list(entries, function* (entry) {
    const fields = pick(entry, 'entry success reason problem since refused listed exported leftOut warnings');
    yield `${JSON.stringify(fields).slice(0, -1)},"accounts":`;
    yield* list(entry.accounts, (account) => [JSON.stringify(describeListed(account))]);
    yield '}';
  });
  yield ',"accounts":';
  yield* list(accounts, function* (account) {
    yield `${JSON.stringify(accountDocument(account)).slice(0, -1)},"applications":`;
    if (account.applications === undefined) yield 'null';
    else yield* list(account.applications, (application) => [JSON.stringify(applicationDocument(application))]);
    yield ',"monitored_entities":';
    yield* list(account.monitored, (entity) => [JSON.stringify(entityDocument(entity))]);
    yield ',"entities":';
    yield* list(account.tasks, (task) => [JSON.stringify(pick(task, TASK, 'problem since seconds windowEnd'))]);
    yield '}';
  });
  yield '}';
}

function* list<T>(elements: readonly T[], render: (element: T) => Iterable<string>): Generator<string> {
  for (const [position, element] of elements.entries()) {
    yield position === 0 ? '[' : ',';
    yield* render(element);
  }
  yield elements.length === 0 ? '[]' : ']';
}

/** Cache of parsed texts for `pick`: fields and their keys. */
const PARSED = new Map<string, readonly (readonly [field: string, key: string])[]>();

/** The fields that a text names, as a type. */
type Fields<Text extends string> = Text extends `${infer First} ${infer Rest}`
  ? Fields<First> | Fields<Rest>
  : Text extends `${infer Field}=${string}`
    ? Field
    : Text;

/** Picks fields. `field=name` renames a field. Keys are in snake case, and an undefined value is null. */
function pick<T extends object, Names extends string>(
  source: T,
  ...texts: readonly (Fields<Names> extends keyof T ? Names : never)[]
): Record<string, unknown> {
  const parse = (each: string) => {
    const [field = '', key = field] = each.split('=');
    return [field, key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] as const;
  };
  const picked: Record<string, unknown> = {};
  for (const names of texts) {
    const parsed = PARSED.get(names) ?? names.split(' ').map(parse);
    PARSED.set(names, parsed);
    for (const [field, key] of parsed) picked[key] = source[field as keyof T] ?? null;
  }
  return picked;
}

const ACCOUNT =
  'name accountId entry api endOfLife=apiEndOfLife labels up refused windowEnd warnings applicationCounts';
const CALLS = 'configured=requestsPerMinute inForce=requestsPerMinuteInForce lastMinute=requestsInLastMinute';
const GROUP = 'group intervalSeconds effectiveIntervalSeconds success lastSuccess durationSeconds oldestWindowEnd';
const TYPE = 'type state success lastSuccess seconds=durationSeconds listed exported reporting metrics series problem';
const VALUES = 'oldestRead=oldestValue windowEnd=oldestWindowEnd values=goldenMetrics failing=goldenMetricsFailing';
const QUERY = 'name nrql state success lastSuccess seconds=durationSeconds windowEnd rows dropped=rowsDropped';

function accountDocument(account: ShownAccount) {
  const { budget, plan, outage, groups, failures, entities, queries } = account;
  return {
    ...pick(account, ACCOUNT),
    outage: outage === undefined ? null : pick(outage, 'since reason problem remedy servedUntil=lastGoodValuesUntil'),
    budget: pick(budget, CALLS, 'inFlight=requestsInFlight pausedUntil'),
    plan: pick(plan, 'callsPerMinute=requestsPerMinute slowdown=stretch'),
    groups: groups.map((group) => ({
      ...pick(group, GROUP),
      ...(group.group === 'custom_metrics' ? { interval_of: 'names' } : {}),
      entities: group.tasks,
    })),
    failures: failures.map((failure) => {
      return { ...pick(failure, 'group reason problem since failures'), count: failure.tasks.length };
    }),
    entity_types: entities.map((each) => ({
      ...pick(each, TYPE, VALUES),
      left_out: { by_configuration: each.excluded, by_max_entities: each.leftOut },
      metric_problems: each.metricProblems.map((metric) => pick(metric, 'metric problem')),
    })),
    queries: queries.map((query) => pick(query, QUERY, 'series problem')),
  };
}

const APPLICATION = 'id name language reporting health=healthStatus requests=requestsPerSecond errorRatio apdexScore';
const TIMES = 'apdexThreshold=apdexThresholdSeconds responseTime=responseTimeSeconds';

function applicationDocument(application: Shown) {
  const { tags = [], window } = application;
  const breakdown = window === undefined ? null : listParts(application);
  return { ...pick(application, APPLICATION, TIMES), tags, breakdown };
}

function entityDocument(entity: Shown) {
  return {
    ...pick(entity, 'type id=guid name reporting health=healthStatus'),
    golden_metrics: listGoldenMetrics(entity),
  };
}
