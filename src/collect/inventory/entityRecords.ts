import { getOrAdd } from '../../api/maps.ts';
import type { UpstreamError } from '../../api/upstreamError.ts';
import type { GoldenMetric, GoldenResult, GoldenSubject, MonitoredEntity } from '../../api/upstreamReader.ts';
import type { AccountConfig } from '../../config/config.ts';
import { suggest } from '../../text/wording.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { BUILT_IN_NAMES } from '../../metrics/catalogue.ts';
import {
  goldenFamilies,
  goldenSamples,
  monitoredSamples,
  type GoldenFamilies,
  type MetricProblem,
  entityLabels,
  goldenLabels,
} from '../../metrics/monitoredFamilies.ts';
import type { Family } from '../../metrics/family.ts';
import {
  NO_SAMPLES,
  packSamples,
  writeLabels,
  type PackedSamples,
  type WrittenLabels,
} from '../../metrics/writeSamples.ts';
import {
  readDefinition,
  sourceKey,
  UnreadableDefinition,
  type GoldenColumn,
  type GoldenSource,
} from '../../nrql/goldenMetric.ts';
import type { AccountContext } from './accountContext.ts';
import { chooseEntities } from './selection.ts';
import type { Subject, Task, TaskStore } from './task.ts';

type Columns = GoldenSubject['columns'];

interface MetricPlan {
  readonly columns: Columns;
  readonly problems: readonly MetricProblem[];
}

export interface EntityRecord {
  readonly entity: MonitoredEntity;
  /** The labels of its series from the list and of its golden metrics; undefined until the next exposition. */
  labels: { readonly listed: WrittenLabels; readonly golden: WrittenLabels } | undefined;
  /** The samples from the list; undefined until the next exposition. */
  samples: PackedSamples | undefined;
  /** The read of its golden metrics; undefined for an entity that does not report or has no readable golden metric. */
  readonly subject: (GoldenSubject & { readonly task: Task }) | undefined;
  readonly columns: Columns;
  /** The served values of its golden metrics, and their samples. */
  values: GoldenResult['values'];
  golden: PackedSamples;
  /** Golden metrics that failed although their read succeeded for other metrics. */
  failures: GoldenResult['failures'];
  /** By metric that failed alone: when the value that it still serves was due; milliseconds of the monotonic clock. */
  oldValuesDueAt: ReadonlyMap<string, number>;
  notNumbers: readonly string[];
}

export interface TypeRecord {
  readonly selection: AccountConfig['entities'][number];
  readonly list: Task;
  /** The complete list; undefined before the first read. */
  listed: readonly MonitoredEntity[] | undefined;
  chosen: ReturnType<typeof chooseEntities>;
  /** By guid, in the order of names. */
  entities: ReadonlyMap<string, EntityRecord>;
  /** By definitions. A change of the type's families replaces the plans. */
  plans: ReadonlyMap<readonly GoldenMetric[], MetricPlan>;
}

const NO_FAMILIES: ReadonlyMap<string, Family> = new Map();
const NO_OLD_VALUES: EntityRecord['oldValuesDueAt'] = new Map();

const MAX_NAMED = 5;
const MAX_KNOWN = 20;

export class EntityRecords {
  #context: AccountContext;
  readonly #store: TaskStore;
  types: ReadonlyMap<string, TypeRecord> = new Map();
  /** The families of golden metrics. The HELP of a family stays the same until a reload. */
  #golden: GoldenFamilies = { byName: NO_FAMILIES, families: new Map(), leftOut: [] };
  /** One object for equal sources, so that entities share queries. */
  #sources = new Map<string, GoldenSource>();
  readonly #definitions = new WeakMap<GoldenMetric, GoldenColumn | UnreadableDefinition>();

  constructor(context: AccountContext, store: TaskStore) {
    this.#context = context;
    this.#store = store;
    this.configure(context);
  }

  typeOf({ entityType = '' }: Subject): TypeRecord | undefined {
    return this.types.get(entityType);
  }

  find(subject: Subject): EntityRecord | undefined {
    return this.typeOf(subject)?.entities.get(subject.entityGuid ?? '');
  }

