import type { FamilyScope as EntityScope } from '../metrics/family.ts';
import { COUNTED } from '../metrics/counterFamilies.ts';
import { WINDOW_FAMILIES } from '../metrics/windowFamilies.ts';
import { selectedNames, type ApplicationData } from './records.ts';
import { endOfLife } from '../config/config.ts';
import type { EntityMatch } from '../config/match.ts';
import type { CustomMetric } from '../metrics/customMetrics.ts';
import { isEnabled, unmatched, type AccountContext } from './selection.ts';
import type { AccountCollector } from './accountCollector.ts';
import { AccountSnapshot, type GroupTally } from './accountSnapshot.ts';
import { GROUPS, type Group } from '../metrics/sample.ts';
import type { Application } from '../api/types.ts';
import type { Kind, Task } from './task.ts';
import { missingMetrics, type TypeRecord } from './entityRecords.ts';
import type { QueryRecord } from './queryRecords.ts';
import type { EvaluationTime, TaskState } from './due.ts';
import type { Inventory } from './inventory.ts';

/** The warnings about an account, each a sentence that says what to change. */
function warningsOf(account: AccountCollector): string[] {
  return [
    ...noticesOf(account),
    ...unmatchedIncludes(account),
    ...unmatchedTemplates(account),
    ...tightLimits(account),
    ...slowCounters(account),
  ];
}

/** The warnings that may begin while the exporter runs: states that look healthy and are not. */
export function noticesOf(account: AccountCollector): string[] {
  const ofQueries = [...account.inventory.queries.all()].flatMap(({ warnings }) => warnings);
  const { entities } = account.inventory;
  return [...fewApplications(account), ...unknownValues(account), ...entities.warnings(), ...ofQueries];
}

/** An account without applications looks like an account without problems. */
function fewApplications({ inventory, up }: AccountCollector): string[] {
  const listed = inventory.listedApplications?.length;
  if (listed === undefined || !up) return [];
  const most = inventory.mostListed();
  const remedy = 'look whether the key still sees all of the account (role, account_id, region)';
  if (listed === 0) return [`the account lists no application: ${remedy}`];
  if (listed >= most) return [];
  return [`the account lists ${listed} applications, and listed ${most} within the last hour: ${remedy}`];
}

/** Custom metrics whose metric exists in New Relic, but never with the configured value. */
function unknownValues({ context: { customMetrics }, inventory }: AccountCollector): string[] {
  const withoutValue = new Map<CustomMetric, string>();
  const found = new Set<CustomMetric>();
  for (const { data } of inventory.applications.values()) {
    if (found.size === customMetrics.length) break;
    for (const scope of ['application', 'host'] as const) {
      const [host] = data?.hosts.values() ?? [];
      const reading = scope === 'application' ? data?.reading : host?.reading;
      for (const { metric, metricName } of data?.selected[scope]?.custom.matches ?? []) {
        const values = reading?.values.metrics.get(metricName);
        if (values === undefined) continue;
        if (Object.hasOwn(values, metric.definition.value)) found.add(metric);
        else withoutValue.set(metric, metricName);
      }
    }
  }
  return [...withoutValue]
    .filter(([metric]) => !found.has(metric))
    .map(
      ([{ definition }, metricName]) =>
        `custom_metrics: New Relic has no value "${definition.value}" of ${metricName} (${definition.name}): ` +
        'correct `value`; the command metric-names shows which values it has',
    );
}

/** Only lists that have been read are checked. */
function unmatchedIncludes({ context: { account }, inventory }: AccountCollector): string[] {
  const applications = unmatched(account.applications, inventory.listedApplications);
  const keyTransactions = unmatched(account.key_transactions, inventory.listedKeyTransactions);
  const settings = unmatched(
    { include: account.applications.settings.map(({ match }) => match), exclude: [] },
    inventory.listedApplications,
  );
  return [
    ...applications.map((match) => `applications.include: no application has ${unmatchedWords(match)}`),
    ...settings.map((match) => `applications.settings: no application has ${unmatchedWords(match)}`),
    ...keyTransactions.map((match) => `key_transactions.include: no key transaction has ${unmatchedWords(match)}`),
  ];
}

function unmatchedWords({ id, name, tag, value }: EntityMatch): string {
  if (id !== undefined) return `the id ${id}: correct the entry or remove it`;
  const parts = [
    ...(name === undefined ? [] : [`the name "${name}"`]),
    ...(tag === undefined ? [] : [`the tag "${tag}"${value === undefined ? '' : ` with a value "${value}"`}`]),
  ];
  return `${parts.join(' and ')}: correct the entry or remove it`;
}

