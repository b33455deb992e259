import { REMEDIES } from '../../api/upstreamError.ts';
import { endOfLife } from '../../config/config.ts';
import type { AccountCollector } from '../accounts/accountCollector.ts';
import { findEntryNotices, findMissingInEntry, findUnmatched, findWarnings } from './accountWarnings.ts';
import type { Entry } from '../accounts/accounts.ts';
import type { AccountSnapshot } from './accountSnapshot.ts';
import { READS, type Group } from '../../reads/reads.ts';
import type { Application } from '../../api/types.ts';
import type { EvaluationTime, Task, TaskState } from '../inventory/task.ts';
import { describeProblems, findMissingMetrics, type TypeRecord } from '../inventory/entityRecords.ts';
import type { QueryRecord } from '../inventory/queryRecords.ts';

export type AccountSummary = ReturnType<typeof summarize>;

export type QueryStatus = ReturnType<typeof queryStatus>;

interface StatusTime extends EvaluationTime {
  /** The wall clock at `now`, Unix milliseconds. */
  readonly wallNow: number;
}

/** Converts a time of the monotonic clock to Unix seconds. */
function toUnixTime(time: number, { now, wallNow }: StatusTime): number {
  return (wallNow + time - now) / 1000;
}

/**
 * Summarizes one account, without single applications and tasks. Times are Unix seconds. Unknown values are undefined.
 *
 * @param snapshot of the whole account
 */
export function summarize(account: AccountCollector, snapshot: AccountSnapshot, time: StatusTime) {
  const { now } = time;
  const { inventory, limiter, schedule, context, up } = account;
  const { budget } = limiter;
  const { account: config } = context;
  const { listedApplications, applications } = inventory;
  const reporting = [...applications.values()].filter(({ entry }) => entry.reporting !== false).length;
  return {
    name: config.name,
    api: config.api,
    accountId: config.account_id ?? context.reader.onlyAccount?.(),
    entry: config.origin?.entry,
    /** True for an account of an entry that never listed an application. Such an account misses nothing. */
    isOptional: account.isWithoutApplications,
    region: config.region ?? '',
    endOfLife: endOfLife(config),
    labels: config.labels,
    up,
    refused: account.refused,
    windowEnd: snapshot.newestWindowEnd,
    groups: Array.from(context.enabled, (group) => groupStatus(account, group, snapshot)),
    /** Calls per minute. `inForce` is lower than `configured` during the recovery from an overload. */
    budget: {
      configured: budget.perMinute,
      inForce: budget.inForce(now),
      lastMinute: budget.lastMinute(now),
      inFlight: budget.inFlight,
      pausedUntil: now < budget.lastPauseEnd ? toUnixTime(budget.lastPauseEnd, time) : undefined,
    },
    /** Undefined before the first list and while `up` is false. */
    applicationCounts:
      up && listedApplications !== undefined
        ? { listed: listedApplications.length, exported: applications.size, reporting }
        : undefined,
    visible: {
      applications: listedApplications?.length ?? 0,
      keyTransactions: inventory.listedKeyTransactions?.length ?? 0,
    },
    keyTransactions: inventory.keyTransactions.size,
    entities: Array.from(inventory.entities.types.values(), ({ selection: { type }, listed, chosen }) => {
      return { type, listed: listed?.length, leftOut: chosen.leftOut };
    }),
    queries: Array.from(inventory.queries.byName.values(), (record) => queryStatus(account, record, time)),
    counters: context.enabled.has('counters') ? { ...inventory.counterTotals } : undefined,
    plan: schedule.plan,
  };
}

export type AccountStatus = ReturnType<typeof describeAccount>;

export function describeAccount(
  account: AccountCollector,
  snapshot: AccountSnapshot,
  time: StatusTime,
  tasks: readonly TaskStatus[],
) {
  const { inventory } = account;
  return {
    ...summarize(account, snapshot, time),
    entities: Array.from(inventory.entities.types.values(), (record) => typeStatus(account, record, time)),
    applications: inventory.listedApplications === undefined ? undefined : listApplications(account),
    tasks,
    warnings: findWarnings(account),
    outage: findOutage(account, time),
  };
}

