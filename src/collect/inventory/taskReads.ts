import { UpstreamError } from '../../api/upstreamError.ts';
import {
  createSingleRead,
  takeAll,
  takeOne,
  type ApplicationSubject,
  type BatchRead,
  type CallOptions,
  type MetricDataSubject,
  type Outcome,
  type TimeRange,
} from '../../api/upstreamReader.ts';
import { datastoreNames } from '../../formulas/metricInputs.ts';
import { readCountedMinutes, counterSamples } from '../../metrics/counterFamilies.ts';
import { READS, type Kind } from '../../reads/reads.ts';
import type { Task } from './task.ts';
import { steadyRange } from './counterLedger.ts';
import type { Inventory } from './inventory.ts';
import { packSamples } from '../../metrics/writeSamples.ts';
import { calculate, decideDatabase, recalculate, tasksOf } from './records.ts';
import type { AccountContext } from './accountContext.ts';
import { findOtherOwners, onlyIds } from './selection.ts';

/** A subject with its task. Its members are written out: an object that begins with a spread takes much memory. */
interface TaskSubject {
  readonly task: Task;
}

interface TaskRead<S extends TaskSubject = TaskSubject, V = unknown> {
  /** Undefined for an interface without such data. */
  readonly batches: BatchRead<NoInfer<S>, V> | undefined;
  /** @param isSteady true for counting the calls of a steady state */
  subjectOf(task: Task, range: TimeRange, isSteady: boolean): S;
  store(subject: NoInfer<S>, value: NoInfer<V>): void;
  /** Returns the window end of a response where it may differ from the requested end. */
  windowEnd?(value: NoInfer<V>): number;
}

export interface TaskBatch {
  readonly kind: Kind;
  readonly subjects: readonly TaskSubject[];
  readonly range: TimeRange;
  /** The error that prevented taking a batch. It fails the only task of the batch. */
  readonly fault?: unknown;
}

export class TaskReads {
  #context: AccountContext;
  readonly #inventory: Inventory;
  #reads: Readonly<Record<Kind, TaskRead>>;

  constructor(context: AccountContext, inventory: Inventory) {
    this.#context = context;
    this.#inventory = inventory;
    this.#reads = this.#defineReads(context);
  }

  reconfigure(context: AccountContext): void {
    this.#context = context;
    this.#reads = this.#defineReads(context);
  }

  /** Takes the next batch: the first task, and the further tasks that fit beside it. */
  take(kind: Kind, tasks: Iterable<Task>, range: TimeRange): TaskBatch {
    const read = this.#reads[kind];
    return { kind, range, subjects: batchesOf(read).take(makeSubjects(read, tasks, range, false), range).subjects };
  }

  /** Reads and stores a batch. Returns the window end of the response for each task, or its error. Never rejects. */
  async read({ kind, subjects, range, fault }: TaskBatch, call: CallOptions): Promise<readonly Outcome<number>[]> {
    if (fault !== undefined) return subjects.map(() => toFailure(fault));
    // A reload during the call replaces `#reads`, but the batch must finish with the old one.
    const read = this.#reads[kind];
    try {
      const outcomes = await batchesOf(read).read(subjects, range, call);
      return subjects.map((subject, index) => storeOutcome(read, subject, outcomes[index], range));
    } catch (error) {
      return subjects.map(() => toFailure(error));
    }
  }

  /** Yields the number of calls for each batch of the tasks. Skips tasks that the inventory removes meanwhile. */
  *countCalls(kind: Kind, tasks: Iterable<Task>, range: TimeRange): Generator<number> {
    const read = this.#reads[kind];
    for (const { calls } of takeAll(batchesOf(read), makeSubjects(read, tasks, range, true), range)) yield calls;
  }

  /** False for metric data until the exporter has tried to read the names for the request. */
  isReady({ kind, subject }: Task): boolean {
    if (kind !== 'application_metrics' && kind !== 'host_metrics') return true;
    const tasks = this.#inventory.recordOf(subject)?.data?.tasks;
    return tasks !== undefined && tasks.metric_names?.tried !== false && tasks.custom_names?.tried !== false;
  }