  *tasks(): Generator<Task> {
    for (const { list } of this.types.values()) yield list;
    for (const { entities } of this.types.values()) yield* tasksOf(entities);
  }

  *warnings(): Generator<string> {
    for (const record of this.types.values()) {
      const { type, max_entities } = record.selection;
      const { leftOut } = record.chosen;
      if (leftOut > 0) {
        yield `entities: ${type} has ${record.entities.size + leftOut} entities and max_entities is ${max_entities}: ${leftOut} are left out`;
      }
      yield* describeProblems(this.findProblems(record));
    }
  }

  /** Finds the golden metrics of a type that have no values, at least for some entities. Returns each problem once. */
  findProblems(record: TypeRecord): readonly MetricProblem[] {
    const { selection, plans, entities } = record;
    const { type } = selection;
    // A metric that is missing in one account of an entry may exist in another account.
    const missing = this.#context.account.origin === undefined ? findMissingMetrics([record]) : [];
    const leftOut = this.#golden.leftOut.filter((each) => each.type === type);
    const problems = [...missing, ...leftOut, ...[...plans.values()].flatMap((plan) => plan.problems)];
    const failing = new Map<string, string>();
    for (const { failures, notNumbers } of entities.values()) {
      for (const [metric, { message }] of failures) failing.set(metric, `cannot be read: ${message}`);
      for (const metric of notNumbers) problems.push({ type, metric, problem: 'no number of some entities' });
    }
    for (const [metric, problem] of failing) problems.push({ type, metric, problem });
    return [...new Map(problems.map((each) => [`${each.metric} ${each.problem}`, each])).values()];
  }