/** Describes why an account is not up; undefined before a failure of a task that decides it. Times: Unix seconds. */
function findOutage({ up, inventory, context }: AccountCollector, time: StatusTime) {
  const tasks = context.account.applications.read ? [inventory.applicationList] : inventory.tasks();
  const failed = tasks.flatMap(({ problem, lastRead }) => (problem === undefined ? [] : { problem, lastRead }));
  const wereRead = failed.filter(({ lastRead }) => lastRead !== undefined);
  const [decisive = failed[0]] = wereRead.sort((a, b) => b.problem.since - a.problem.since);
  if (up || decisive === undefined) return undefined;
  const { reason, text, since } = decisive.problem;
  let lastDue = -Infinity;
  for (const { kind, lastRead } of inventory.tasks()) {
    if (READS[kind].gives !== 'names') lastDue = Math.max(lastDue, lastRead?.dueAt ?? -Infinity);
  }
  const servedUntil = lastDue + context.collection.max_age;
  return {
    since: toUnixTime(since, time),
    reason,
    problem: text,
    remedy: REMEDIES[reason],
    servedUntil: servedUntil > time.now ? toUnixTime(servedUntil, time) : undefined,
  };
}

export interface ApplicationView extends Pick<Application, 'id' | 'name' | 'language' | 'tags'> {
  readonly reporting: boolean;
}

export function listApplications({ inventory }: AccountCollector): readonly ApplicationView[] {
  return Array.from(inventory.applications.values(), ({ entry: { id, name, language, reporting, tags } }) => {
    return { id, name, language, reporting: reporting !== false, tags };
  });
}

export type GroupStatus = ReturnType<typeof groupStatus>;

function groupStatus(account: AccountCollector, group: Group, snapshot: AccountSnapshot) {
  const { schedule } = account;
  const { tasks, oldestWindowEnd } = snapshot.tallyOf(group);
  const { success, lastSuccess, seconds } = account.report.resultOf(group);
  // A refused account reads only its application list.
  const refused = account.refused !== undefined && group !== 'applications';
  return {
    group,
    intervalSeconds: schedule.intervalOf({ group }) / 1000,
    effectiveIntervalSeconds: schedule.effectiveIntervalOf({ group }) / 1000,
    success: refused ? false : success,
    lastSuccess,
    durationSeconds: seconds,
    tasks,
    oldestWindowEnd: Number.isFinite(oldestWindowEnd) ? oldestWindowEnd : undefined,
  };
}

function attemptStatus({ schedule }: AccountCollector, task: Task, time: EvaluationTime) {
  return {
    state: schedule.stateOf(task, time),
    success: task.tried ? task.failures === 0 : undefined,
    seconds: task.seconds,
    lastSuccess: task.lastRead === undefined ? undefined : task.lastRead.shownAt / 1000,
    windowEnd: task.lastRead?.dataEnd,
    problem: task.problem?.text,
  };
}

function queryStatus(account: AccountCollector, record: QueryRecord, time: EvaluationTime) {
  const { task, query, rows, columns, cut, samples, dropped } = record;
  const attempt = attemptStatus(account, task, time);
  return {
    name: query.definition.name,
    nrql: query.definition.nrql,
    ...attempt,
    rows,
    columns,
    labels: query.rules.labels,
    cut: cut.reduce((sum, { series }) => sum + series, 0),
    series: attempt.state === 'missing' ? 0 : samples.values.length,
    dropped: { ...dropped },
  };
}

export type TypeStatus = ReturnType<typeof typeStatus>;