  /** True when a group that needs this task only once no longer needs it. */
  isKnown({ kind, subject, tried }: Task): boolean {
    return kind === 'application_metrics' ? this.#inventory.recordOf(subject)?.data?.database !== undefined : tried;
  }

  /** True for a task whose last attempt failed, and for an unread host task whose application failed. */
  repeatsFailure({ kind, subject, failures, lastRead }: Task): boolean {
    if (failures > 0 || kind !== 'host_metrics' || lastRead !== undefined) return failures > 0;
    return (this.#inventory.recordOf(subject)?.data?.tasks.application_metrics?.failures ?? 0) > 0;
  }

  /** Returns the tasks that the end of a task may make due. An id limits the result to one application. */
  findUnlocked(task: Task, applicationId: number | undefined): Iterable<Task> {
    const { unlocks } = READS[task.kind];
    if (unlocks === undefined) return [task];
    if (unlocks === 'everything') return this.#inventory.tasks(applicationId);
    if (unlocks === 'entities') return this.#inventory.entities.tasks();
    const record = this.#inventory.recordOf(task.subject);
    return record === undefined ? [] : tasksOf(record);
  }

  #defineReads({ reader }: AccountContext): Readonly<Record<Kind, TaskRead>> {
    const inventory = this.#inventory;
    const { entities, queries } = inventory;
    const rolling = defineRead({
      batches: reader.rolling,
      subjectOf: (task: Task) => {
        const { applicationId, hostKey, keyTransactionId } = task.subject;
        return { task, applicationId, hostKey, keyTransactionId };
      },
      store: (subject, values) => inventory.setRolling(subject, values),
    });
    const metricData = this.#defineMetricData();
    return {
      applications: this.#defineApplicationList(),
      key_transactions: this.#defineKeyTransactionList(),
      application_rolling: rolling,
      key_transaction_rolling: rolling,
      metric_names: defineRead({
        batches: reader.datastores,
        subjectOf: makeApplicationSubject,
        store: (subject, names) => {
          const data = inventory.recordOf(subject)?.data;
          if (data !== undefined) Object.assign(data, { datastores: datastoreNames(names), selected: {} });
        },
      }),
      custom_names: this.#defineCustomNames(),
      application_metrics: metricData,
      counters: this.#defineCounters(),
      hosts: defineRead({
        batches: reader.hosts,
        subjectOf: makeApplicationSubject,
        store: (subject, hosts) => inventory.setHosts(inventory.recordOf(subject), hosts),
      }),
      host_rolling: rolling,
      host_metrics: metricData,
      instances: defineRead({
        batches: reader.instances,
        subjectOf: makeApplicationSubject,
        store: (subject, instances) => inventory.setInstances(inventory.recordOf(subject), instances),
      }),
      entities: this.#defineEntityLists(),
      golden_metrics: defineRead({
        batches: reader.entities?.goldenMetrics,
        subjectOf: (task: Task) => entities.subjectOf(task),
        store: ({ task }, result) => entities.applyResult(task, result),
        windowEnd: ({ window }) => window.to,
      }),
      queries: defineRead({
        batches: reader.queries,
        subjectOf: (task: Task) => queries.subjectOf(task),
        store: ({ task }, result) => queries.applyResult(task.subject, result),
        windowEnd: ({ window }) => window.to,
      }),
    };
  }