function unmatchedTemplates({ context, inventory }: AccountCollector): string[] {
  const data = [...inventory.applications.values()].flatMap((record) => record.data ?? []);
  // Without the names it is not known which metrics match.
  if (data.length === 0 || data.some(({ customNames }) => customNames === undefined)) return [];
  const read = data.flatMap(({ customNames }) => customNames ?? []);
  return context.customMetrics
    .filter(({ template }) => !read.some((name) => template.pattern.test(name)))
    .map(
      ({ definition }) =>
        `custom_metrics: "${definition.match}" (${definition.name}) matches no metric of any application`,
    );
}

/**
 * For each custom metric, the id of one application that has it: its names tell whether the metric has the configured value.
 */
export function customExamples({ context, inventory }: AccountCollector): readonly number[] {
  const examples = context.customMetrics.flatMap(({ template }) => {
    const having = [...inventory.applications].find(([, { data }]) =>
      data?.customNames?.some((name) => template.pattern.test(name)),
    );
    return having === undefined ? [] : [having[0]];
  });
  return [...new Set(examples)];
}

function tightLimits({ schedule, context }: AccountCollector): string[] {
  const { callsPerMinute, budget, concurrencyCapacity, slowdown } = schedule.plan;
  if (slowdown <= 1) return [];
  const needed = `a refresh of everything needs ${Math.ceil(callsPerMinute)} calls per minute`;
  const slower = `so every group is refreshed ${slowdown.toFixed(1)} times slower`;
  const remedy = 'lengthen collection.intervals, or narrow applications.include';
  if (slowdown <= callsPerMinute / budget || concurrencyCapacity === undefined) {
    return [`limits.requests_per_minute: ${needed} and the budget is ${budget}, ${slower}: raise it, ${remedy}`];
  }
  const { max_concurrent_requests: places } = context.account.limits;
  const seconds = ((60 * places) / concurrencyCapacity).toFixed(1);
  return [
    `limits.max_concurrent_requests: ${needed}, and ${places} at once carry ${Math.floor(concurrencyCapacity)} while one ` +
      `takes ${seconds} s, ${slower}: raise it, ${remedy}`,
  ];
}

/** One read of counters covers 50 minutes, and 10 of them overlap the previous read. */
const LONGEST_COUNTER_INTERVAL = 2_400_000;

function slowCounters({ schedule, context }: AccountCollector): string[] {
  if (!isEnabled(context, 'counters')) return [];
  const interval = schedule.effectiveIntervalOf({ group: 'counters' });
  if (interval <= LONGEST_COUNTER_INTERVAL) return [];
  return [
    `counters: read every ${Math.round(interval / 60_000)} minutes, and a reading reaches back 40 minutes beyond what was read ` +
      'before, so minutes will be lost: raise the limits, or narrow applications.include',
  ];
}

export type AccountSummary = ReturnType<typeof summaryOf>;

/**
 * The state of one account without its single applications and tasks, for the exporter's own metrics. Times are Unix seconds;
 * unknown values are undefined.
 *
 * @param snapshot of the whole account
 * @param wallNow Unix milliseconds
 */
export function summaryOf(account: AccountCollector, snapshot: AccountSnapshot, time: EvaluationTime, wallNow: number) {
  const { now } = time;
  const { inventory, limiter, schedule, context, up } = account;
  const { budget } = limiter;
  const { account: config } = context;
  const paused = budget.pausedUntil(now);
  return {
    name: config.name,
    api: config.api,
    /** Empty when the configuration gives an address instead. */
    region: config.region ?? '',
    /** The date on which New Relic ends the interface. */
    endOfLife: endOfLife(config),
    labels: config.labels,
    /**
     * True when the last read of the application list succeeded completely; for an account without that list, when a query
     * succeeds.
     */
    up,
    /** The reason why the account is stopped except for one list call per interval; undefined when it is not stopped. */
    refused: account.refused,
    /** End of the newest window served. */
    windowEnd: snapshot.newestWindowEnd,
    groups: GROUPS.filter((group) => isEnabled(context, group)).map((group) =>
      groupStatus(account, group, snapshot.of(group)),
    ),
    /** Calls per minute: as configured, and as in force now (lower while recovering from an overload). */
    budget: {
      configured: budget.perMinute,
      inForce: budget.inForce(now),
      lastMinute: budget.lastMinute(now),
      inFlight: budget.inFlight,
      pausedUntil: paused === undefined ? undefined : (wallNow + paused - now) / 1000,
    },
    /**
     * The number of applications that the account lists, that it exports, and that it exports and report; undefined also while
     * `up` is false.
     */
    applicationCounts: up ? applicationCounts(inventory) : undefined,
    /** The number of entries in its lists, before its filters. */
    visible: {
      applications: inventory.listedApplications?.length ?? 0,
      keyTransactions: inventory.listedKeyTransactions?.length ?? 0,
    },
    keyTransactions: inventory.keyTransactions.size,
    /** Types of entities, in the order of the configuration. */
    entities: [...inventory.entities.types()].map((record) => typeStatus(account, record, time)),
    /** In the order of the configuration. */
    queries: [...inventory.queries.all()].map((record) => queryStatus(account, record, time)),
    /** The missed seconds and late transactions of its counters since the start; undefined when counters are off. */
    counters: isEnabled(context, 'counters') ? { ...inventory.counterTotals } : undefined,
    /** The cost of a steady state of all known tasks. */
    plan: schedule.plan,
  };
}