  /** Selects the entities again from the last lists. */
  configure(context: AccountContext): void {
    this.#context = context;
    const { account, reader } = context;
    this.types = this.#store.sync(
      this.types,
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
        const chosen = chooseEntities(selection, listed ?? []);
        return { selection, list, listed, chosen, entities, plans: new Map() };
      },
      ({ list, entities }) => [list, ...tasksOf(entities)],
    );
    this.#golden = { ...this.#golden, byName: NO_FAMILIES };
    this.#assignFamilies();
    for (const record of this.types.values()) this.#select(record);
  }

  /** Parses the definitions of a list in slices, because a list may have many. */
  async readDefinitions(listed: readonly MonitoredEntity[]): Promise<readonly MonitoredEntity[]> {
    await inSlices(metricsOf(listed), (metric) => this.#definitionOf(metric));
    return listed;
  }

  /** Stores a new list. Marks the list task partial if golden metric definitions could not be read. */
  applyList(subject: Subject, listed: readonly MonitoredEntity[]): void {
    const record = this.typeOf(subject);
    if (record === undefined) return;
    record.listed = listed;
    record.chosen = chooseEntities(record.selection, listed);
    const before = this.#golden.families;
    this.#assignFamilies();
    for (const each of this.types.values()) {
      // The new list may move a family name from one type or metric to another.
      const { type } = each.selection;
      const isChanged = !isSame(before.get(type), this.#golden.families.get(type));
      if (isChanged) each.plans = new Map();
      if (isChanged || each === record) this.#select(each);
    }
    const plans = Array.from(this.types.values()).flatMap((type) => [...type.plans.values()]);
    this.#sources = new Map(plans.flatMap(({ columns }) => columns).map(({ source }) => [sourceKey(source), source]));
    record.list.partial = describe(record.chosen.entities.find(({ reporting, unread }) => reporting && unread)?.unread);
  }

  subjectOf({ subject }: Task): NonNullable<EntityRecord['subject']> {
    const found = this.find(subject)?.subject;
    if (found === undefined) throw new Error('cannot read an entity that is no longer in its list');
    return found;
  }

  /** Stores golden metrics. A metric that failed alone keeps its last values. */
  applyResult(task: Task, { values, failures, notNumbers }: GoldenResult): void {
    const record = this.find(task.subject);
    if (record === undefined) return;
    task.partial = describe(failures[0]?.[1]);
    const { oldValuesDueAt } = record;
    const due = task.lastRead?.dueAt ?? -Infinity;
    const old = failures.map(([metric]) => [metric, oldValuesDueAt.get(metric) ?? due] as const);
    record.oldValuesDueAt = old.length === 0 ? NO_OLD_VALUES : new Map(old);
    record.failures = failures;
    record.notNumbers = notNumbers;
    const oldValues = record.values.filter(({ metric }) => record.oldValuesDueAt.has(metric));
    this.#serve(record, [...values, ...oldValues]);
  }

  /** Replaces the served golden metrics of an entity, in the current families of the metrics. */
  #serve(record: EntityRecord, values: EntityRecord['values']): void {
    const families = this.#golden.families.get(record.subject?.type ?? '') ?? NO_FAMILIES;
    record.values = values;
    record.golden = packSamples('golden_metrics', goldenSamples(families, values), record.golden);
  }

  /** Returns the labels of an entity. Writes them on first use: a whole list with long names takes too long. */
  labelsOf({ selection: { type } }: TypeRecord, record: EntityRecord): NonNullable<EntityRecord['labels']> {
    const { account } = this.#context;
    return (record.labels ??= {
      listed: writeLabels(entityLabels(account, type, record.entity)),
      golden: writeLabels(goldenLabels(account, record.entity)),
    });
  }

  listedSamples({ selection: { tags } }: TypeRecord, record: EntityRecord): PackedSamples {
    return (record.samples ??= packSamples('entities', monitoredSamples(record.entity, tags)));
  }

  /** Removes values of metrics that failed alone, `max_age` after their due time, even while whole reads fail. */
  removeTooOld(record: EntityRecord): void {
    const { clock, collection } = this.#context;
    const oldest = clock.monotonic() - collection.max_age;
    const others = record.values.filter(({ metric }) => (record.oldValuesDueAt.get(metric) ?? Infinity) >= oldest);
    if (others.length < record.values.length) this.#serve(record, others);
  }

  #select(record: TypeRecord): void {
    const { listed, chosen, plans: known, selection } = record;
    const { type } = selection;
    if (listed === undefined) return;
    const window = selection.window === undefined ? undefined : selection.window / 1000;
    const plans = new Map<readonly GoldenMetric[], MetricPlan>();
    const makeRecord = (entity: MonitoredEntity, before: EntityRecord | undefined): EntityRecord => {
      const { guid, metrics, reporting, unread } = entity;
      const { columns } = getOrAdd(plans, metrics, () => known.get(metrics) ?? this.#makePlan(type, metrics));
      const isRead = reporting && (columns.length > 0 || unread !== undefined);
      const earlier = before?.subject?.task;
      const task = this.#store.keep(isRead, earlier, 'golden_metrics', { entityType: type, entityGuid: guid });
      // An entity that reports again after a silence starts without its old values.
      const same = task !== undefined && earlier === task ? before : undefined;
      if (task !== undefined) task.setPace(selection, this.#context.collection.delay);
      // The task failed because its definitions were unreadable. With definitions, it need not wait for its retry.
      if (same?.entity.unread !== undefined && unread === undefined && task !== undefined) task.retryAt = -Infinity;
      const next: EntityRecord = {
        entity,
        subject: task && { task, type, guid, columns, unread, window, endsBefore: task.endsBefore },
        columns,
        labels: undefined,
        samples: undefined,
        values: same?.values ?? [],
        golden: same?.golden ?? NO_SAMPLES,
        failures: same?.failures ?? [],
        oldValuesDueAt: same?.oldValuesDueAt ?? NO_OLD_VALUES,
        notNumbers: same?.notNumbers ?? [],
      };
      if (same !== undefined && same.columns !== columns) {
        const served = next.values.filter(({ metric }) => columns.some(({ name }) => name === metric));
        this.#serve(next, served);
      }
      return next;
    };
    record.entities = this.#store.sync(record.entities, chosen.entities, ({ guid }) => guid, makeRecord, taskOf);
    record.plans = plans;
  }

  #makePlan(type: string, metrics: readonly GoldenMetric[]): MetricPlan {
    const families = this.#golden.families.get(type);
    const columns = new Map<string, Columns[number]>();
    const problems: MetricProblem[] = [];
    for (const metric of metrics) {
      const { name } = metric;
      if (columns.has(name) || families?.has(name) !== true) continue;
      const read = this.#definitionOf(metric);
      if (read instanceof UnreadableDefinition) {
        problems.push({ type, metric: name, problem: `never requested: its definition ${read.message}` });
        continue;
      }
      const source = getOrAdd(this.#sources, sourceKey(read.source), () => read.source);
      columns.set(name, { name, source, select: read.select });
    }
    return { columns: [...columns.values()], problems };
  }

  #definitionOf(metric: GoldenMetric): GoldenColumn | UnreadableDefinition {
    return getOrAdd(this.#definitions, metric, () => parseDefinition(metric));
  }

  #assignFamilies(): void {
    const types = [...this.types.values()].map(({ selection: { type, metrics: wanted }, listed = [] }) => {
      return { type, metrics: metricsOf(listed).filter(({ name }) => wanted?.includes(name) !== false) };
    });
    const { customMetrics, queries } = this.#context;
    const configured = new Set([
      ...customMetrics.map(({ definition }) => definition.name),
      ...queries.flatMap(({ families }) => families.map(({ name }) => name)),
    ]);
    const isTaken = (name: string): boolean => BUILT_IN_NAMES.has(name) || configured.has(name);
    this.#golden = goldenFamilies(types, isTaken, this.#golden.byName);
  }
}

