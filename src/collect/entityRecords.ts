import type { GoldenMetric, GoldenResult, GoldenSubject, MonitoredEntity } from '../api/upstreamReader.ts';
import type { UpstreamError } from '../api/upstreamError.ts';
import { inSlices } from '../eventLoop/turns.ts';
import { BUILT_IN_NAMES } from '../metrics/catalogue.ts';
import { entityLabels, goldenLabels } from '../metrics/labelNames.ts';
import { GoldenFamilies, goldenSamples, monitoredSamples, type LeftOutMetric } from '../metrics/monitoredFamilies.ts';
import type { Family, WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import { NO_SAMPLES, writeLabels } from '../metrics/writeSamples.ts';
import {
  readDefinition,
  sourceKey,
  UnreadableDefinition,
  type GoldenColumn,
  type GoldenSource,
} from '../nrql/goldenMetric.ts';
import type { AccountConfig } from '../config/config.ts';
import { suggest } from '../config/wording.ts';
import type { AccountContext } from './accountContext.ts';
import { choosing, chosenAtOnce, type ChosenEntities } from './selection.ts';
import type { Subject, Task, TaskStore } from './task.ts';

type Selection = AccountConfig['entities'][number];
type Columns = GoldenSubject['columns'];

/** The metrics that are read of entities with the same metric definitions, and the reasons why others cannot be read. */
interface MetricPlan {
  readonly columns: Columns;
  readonly problems: readonly MetricProblem[];
}

/** A golden metric that is not read, or not of all entities, and the reason as a part of a sentence. */
interface MetricProblem {
  readonly metric: string;
  readonly problem: string;
}

export interface EntityRecord {
  readonly entity: MonitoredEntity;
  /** The labels of its series from the list, and of its golden metrics; perhaps those of an earlier list. */
  labels: { readonly listed: WrittenLabels; readonly golden: WrittenLabels } | undefined;
  isLabelled: boolean;
  /** The samples from the list; undefined until the next exposition writes them. */
  samples: WrittenSamples | undefined;
  /** Undefined while it does not report, or has no golden metric that can be read. */
  readonly task: Task | undefined;
  readonly columns: Columns;
  /** By golden metric: its last values and, while it fails alone, the time when they were due (monotonic clock, milliseconds). */
  readonly values: Map<string, { readonly values: GoldenResult['values']; dueAt?: number }>;
  goldenSamples: WrittenSamples;
  /** Golden metrics that failed in a read in which others succeeded. */
  failures: GoldenResult['failures'];
  notNumbers: readonly string[];
}

/** The entities of one configured type, and their last read values. */
export interface TypeRecord {
  readonly selection: Selection;
  readonly list: Task;
  /** The complete list as it was read; undefined before the first read. */
  listed: readonly MonitoredEntity[] | undefined;
  chosen: ChosenEntities;
  /** By guid, in the order of their names. */
  entities: ReadonlyMap<string, EntityRecord>;
  /** By definitions; made again when the families of the type change. */
  plans: ReadonlyMap<readonly GoldenMetric[], MetricPlan>;
}

/** A list of entities that was read, and what a selection chooses of it. */
export interface EntityList extends Pick<TypeRecord, 'listed' | 'chosen'> {
  readonly selection: Selection | undefined;
}

const NONE_CHOSEN: ChosenEntities = { entities: [], leftOut: 0 };

/** The maximum number of golden metrics that one warning names. */
const MAX_NAMED = 5;
/** The same of those to choose from; the longest public list has 12. */
const MAX_KNOWN = 20;

/** The types of entities that an account publishes, in the order of its configuration. */
export class EntityRecords {
  #context: AccountContext;
  readonly #store: TaskStore;
  #types: ReadonlyMap<string, TypeRecord> = new Map();
  /** The source of the families: HELP stays the same until a reload. */
  #golden = new GoldenFamilies();
  #families: ReadonlyMap<string, ReadonlyMap<string, Family>> = new Map();
  #leftOutMetrics: readonly LeftOutMetric[] = [];
  /** Equal sources are one object, so that entities share queries. */
  #sources = new Map<string, GoldenSource>();
  readonly #definitions = new WeakMap<GoldenMetric, GoldenColumn | UnreadableDefinition>();

  constructor(context: AccountContext, store: TaskStore) {
    this.#context = context;
    this.#store = store;
    this.configure(context);
  }

  types(): Iterable<TypeRecord> {
    return this.#types.values();
  }

  typeOf({ entityType }: Subject): TypeRecord | undefined {
    return entityType === undefined ? undefined : this.#types.get(entityType);
  }

  of(subject: Subject): EntityRecord | undefined {
    const { entityGuid } = subject;
    return entityGuid === undefined ? undefined : this.typeOf(subject)?.entities.get(entityGuid);
  }

  /** All tasks: the list of each type before its entities. */
  *tasks(): Generator<Task> {
    for (const { list } of this.#types.values()) yield list;
    for (const { entities } of this.#types.values()) yield* tasksOf(entities);
  }

  *warnings(): Generator<string> {
    for (const { type, metric, why } of this.#leftOutMetrics) {
      yield `entities: ${quoted([metric])} of ${type} is left out: ${why}`;
    }
    for (const record of this.#types.values()) {
      // What is missing in one account of an entry may exist in another one.
      if (this.#context.account.origin === undefined) yield* missingMetricWarnings([record]);
      yield* warningsOf(record);
    }
  }

  /** The golden metrics of a type that are not read, or not of all entities. */
  problemsOf(record: TypeRecord): readonly MetricProblem[] {
    const { type } = record.selection;
    const leftOut = this.#leftOutMetrics.filter((each) => each.type === type);
    const { failing, notNumbers } = valueProblems(record);
    return [
      ...(this.#context.account.origin === undefined ? missingMetrics([record]) : []).map(({ metric, hint }) => {
        return { metric, problem: `no entity has it${hint}` };
      }),
      ...leftOut.map(({ metric, why }) => ({ metric, problem: why })),
      ...unreadable(record).map(({ metric, problem }) => ({ metric, problem: `its definition ${problem}` })),
      ...Array.from(failing, ([metric, { message }]) => ({ metric, problem: message })),
      ...Array.from(notNumbers, (metric) => ({ metric, problem: 'is no number for some entities' })),
    ];
  }

  /** Takes over the types of the configuration: the entities are selected again from lists that have been read. */
  configure(context: AccountContext): void {
    this.#context = context;
    const { account, reader } = context;
    this.#types = this.#store.sync(
      this.#types,
      reader.entities === undefined ? [] : account.entities,
      ({ type }) => type,
      (selection, before): TypeRecord => {
        const { type, window, delay } = selection;
        const list = before?.list ?? this.#store.make('entities', { entityType: type });
        const listed = before?.listed;
        let entities = before?.entities ?? new Map<string, EntityRecord>();
        if (before?.selection.window !== window || before?.selection.delay !== delay) {
          this.#store.remove(tasksOf(entities));
          entities = new Map();
        }
        return { selection, list, listed, chosen: chosenAtOnce(selection, listed), entities, plans: new Map() };
      },
      ({ list, entities }) => [list, ...tasksOf(entities)],
    );
    this.#golden = new GoldenFamilies();
    this.#assignFamilies();
    for (const record of this.#types.values()) this.#select(record);
  }

  /** Chooses entities of a list that was read, and reads their definitions: in slices, because both may be many. */
  async choose(subject: Subject, listed: readonly MonitoredEntity[]): Promise<EntityList> {
    const selection = this.typeOf(subject)?.selection;
    if (selection === undefined) return { listed, selection, chosen: NONE_CHOSEN };
    const { steps, result } = choosing(selection, listed);
    await inSlices(steps);
    await inSlices(metricsOf(listed), (metric) => this.#definitionOf(metric));
    return { listed, selection, chosen: result() };
  }

  /** Takes over a list, and marks its task where golden metrics of it were never read. */
  arriveList(subject: Subject, { listed, selection, chosen }: EntityList): void {
    const record = this.typeOf(subject);
    if (record === undefined) return;
    record.listed = listed;
    // A reload may have changed the selection meanwhile.
    record.chosen = selection === record.selection ? chosen : chosenAtOnce(record.selection, listed);
    const before = this.#families;
    this.#assignFamilies();
    for (const each of this.#types.values()) {
      // A name may have passed from one type, or metric, to another.
      const isChanged = !isSame(before, this.#families, each.selection.type);
      if (isChanged) each.plans = new Map();
      if (isChanged || each === record) this.#select(each);
    }
    const columns = Array.from(this.#types.values(), ({ plans }) =>
      [...plans.values()].flatMap((plan) => plan.columns),
    );
    this.#sources = new Map(columns.flat().map(({ source }) => [sourceKey(source), source]));
    const error = chosen.entities.find(({ reporting, unread }) => reporting && unread !== undefined)?.unread;
    record.list.partial = error === undefined ? undefined : { reason: error.failure.reason, text: error.message };
  }

  subjectOf({ subject, endsBefore }: Task): GoldenSubject {
    const record = this.of(subject);
    const type = this.typeOf(subject);
    if (record === undefined || type === undefined) throw new Error('an entity that has left its list is not read');
    const { window } = type.selection;
    return {
      type: type.selection.type,
      guid: record.entity.guid,
      columns: record.columns,
      unread: record.entity.unread,
      window: window === undefined ? undefined : window / 1000,
      endsBefore,
    };
  }

  /** Takes over golden metrics; a metric that failed alone keeps its last values. */
  arrive(task: Task, { values, failures, notNumbers }: GoldenResult): void {
    const { subject } = task;
    const record = this.of(subject);
    const type = this.typeOf(subject);
    if (record === undefined || type === undefined) return;
    for (const { name } of record.columns) {
      const last = record.values.get(name);
      if (!failures.has(name)) record.values.set(name, { values });
      else if (last !== undefined) last.dueAt ??= task.lastRead?.dueAt ?? -Infinity;
    }
    const [error] = failures.values();
    task.partial = error === undefined ? undefined : { reason: error.failure.reason, text: error.message };
    record.failures = failures;
    record.notNumbers = notNumbers;
    record.goldenSamples = this.#write(type.selection.type, record);
  }

  /** The labels of an entity, written when an exposition needs them: names may be too long to write those of a list at once. */
  labelsOf({ selection: { type } }: TypeRecord, record: EntityRecord): NonNullable<EntityRecord['labels']> {
    const { labels: before, isLabelled, entity } = record;
    if (before !== undefined && isLabelled) return before;
    const { account } = this.#context;
    record.isLabelled = true;
    return (record.labels = {
      listed: writeLabels(entityLabels(account, type, entity), before?.listed),
      golden: writeLabels(goldenLabels(account, entity), before?.golden),
    });
  }

  listedSamples({ selection: { tags } }: TypeRecord, record: EntityRecord): WrittenSamples {
    return (record.samples ??= this.#context.writer.write('entities', monitoredSamples(record.entity, tags)));
  }

  /** Removes the values of metrics that fail alone, `max_age` after they were due, also while later reads fail as a whole. */
  removeTooOld({ selection }: TypeRecord, record: EntityRecord): void {
    if (record.failures.size === 0) return;
    const { clock, collection } = this.#context;
    const oldest = clock.monotonic() - collection.max_age;
    const tooOld = [...record.values].filter(([, { dueAt = Infinity }]) => dueAt < oldest);
    if (tooOld.length === 0) return;
    for (const [name] of tooOld) record.values.delete(name);
    record.goldenSamples = this.#write(selection.type, record);
  }

  #write(type: string, { columns, values }: Pick<EntityRecord, 'columns' | 'values'>): WrittenSamples {
    const families = this.#families.get(type);
    const samples = columns.flatMap(({ name }) => {
      const family = families?.get(name);
      const last = values.get(name);
      return family === undefined || last === undefined ? [] : goldenSamples(family, last.values, name);
    });
    return samples.length === 0 ? NO_SAMPLES : this.#context.writer.write('golden_metrics', samples);
  }

  /** Makes the records of the chosen entities, and keeps the values of entities that stay. */
  #select(record: TypeRecord): void {
    const { listed, chosen, plans: known } = record;
    const { type } = record.selection;
    if (listed === undefined) return;
    const plans = new Map<readonly GoldenMetric[], MetricPlan>();
    const recordOf = (entity: MonitoredEntity, before: EntityRecord | undefined): EntityRecord => {
      const { guid, metrics, reporting, unread } = entity;
      const plan = plans.get(metrics) ?? known.get(metrics) ?? this.#plan(type, metrics);
      plans.set(metrics, plan);
      const { columns } = plan;
      const isRead = reporting && (columns.length > 0 || unread !== undefined);
      const subject = { entityType: type, entityGuid: guid };
      const task = this.#store.keep(isRead, before?.task, 'golden_metrics', subject);
      if (task !== undefined) {
        task.setPace(record.selection, this.#context.collection.delay);
        // Otherwise a value that the last read did not request would be absent for a whole interval.
        if (before?.task === task && hasMore(before.columns, columns)) task.overdue = true;
        // A failure for want of columns says nothing about these.
        if (before?.entity.unread !== undefined && unread === undefined) task.retryAt = -Infinity;
      }
      // Values from before a silence would be too old when it reports again.
      const kept = before?.task === task ? before : undefined;
      const values = kept?.values ?? new Map<string, never>();
      return {
        entity,
        task,
        columns,
        values,
        labels: before?.labels,
        isLabelled: false,
        samples: undefined,
        goldenSamples: kept?.columns === columns ? kept.goldenSamples : this.#write(type, { columns, values }),
        failures: kept?.failures ?? new Map(),
        notNumbers: kept?.notNumbers ?? [],
      };
    };
    const { entities } = record;
    record.entities = this.#store.sync(entities, chosen.entities, ({ guid }) => guid, recordOf, taskOf);
    record.plans = plans;
  }

  #plan(type: string, metrics: readonly GoldenMetric[]): MetricPlan {
    const families = this.#families.get(type);
    const columns = new Map<string, Columns[number]>();
    const problems: MetricProblem[] = [];
    for (const metric of metrics) {
      const { name } = metric;
      if (columns.has(name) || families?.has(name) !== true) continue;
      const read = this.#definitionOf(metric);
      if (read instanceof UnreadableDefinition) problems.push({ metric: name, problem: read.message });
      else columns.set(name, { name, source: this.#sharedSource(read.source), select: read.select });
    }
    return { columns: [...columns.values()], problems };
  }

  #definitionOf(metric: GoldenMetric): GoldenColumn | UnreadableDefinition {
    let known = this.#definitions.get(metric);
    if (known === undefined) this.#definitions.set(metric, (known = columnOf(metric)));
    return known;
  }

  #sharedSource(source: GoldenSource): GoldenSource {
    const key = sourceKey(source);
    const known = this.#sources.get(key);
    if (known === undefined) this.#sources.set(key, source);
    return known ?? source;
  }

  #assignFamilies(): void {
    const types = [...this.#types.values()].map(({ selection: { type, metrics: wanted }, listed = [] }) => {
      return { type, metrics: metricsOf(listed).filter(({ name }) => wanted?.includes(name) !== false) };
    });
    const { customMetrics, queries } = this.#context;
    const configured = new Set([
      ...customMetrics.map(({ definition }) => definition.name),
      ...queries.flatMap(({ families }) => families.map(({ name }) => name)),
    ]);
    const { families, leftOut } = this.#golden.assign(
      types,
      (name) => BUILT_IN_NAMES.has(name) || configured.has(name),
    );
    this.#families = families;
    this.#leftOutMetrics = leftOut;
  }
}

function tasksOf(entities: TypeRecord['entities']): Task[] {
  return Array.from(entities.values()).flatMap(taskOf);
}

function taskOf({ task }: EntityRecord): Task[] {
  return task === undefined ? [] : [task];
}

function columnOf({ definition }: GoldenMetric): GoldenColumn | UnreadableDefinition {
  try {
    return readDefinition(definition);
  } catch (error) {
    if (error instanceof UnreadableDefinition) return error;
    throw error;
  }
}

/** The golden metrics of these entities; entities with equal metrics share one list. */
function metricsOf(listed: readonly MonitoredEntity[]): readonly GoldenMetric[] {
  return [...new Set(listed.map(({ metrics }) => metrics))].flat();
}

/** Configured golden metrics that no entity of these lists has, with what it has; none while the lists are empty or were not read. */
function missingMetrics(ofType: readonly TypeRecord[]) {
  const { metrics = [] } = ofType[0]?.selection ?? {};
  const listed = ofType.flatMap((record) => record.listed ?? []);
  if (listed.length === 0) return [];
  const known = [...new Set(metricsOf(listed).map(({ name }) => name))].sort();
  const more = known.length > MAX_KNOWN ? ', ...' : '';
  const theirs = known.length === 0 ? 'none' : `${known.slice(0, MAX_KNOWN).join(', ')}${more}`;
  const missing = metrics.filter((name) => !known.includes(name));
  return missing.map((metric) => ({ metric, hint: suggest(metric, known) || `: they have ${theirs}` }));
}

/** The warnings about configured golden metrics that no entity of these lists has, which are of one type in several accounts. */
export function missingMetricWarnings(ofType: readonly TypeRecord[]): readonly string[] {
  const type = ofType[0]?.selection.type ?? '';
  return missingMetrics(ofType).map(
    ({ metric, hint }) => `entities: no entity of ${type} has a golden metric "${metric}"${hint}`,
  );
}

/** True when a type has the same families as before. */
function isSame(
  before: ReadonlyMap<string, ReadonlyMap<string, Family>>,
  now: ReadonlyMap<string, ReadonlyMap<string, Family>>,
  type: string,
): boolean {
  const [a, b] = [before.get(type), now.get(type)];
  return a?.size === b?.size && [...(a ?? [])].every(([name, family]) => b?.get(name) === family);
}

/** True when there is a new column, or a column with a new definition. */
function hasMore(before: Columns, now: Columns): boolean {
  if (before === now) return false;
  return now.some(
    ({ name, source, select }) =>
      !before.some((each) => each.name === name && each.source === source && each.select === select),
  );
}

/** The warnings about a type, in sentences; definitions that are unreadable in the same way share one. */
function* warningsOf(record: TypeRecord): Generator<string> {
  const { selection, entities, chosen } = record;
  const { leftOut } = chosen;
  const unread = unreadable(record);
  const { type, max_entities } = selection;
  if (leftOut > 0) {
    yield `entities: ${type} has ${entities.size + leftOut} entities and max_entities is ${max_entities}: ${leftOut} are left out`;
  }
  for (const problem of new Set(unread.map((each) => each.problem))) {
    const alike = unread.filter((each) => each.problem === problem).map(({ metric }) => metric);
    yield `entities: ${type}: ${quoted(alike)} is never requested: its definition ${problem}`;
  }
  const { failing, notNumbers } = valueProblems(record);
  for (const [name, { message }] of failing) {
    yield `entities: ${type}: golden metric "${name}" cannot be read: ${message}`;
  }
  if (notNumbers.size > 0) yield `entities: ${type}: ${quoted([...notNumbers])} of some entities is no number`;
}

/** Golden metrics of a type that fail while others succeed, and golden metrics with a column that is not a number. */
function valueProblems({ entities }: TypeRecord): {
  readonly failing: ReadonlyMap<string, UpstreamError>;
  readonly notNumbers: ReadonlySet<string>;
} {
  const failing = new Map<string, UpstreamError>();
  const notNumbers = new Set<string>();
  for (const { failures, notNumbers: names } of entities.values()) {
    if (failures.size + names.length === 0) continue;
    for (const [name, error] of failures) failing.set(name, error);
    for (const name of names) notNumbers.add(name);
  }
  return { failing, notNumbers };
}

/** Golden metrics that are never requested, because their definitions cannot be read. */
function unreadable({ plans }: TypeRecord): readonly MetricProblem[] {
  const problems = [...plans.values()].flatMap((plan) => plan.problems);
  const byText = new Map(problems.map((each) => [`${each.metric} ${each.problem}`, each]));
  return [...byText.values()];
}

function quoted(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => `golden metric ${JSON.stringify(name)}`);
  return names.length > MAX_NAMED ? `${shown.join(', ')} and ${names.length - MAX_NAMED} more` : shown.join(', ');
}