export type AccountStatus = ReturnType<typeof statusOf>;

/** Everything about one account, for pages and commands: its summary with its applications, tasks and warnings. */
export function statusOf(account: AccountCollector, snapshot: AccountSnapshot, time: EvaluationTime, wallNow: number) {
  const { inventory, schedule } = account;
  return {
    ...summaryOf(account, snapshot, time, wallNow),
    /** The served applications; undefined until the application list has been read once. */
    applications: inventory.listedApplications === undefined ? undefined : applicationViews(account),
    tasks: inventory.tasks().map((task) => taskStatus(account, task, schedule.stateOf(task, time))),
    warnings: warningsOf(account),
    outage: outageOf(account, time, wallNow),
  };
}

/** Kinds that have no series. */
const NAME_LISTS: ReadonlySet<Kind> = new Set<Kind>(['metric_names', 'custom_names']);

/**
 * The begin and the reason of an outage, and the time until which the last good values are served, in Unix seconds. Undefined
 * while the application list can be read or, for an account without that list, one of its queries.
 */
function outageOf({ up, inventory, schedule, context }: AccountCollector, { now }: EvaluationTime, wallNow: number) {
  const [first] = inventory.tasks();
  if (up || first?.problem === undefined) return undefined;
  const { reason, text, since } = first.problem;
  const shown = (time: number): number => (wallNow + time - now) / 1000;
  let servedUntil = -Infinity;
  for (const task of inventory.tasks()) {
    if (!NAME_LISTS.has(task.kind)) servedUntil = Math.max(servedUntil, schedule.dueAt(task));
  }
  servedUntil += context.collection.max_age;
  return {
    since: shown(since),
    reason,
    problem: text,
    servedUntil: servedUntil > now ? shown(servedUntil) : undefined,
  };
}

export interface ApplicationView {
  readonly id: number;
  readonly name: string;
  readonly language: string | undefined;
  readonly reporting: boolean;
  /** Values by key, both in New Relic's spelling; undefined when the interface has none. */
  readonly tags?: Application['tags'] | undefined;
}

/** The applications an account serves. */
export function applicationViews({ inventory }: AccountCollector): readonly ApplicationView[] {
  return [...inventory.applications.values()].map(({ application }) => ({
    id: application.id,
    name: application.name,
    language: application.language,
    reporting: application.reporting !== false,
    tags: application.tags,
  }));
}

function applicationCounts({ applications, listedApplications }: Inventory) {
  if (listedApplications === undefined) return undefined;
  let reporting = 0;
  for (const { application } of applications.values()) if (application.reporting !== false) reporting += 1;
  return { listed: listedApplications.length, exported: applications.size, reporting };
}

export type GroupStatus = ReturnType<typeof groupStatus>;

function groupStatus(account: AccountCollector, group: Group, { tasks, oldestWindowEnd }: GroupTally) {
  const { schedule } = account;
  const progress = account.tracker.groups.get(group);
  // While the account is refused, only its application list is read.
  const refused = account.refused !== undefined && group !== 'applications';
  return {
    group,
    intervalSeconds: schedule.intervalOf({ group }) / 1000,
    effectiveIntervalSeconds: schedule.effectiveIntervalOf({ group }) / 1000,
    success: refused ? false : progress?.success,
    lastSuccess: progress?.lastSuccess,
    durationSeconds: progress?.seconds,
    tasks: tasks,
    oldestWindowEnd: Number.isFinite(oldestWindowEnd) ? oldestWindowEnd : undefined,
  };
}

function typeStatus({ schedule }: AccountCollector, record: TypeRecord, time: EvaluationTime) {
  const { selection, list, listed, entities, leftOut } = record;
  const metrics = new Set<string>();
  let series = 0;
  let reporting = 0;
  for (const { entity, columns, task, goldenSamples } of entities.values()) {
    if (entity.reporting) reporting += 1;
    for (const { name } of columns) metrics.add(name);
    if (task !== undefined && schedule.stateOf(task, time) !== 'missing') series += goldenSamples.values.length;
  }
  return {
    type: selection.type,
    state: schedule.stateOf(list, time),
    /** The length of the list before the filters; undefined until it was read. */
    listed: listed?.length,
    /** The numbers of published entities, of reporting ones among them, and of entities that `max_entities` leaves out. */
    exported: entities.size,
    reporting,
    leftOut,
    metrics: [...metrics].sort(),
    /** Values of golden metrics that are served now. */
    series,
    /** Configured golden metrics that no entity has. */
    missingMetrics: listed === undefined ? [] : missingMetrics(selection, listed),
    problem: list.problem?.text,
  };
}