  #defineApplicationList(): TaskRead {
    const { account, reader } = this.#context;
    const ids = onlyIds(account.applications);
    const inventory = this.#inventory;
    return defineRead({
      batches: createSingleRead(
        async (_, _range, call) => inventory.makeRecords(await reader.listApplications({ ids }, call)),
        () => reader.listCalls(ids?.length ?? inventory.listedApplications?.length ?? 0),
      ),
      subjectOf: (task: Task) => ({ task }),
      store: (_, list) => inventory.setApplications(list, ids ?? []),
    });
  }

  #defineKeyTransactionList(): TaskRead {
    const { account, reader } = this.#context;
    const inventory = this.#inventory;
    const filter = account.key_transactions;
    const ids = typeof filter === 'boolean' ? undefined : onlyIds(filter);
    return defineRead({
      batches: createSingleRead(
        async (_, _range, call) => {
          const list = await reader.listKeyTransactions({ ids }, call);
          const owners = findOtherOwners(account, list);
          return { list, owners: owners.length === 0 ? [] : await reader.listApplications({ ids: owners }, call) };
        },
        () => {
          const { listedKeyTransactions = [] } = inventory;
          const owners = findOtherOwners(account, listedKeyTransactions).length;
          const calls = reader.listCalls(ids?.length ?? listedKeyTransactions.length);
          return calls + (owners === 0 ? 0 : reader.listCalls(owners));
        },
      ),
      subjectOf: (task: Task) => ({ task }),
      store: (_, { list, owners }) => inventory.setKeyTransactions(list, owners),
    });
  }

  #defineEntityLists(): TaskRead {
    const { entities } = this.#inventory;
    const reader = this.#context.reader.entities;
    const typeOf = ({ task: { subject } }: TaskSubject): string => subject.entityType ?? '';
    const lengthOf = ({ task: { subject } }: TaskSubject): number => entities.typeOf(subject)?.listed?.length ?? 0;
    return defineRead({
      batches:
        reader &&
        createSingleRead(
          async (list: TaskSubject, _range, call) => entities.readDefinitions(await reader.list(typeOf(list), call)),
          (list) => reader.listCalls(typeOf(list), lengthOf(list)),
        ),
      subjectOf: (task: Task) => ({ task }),
      store: ({ task }, list) => entities.applyList(task.subject, list),
    });
  }

  #defineCustomNames(): TaskRead {
    const { customMetrics, reader } = this.#context;
    const filters = [...new Set(customMetrics.map(({ template }) => template.filter))];
    return defineRead({
      batches: reader.customNames,
      subjectOf: (task: Task) => ({ task, applicationId: idOf(task), filters }),
      store: (subject, { names, cut }) => {
        const data = this.#inventory.recordOf(subject)?.data;
        const matching = names.filter((name) => customMetrics.some(({ template }) => template.pattern.test(name)));
        if (data !== undefined) Object.assign(data, { customNames: [...new Set(matching)], cut, selected: {} });
      },
    });
  }

  #defineCounters(): TaskRead {
    const { clock, collection, reader, selections } = this.#context;
    const inventory = this.#inventory;
    const { counters: metrics } = selections;
    return defineRead({
      // A batch covers the range of its first application: mostly the longest, because the oldest read is due first.
      batches: {
        take<T extends CounterTask>(subjects: Iterable<T>, { to }: TimeRange) {
          const others = subjects[Symbol.iterator]();
          const first = others.next();
          if (first.done === true) return takeOne<T>(undefined);
          return reader.counters.take(skipLongerRanges(first.value, others), { from: first.value.requested.from, to });
        },
        read: (subjects, { from, to }, call) =>
          reader.counters.read(subjects, { from: subjects[0]?.requested.from ?? from, to }, call),
      },
      // The first reads of a ledger cover a longer time than a steady read.
      subjectOf: (task: Task, range: TimeRange, isSteady: boolean): CounterTask => {
        const ledger = inventory.recordOf(task.subject)?.counters;
        const steady = steadyRange(collection.intervals.counters, range.to);
        const requested = isSteady ? steady : (ledger?.nextRange(range.to) ?? range);
        return { task, applicationId: idOf(task), hostKey: undefined, metrics, requested };
      },
      store: ({ applicationId, requested }, series) => {
        const { counters, data } = inventory.recordOf({ applicationId }) ?? {};
        if (counters === undefined || data === undefined) return;
        const fail = (problem: string): never => {
          throw reader.refuseCounters(`application ${applicationId}: ${problem}`);
        };
        const { window } = series;
        if (window.to <= Math.max(window.from, requested.from)) fail('the response is for another time than requested');
        const now = { wall: clock.now() / 1000, running: clock.monotonic() / 1000 };
        const { late, lost, broken } = counters.add(requested, window, readCountedMinutes(series), now);
        inventory.counterTotals.lateTransactions += late;
        inventory.counterTotals.lostSeconds += lost;
        if (broken !== undefined) fail(`the minute ${new Date(broken * 1000).toISOString()} cannot be read`);
        data.samples.counters = packSamples('counters', counterSamples(counters.totals), data.samples.counters);
      },
      windowEnd: ({ window }) => window.to,
    });
  }

  #defineMetricData(): TaskRead {
    const { reader, selections } = this.#context;
    const inventory = this.#inventory;
    return defineRead({
      batches: reader.metricData,
      subjectOf: (task: Task) => {
        const { kind, subject } = task;
        const data = inventory.recordOf(subject)?.data;
        const scope = kind === 'host_metrics' ? 'host' : 'application';
        const { metrics, datastores } = data === undefined ? selections.nothing : selections.select(data, scope);
        return { task, applicationId: idOf(task), hostKey: subject.hostKey, metrics, datastores };
      },
      // The names may change while a call is in flight, so `store` uses the names of the request.
      store: ({ task: { kind, subject }, datastores: requested }, { window, metrics, datastores }) => {
        const record = inventory.recordOf(subject);
        const host = inventory.hostOf(subject);
        if (record?.data === undefined || (kind === 'host_metrics' && host === undefined)) return;
        const { data } = record;
        const values = { seconds: window.to - window.from, metrics };
        const input = { values, datastores: datastores === undefined ? requested : 'all' };
        if (host !== undefined) host.reading = calculate(input, data, host.rank, host.reading, this.#context);
        else if (decideDatabase(record, data, input)) recalculate(data, this.#context, input);
        else data.reading = calculate(input, data, undefined, data.reading, this.#context);
      },
      windowEnd: ({ window }) => window.to,
    });
  }
}

type CounterTask = MetricDataSubject & TaskSubject & { readonly requested: TimeRange };

function* skipLongerRanges<T extends CounterTask>(first: T, others: Iterator<T>): Generator<T> {
  yield first;
  for (let next = others.next(); next.done !== true; next = others.next()) {
    if (next.value.requested.from >= first.requested.from) yield next.value;
  }
}

/** Lets the compiler check that the subjects and values of a read fit its reader. */
function defineRead<S extends TaskSubject, V>(read: TaskRead<S, V>): TaskRead {
  return read;
}

function batchesOf({ batches }: TaskRead): BatchRead<TaskSubject, unknown> {
  if (batches === undefined) throw new Error('this interface has no such data');
  return batches;
}

function* makeSubjects(
  read: TaskRead,
  tasks: Iterable<Task>,
  range: TimeRange,
  isSteady: boolean,
): Generator<TaskSubject> {
  for (const task of tasks) if (!task.gone) yield read.subjectOf(task, range, isSteady);
}

/** Drops the value if the inventory removed the task during the call. */
function storeOutcome(
  read: TaskRead,
  subject: TaskSubject,
  outcome: Outcome<unknown> | undefined,
  { to }: TimeRange,
): Outcome<number> {
  if (outcome === undefined) return toFailure(new Error('the reader returned no outcome for the subject'));
  if ('error' in outcome) return outcome;
  if (subject.task.gone) return { value: to };
  try {
    read.store(subject, outcome.value);
    return { value: read.windowEnd?.(outcome.value) ?? to };
  } catch (error) {
    return toFailure(error);
  }
}

function toFailure(error: unknown): Outcome<number> {
  if (error instanceof UpstreamError) return { error };
  return { error: new UpstreamError(error instanceof Error ? error.message : String(error), { reason: 'other' }) };
}

function makeApplicationSubject(task: Task): TaskSubject & ApplicationSubject {
  return { task, applicationId: idOf(task) };
}

function idOf({ subject: { applicationId } }: Task): number {
  if (applicationId === undefined) throw new Error('the task does not belong to an application');
  return applicationId;
}