function typeStatus(account: AccountCollector, record: TypeRecord, time: EvaluationTime) {
  const { selection, list, listed, entities, chosen } = record;
  const { leftOut } = chosen;
  const metrics = new Set<string>();
  const values: Record<TaskState, number> = { fresh: 0, stale: 0, missing: 0 };
  let [series, reporting, failing, oldestRead, windowEnd] = [0, 0, 0, Infinity, Infinity];
  for (const { entity, columns, subject, golden } of entities.values()) {
    if (entity.reporting) reporting += 1;
    for (const { name } of columns) metrics.add(name);
    if (subject === undefined) continue;
    const { task } = subject;
    const state = account.schedule.stateOf(task, time);
    values[state] += 1;
    if (task.problem !== undefined) failing += 1;
    if (state === 'missing') continue;
    series += golden.values.length;
    oldestRead = Math.min(oldestRead, task.lastRead?.shownAt ?? Infinity);
    windowEnd = Math.min(windowEnd, task.lastRead?.dataEnd ?? Infinity);
  }
  return {
    type: selection.type,
    ...attemptStatus(account, list, time),
    /** The length of the list before the filters; undefined before the first read. */
    listed: listed?.length,
    exported: entities.size,
    reporting,
    excluded: (listed?.length ?? 0) - entities.size - leftOut,
    leftOut,
    metrics: [...metrics].sort(),
    metricProblems: account.inventory.entities.findProblems(record),
    missingMetrics: account.list === undefined ? describeProblems(findMissingMetrics([record])) : [],
    values,
    failing,
    /** The oldest read and the oldest window end among the served values, in Unix seconds. */
    oldestRead: Number.isFinite(oldestRead) ? oldestRead / 1000 : undefined,
    windowEnd: Number.isFinite(windowEnd) ? windowEnd : undefined,
    series,
  };
}

export type TaskStatus = ReturnType<typeof taskStatus>;

export function taskStatus({ inventory, schedule }: AccountCollector, task: Task, time: StatusTime) {
  const { group, subject, failures, problem, seconds, lastRead } = task;
  const { applicationId, hostKey, entityType, entityGuid, query } = subject;
  const state = schedule.stateOf(task, time);
  return {
    group,
    applicationId,
    application: inventory.recordOf(subject)?.entry.name,
    hostId: hostKey,
    host: inventory.hostOf(subject)?.entry.host,
    entityType,
    entity: inventory.entities.find(subject)?.entity.name,
    entityGuid,
    query,
    state,
    /** True if a scrape that requested the task after its due time ended without it. */
    isLate: state === 'stale' && task.state === 'idle' && lastRead !== undefined && task.requestedAt >= lastRead.dueAt,
    failures,
    reason: problem?.reason,
    problem: problem?.text,
    since: problem && toUnixTime(problem.since, time),
    seconds,
    windowEnd: lastRead?.dataEnd,
  };
}

export type EntryStatus = ReturnType<typeof entryStatus>;

/** Describes an entry with `account_ids`. Times are Unix seconds. Unknown values are undefined. */
export function entryStatus(entry: Entry, time: StatusTime) {
  const { list, expanded, accounts } = entry;
  const { problem, tried, listed, unreadable, refused, hasExported, context } = list;
  const verdicts = expanded?.verdicts;
  const beyond = verdicts?.filter(({ leftOut }) => leftOut === 'max_accounts').length;
  return {
    entry: list.entry,
    labels: context.account.labels,
    success: tried ? problem === undefined : undefined,
    reason: problem?.reason,
    problem: problem?.text,
    remedy: problem && REMEDIES[problem.reason],
    since: problem && toUnixTime(problem.since, time),
    refused,
    isEmpty: !hasExported,
    listed,
    exported: verdicts?.filter(({ exportedAs }) => exportedAs !== undefined).length,
    /** The number of accounts beyond `max_accounts`, and of unreadable accounts. */
    leftOut: beyond === undefined ? undefined : beyond + unreadable,
    accounts: verdicts ?? [],
    warnings: [...findEntryNotices(entry), ...findUnmatched(accounts)],
    missingMetrics: findMissingInEntry(entry),
  };
}