export type QueryStatus = ReturnType<typeof queryStatus>;

function queryStatus({ schedule }: AccountCollector, record: QueryRecord, time: EvaluationTime) {
  const { task, query, rows, columns, cut, samples, dropped } = record;
  const state = schedule.stateOf(task, time);
  return {
    name: query.definition.name,
    nrql: query.definition.nrql,
    state,
    success: task.tried ? task.failures === 0 : undefined,
    /** Seconds the last attempt took. */
    seconds: task.seconds,
    lastSuccess: task.lastRead === undefined ? undefined : task.lastRead.shownAt / 1000,
    rows,
    columns,
    labels: query.rules.labels,
    /** The numbers of series that its limit has cut, and that it serves now. */
    cut: cut.reduce((sum, { series }) => sum + series, 0),
    series: state === 'missing' ? 0 : samples.values.length,
    /** Rows that gave no series, since the start. */
    dropped: { ...dropped },
    problem: task.problem?.text,
  };
}

export type TaskStatus = ReturnType<typeof taskStatus>;

function taskStatus({ inventory }: AccountCollector, task: Task, state: TaskState) {
  const { group, subject, failures, problem, seconds, lastRead } = task;
  const { applicationId, hostKey, entityType, entityGuid, query } = subject;
  return {
    group,
    applicationId,
    application: inventory.recordOf(subject)?.application.name,
    hostId: hostKey,
    host: inventory.hostOf(subject)?.host.host,
    entityType,
    entity: inventory.entities.of(subject)?.entity.name,
    entityGuid,
    query,
    state,
    /** The number of consecutive failed attempts, and the cause of the last one: its reason as in the metrics, and in words. */
    failures,
    reason: problem?.reason,
    problem: problem?.text,
    /** Seconds the last attempt took. */
    seconds,
    windowEnd: lastRead?.windowEnd,
  };
}

const LIST_GROUPS = new Set(GROUPS.filter((group) => !/_metrics$/.test(group) && group !== 'counters'));

/** Apdex has three zones. */
const ZONES = 3;

/** Components beside the database: Memcache and External. */
const OTHER_COMPONENTS = 2;

/**
 * The number of series of an account once all of it has been read: exact for lists, the maximum for metric data, because only
 * the data show which metrics an application reports. Also the mean for one application, and for one host.
 */
export function expectedSeries(account: AccountCollector, time: EvaluationTime) {
  const lists = AccountSnapshot.atOnce(account, { groups: LIST_GROUPS }, time).blocks;
  const sums = { total: 0, applications: 0, hosts: 0 };
  for (const { labels, samples } of lists) {
    const series = samples.values.length;
    sums.total += series;
    if (labels['host'] !== undefined) sums.hosts += series;
    else if (labels['key_transaction_id'] === undefined && labels['entity_guid'] === undefined) {
      sums.applications += series;
    }
  }
  for (const { entities } of account.inventory.entities.types()) {
    for (const { task, columns } of entities.values()) if (task !== undefined) sums.total += columns.length;
  }
  let hosts = 0;
  for (const { data } of account.inventory.applications.values()) {
    if (data === undefined) continue;
    const { ofIt, ofItsHosts } = ofApplication(account.context, data);
    sums.total += ofIt + ofItsHosts;
    sums.applications += ofIt;
    sums.hosts += ofItsHosts;
    hosts += data.hosts.size;
  }
  const { size } = account.inventory.applications;
  return {
    total: sums.total,
    perApplication: size === 0 ? 0 : sums.applications / size,
    perHost: hosts === 0 ? 0 : sums.hosts / hosts,
  };
}

/** The number of series of the metric data of an application and all its hosts. */
function ofApplication({ customMetrics }: AccountContext, data: ApplicationData) {
  const components = Math.max(1, data.datastores?.length ?? 0) + OTHER_COMPONENTS;
  const customSeries = (scope: EntityScope): number =>
    selectedNames(customMetrics, data, scope).custom.matches.reduce((sum, { series }) => sum + series, 0);
  const counters = data.counterSeries === undefined ? 0 : COUNTED.length;
  return {
    ofIt: builtIn('application', components) + counters + customSeries('application'),
    ofItsHosts: data.hosts.size * builtIn('host', components) + customSeries('host'),
  };
}

/** The number of series of the window metrics of one application or host. */
function builtIn(scope: EntityScope, components: number): number {
  return WINDOW_FAMILIES[scope].reduce((sum, { labelNames }) => {
    if (labelNames.includes('component')) return sum + components;
    return sum + (labelNames.includes('zone') ? ZONES : 1);
  }, 0);
}