function describe(error: UpstreamError | undefined): Task['partial'] {
  return error && { reason: error.failure.reason, text: error.message };
}

function tasksOf(entities: TypeRecord['entities']): Task[] {
  return Array.from(entities.values()).flatMap(taskOf);
}

function taskOf({ subject }: EntityRecord): Task[] {
  return subject === undefined ? [] : [subject.task];
}

export function parseDefinition({ definition }: GoldenMetric): GoldenColumn | UnreadableDefinition {
  try {
    return readDefinition(definition);
  } catch (error) {
    if (error instanceof UnreadableDefinition) return error;
    throw error;
  }
}

function metricsOf(listed: readonly MonitoredEntity[]): readonly GoldenMetric[] {
  return [...new Set(listed.map(({ metrics }) => metrics))].flat();
}

/** Finds the configured golden metrics that no listed entity of the type has. Without a listed entity, none counts. */
export function findMissingMetrics(records: readonly TypeRecord[]): readonly MetricProblem[] {
  const { type = '', metrics = [] } = records[0]?.selection ?? {};
  const listed = records.flatMap((record) => record.listed ?? []);
  if (listed.length === 0) return [];
  const known = [...new Set(metricsOf(listed).map(({ name }) => name))].sort();
  const more = known.length > MAX_KNOWN ? ', ...' : '';
  const existing = known.length === 0 ? 'none' : `${known.slice(0, MAX_KNOWN).join(', ')}${more}`;
  const missing = metrics.filter((name) => !known.includes(name));
  return missing.map((metric) => {
    return { type, metric, problem: `no entity has it${suggest(metric, known) || `: they have ${existing}`}` };
  });
}

/** Describes the problems of one type: one sentence for all metrics with the same problem. */
export function describeProblems(problems: readonly MetricProblem[]): readonly string[] {
  const byProblem = new Map<string, string[]>();
  for (const { metric, problem } of problems) getOrAdd(byProblem, problem, () => []).push(metric);
  return Array.from(byProblem, ([problem, metrics]) => {
    const shown = metrics.slice(0, MAX_NAMED).map((name) => `golden metric ${JSON.stringify(name)}`);
    const more = metrics.length > MAX_NAMED ? ` and ${metrics.length - MAX_NAMED} more` : '';
    return `entities: ${shown.join(', ')}${more} of ${problems[0]?.type}: ${problem}`;
  });
}

function isSame(a = NO_FAMILIES, b = NO_FAMILIES): boolean {
  return a.size === b.size && [...a].every(([name, family]) => b.get(name) === family);
}
