import { UpstreamError } from '../../api/upstreamError.ts';
import {
  countCalls,
  oneByOne,
  type ApplicationSubject,
  type BatchRead,
  type Outcome,
  type PlannedCall,
  type TimeRange,
} from '../../api/upstreamReader.ts';
import { datastoreNames } from '../../formulas/metricInputs.ts';
import { countedMinutes, counterSamples } from '../../metrics/counterFamilies.ts';
import { READS, type Kind } from '../../reads/reads.ts';
import type { Task } from './task.ts';
import { steadyRange } from './counterLedger.ts';
import type { Inventory } from './inventory.ts';
import { packSamples } from '../../metrics/writeSamples.ts';
import { calculate, decideDatabase, recalculate, tasksOf } from './records.ts';
import type { AccountContext } from './accountContext.ts';
import { onlyIds, ownersToRequest } from './selection.ts';

interface TaskRead {
  /**
   * Plans the next call for tasks, at least one; they are taken only as far as they fit. The value of a task is the
   * end of the window of its response. The call never rejects.
   */
  plan(tasks: Iterable<Task>, range: TimeRange): PlannedCall<Task, number>;
  /** The numbers of calls that together read all of these tasks, even of tasks that are removed during the count. */
  countCalls(tasks: readonly Task[], range: TimeRange): Iterable<number>;
}

/** The reads of the kinds that the interface of the account has. */
type Reads = Readonly<Record<Kind, TaskRead | undefined>>;

export class Kinds {
  #context: AccountContext;
  readonly #inventory: Inventory;
  #reads: Reads;

  constructor(context: AccountContext, inventory: Inventory) {
    this.#context = context;
    this.#inventory = inventory;
    this.#reads = this.#readsOf(context);
  }

  reconfigure(context: AccountContext): void {
    this.#context = context;
    this.#reads = this.#readsOf(context);
  }

  #readsOf({ reader }: AccountContext): Reads {
    const inventory = this.#inventory;
    const { entities, queries } = inventory;
    const rolling = mapped(
      reader.rolling,
      (task) => {
        const { applicationId, hostKey, keyTransactionId } = task.subject;
        return { task, applicationId, hostKey, keyTransactionId };
      },
      (subject, values) => inventory.setRolling(subject, values),
    );
    const metricData = this.#metricData();
    return {
      applications: this.#applications(),
      key_transactions: this.#keyTransactions(),
      application_rolling: rolling,
      key_transaction_rolling: rolling,
      metric_names: mapped(reader.datastores, applicationOf, (subject, names) => {
        const data = inventory.recordOf(subject)?.data;
        if (data !== undefined) Object.assign(data, { datastores: datastoreNames(names), selected: {} });
      }),
      custom_names: this.#customNames(),
      application_metrics: metricData,
      counters: this.#counters(),
      hosts: mapped(reader.hosts, applicationOf, (subject, hosts) =>
        inventory.setHosts(inventory.recordOf(subject), hosts),
      ),
      host_rolling: rolling,
      host_metrics: metricData,
      instances: mapped(reader.instances, applicationOf, (subject, instances) =>
        inventory.setInstances(inventory.recordOf(subject), instances),
      ),
      entities: this.#entityLists(),
      golden_metrics: mapped(
        reader.entities?.goldenMetrics,
        (task) => entities.subjectOf(task),
        ({ task }, result) => entities.applyResult(task, result),
        ({ window }) => window.to,
      ),
      queries: mapped(
        reader.queries,
        (task) => queries.subjectOf(task),
        ({ task }, result) => queries.arrive(task.subject, result),
        ({ window }) => window.to,
      ),
    };
  }

  /** How the tasks of a kind are read. */
  of(kind: Kind): TaskRead {
    const read = this.#reads[kind];
    if (read === undefined) throw new Error('this interface has no such data');
    return read;
  }

  /** False for metric data until the names for their request have been read, or tried and given up. */
  isReady({ kind, subject }: Task): boolean {
    if (kind !== 'application_metrics' && kind !== 'host_metrics') return true;
    const tasks = this.#inventory.recordOf(subject)?.data?.tasks;
    return tasks !== undefined && tasks.metric_names?.tried !== false && tasks.custom_names?.tried !== false;
  }

  /** True when the refresh of a group that needs this task only once no longer needs it. */
  isKnown({ kind, subject, tried }: Task): boolean {
    return kind === 'application_metrics' ? this.#inventory.recordOf(subject)?.data?.database !== undefined : tried;
  }

  /** True for a read that repeats a failed one: its own, or for a host that was never read that of its application. */
  repeatsFailure({ kind, subject, failures, lastRead }: Task): boolean {
    if (failures > 0 || kind !== 'host_metrics' || lastRead !== undefined) return failures > 0;
    return (this.#inventory.recordOf(subject)?.data?.tasks.application_metrics?.failures ?? 0) > 0;
  }

  /** The tasks that may have become due because a task has ended; only of one application when an id is given. */
  unlockedBy(task: Task, applicationId: number | undefined): Iterable<Task> {
    switch (READS[task.kind].unlocks) {
      case 'everything':
        return this.#inventory.tasks(applicationId);
      case 'application': {
        const record = this.#inventory.recordOf(task.subject);
        return record === undefined ? [] : tasksOf(record);
      }
      case 'entities':
        return this.#inventory.entities.tasks();
      default:
        return [task];
    }
  }

  #applications(): TaskRead | undefined {
    const { account, reader } = this.#context;
    const ids = onlyIds(account.applications);
    const read = oneByOne(
      async (_list: object, _range, call) =>
        this.#inventory.makeRecords(await reader.listApplications(ids === undefined ? {} : { ids }, call)),
      () => reader.listCalls(ids?.length ?? this.#inventory.listedApplications?.length ?? 0),
    );
    return mapped(read, ofTask, (_, list) => this.#inventory.setApplications(list, ids ?? []));
  }

  #keyTransactions(): TaskRead | undefined {
    const { account, reader } = this.#context;
    const filter = account.key_transactions;
    const ids = typeof filter === 'boolean' ? undefined : onlyIds(filter);
    const read = oneByOne(
      async (_list: object, _range, call) => {
        const list = await reader.listKeyTransactions(ids === undefined ? {} : { ids }, call);
        const owners = ownersToRequest(account, list);
        return { list, owners: owners.length === 0 ? [] : await reader.listApplications({ ids: owners }, call) };
      },
      () => {
        const { listedKeyTransactions = [] } = this.#inventory;
        const owners = ownersToRequest(account, listedKeyTransactions).length;
        return (
          reader.listCalls(ids?.length ?? listedKeyTransactions.length) + (owners === 0 ? 0 : reader.listCalls(owners))
        );
      },
    );
    return mapped(read, ofTask, (_, { list, owners }) => this.#inventory.setKeyTransactions(list, owners));
  }

  #entityLists(): TaskRead | undefined {
    const reader = this.#context.reader.entities;
    if (reader === undefined) return undefined;
    const read = oneByOne(
      async ({ task: { subject } }: TaskSubject, _range, call) =>
        this.#inventory.entities.readDefinitions(await reader.list(subject.entityType ?? '', call)),
      ({ task: { subject } }) =>
        reader.listCalls(subject.entityType ?? '', this.#inventory.entities.typeOf(subject)?.listed?.length ?? 0),
    );
    return mapped(read, ofTask, ({ task }, list) => this.#inventory.entities.applyList(task.subject, list));
  }

  #customNames(): TaskRead | undefined {
    const { customMetrics, reader } = this.#context;
    const filters = [...new Set(customMetrics.map(({ template }) => template.filter))];
    return mapped(
      reader.customNames,
      (task) => ({ task, applicationId: idOf(task), filters }),
      (subject, { names, cut }) => {
        const data = this.#inventory.recordOf(subject)?.data;
        const matching = names.filter((name) => customMetrics.some(({ template }) => template.pattern.test(name)));
        if (data !== undefined) Object.assign(data, { customNames: [...new Set(matching)], cut, selected: {} });
      },
    );
  }

  #counters(): TaskRead | undefined {
    const { clock, collection, reader, selections } = this.#context;
    const inventory = this.#inventory;
    const { counters: metrics } = selections;
    const read = mapped(
      overFirstRange(reader.counters),
      (task, range) => {
        const ledger = inventory.recordOf(task.subject)?.counters;
        const requested = ledger?.nextRange(range.to) ?? range;
        return { task, applicationId: idOf(task), hostKey: undefined, metrics, requested };
      },
      ({ applicationId, requested }, series) => {
        const { counters, data } = inventory.recordOf({ applicationId }) ?? {};
        if (counters === undefined || data === undefined) return;
        const fail = (problem: string): never => {
          throw reader.refuseCounters(`application ${applicationId}: ${problem}`);
        };
        const { window } = series;
        if (window.to <= Math.max(window.from, requested.from)) fail('the response is for another time than requested');
        const now = { wall: clock.now() / 1000, running: clock.monotonic() / 1000 };
        const { late, lost, broken } = counters.take(requested, window, countedMinutes(series), now);
        inventory.counterTotals.lateTransactions += late;
        inventory.counterTotals.lostSeconds += lost;
        if (broken !== undefined) fail(`the minute ${new Date(broken * 1000).toISOString()} cannot be read`);
        data.samples.counters = packSamples('counters', counterSamples(counters.totals), data.samples.counters);
      },
      ({ window }) => window.to,
    );
    // Counted is a steady state: the first reads cover a longer time.
    const countSteady: TaskRead['countCalls'] = (tasks, { to }) => {
      const subjects = tasks.map((task) => ({ applicationId: idOf(task), hostKey: undefined, metrics }));
      return countCalls(reader.counters, subjects, steadyRange(collection.intervals.counters, to));
    };
    return read && { ...read, countCalls: countSteady };
  }

  #metricData(): TaskRead | undefined {
    const { reader, selections } = this.#context;
    return mapped(
      reader.metricData,
      (task) => {
        const { kind, subject } = task;
        const data = this.#inventory.recordOf(subject)?.data;
        const scope = kind === 'host_metrics' ? 'host' : 'application';
        const { metrics, datastores } = data === undefined ? selections.nothing : selections.of(data, scope);
        return { task, applicationId: idOf(task), hostKey: subject.hostKey, metrics, datastores };
      },
      // The known names may change while a call is in flight, so a response is interpreted with the names of its request.
      ({ task: { kind, subject }, datastores: requested }, { window, metrics, datastores }) => {
        const record = this.#inventory.recordOf(subject);
        const host = this.#inventory.hostOf(subject);
        if (record?.data === undefined || (kind === 'host_metrics' && host === undefined)) return;
        const { data } = record;
        const values = { seconds: window.to - window.from, metrics };
        const input = { values, datastores: datastores === undefined ? requested : 'all' };
        if (host !== undefined) host.reading = calculate(input, data, host.rank, host.reading, this.#context);
        else if (decideDatabase(record, data, input)) recalculate(data, this.#context, input);
        else data.reading = calculate(input, data, undefined, data.reading, this.#context);
      },
      ({ window }) => window.to,
    );
  }
}

/**
 * Reads a batch over the range of its first application: mostly the longest one, because the oldest read is due first. An
 * application with a longer range is left for another call.
 */
function overFirstRange<S, V>(read: BatchRead<S, V>): BatchRead<S & { readonly requested: TimeRange }, V> {
  return {
    plan: <T extends S & { readonly requested: TimeRange }>(subjects: Iterable<T>, { to }: TimeRange) => {
      const left = subjects[Symbol.iterator]();
      const first = left.next();
      if (first.done === true) throw new RangeError('no subjects');
      const { from } = first.value.requested;
      const covered = function* (): Generator<T> {
        for (let next: IteratorResult<T> = first; next.done !== true; next = left.next()) {
          if (next.value.requested.from >= from) yield next.value;
        }
      };
      return read.plan(covered(), { from, to });
    },
  };
}

/**
 * A subject of a read of the interface carries its task. Its members are written out, because an object that begins with a spread
 * takes seven times the memory.
 */
interface TaskSubject {
  readonly task: Task;
}

/**
 * The read of tasks through a read of the interface; undefined where it has none.
 *
 * @param windowEnd the end of the window of the response; it may differ from that of the requested window
 */
function mapped<S, T extends S & TaskSubject, V>(
  read: BatchRead<S, V> | undefined,
  subjectOf: (task: Task, range: TimeRange) => T,
  arrive: (subject: T, value: V) => void,
  windowEnd?: (value: V) => number,
): TaskRead | undefined {
  if (read === undefined) return undefined;
  const subjectsOf = function* (tasks: Iterable<Task>, range: TimeRange): Generator<T> {
    for (const task of tasks) if (!task.gone) yield subjectOf(task, range);
  };
  return {
    countCalls: (tasks, range) => countCalls(read, subjectsOf(tasks, range), range),
    plan: (tasks, range) => {
      const { subjects, calls, read: run } = read.plan(subjectsOf(tasks, range), range);
      const takeOver = (subject: T, outcome: Outcome<V> | undefined): Outcome<number> => {
        if (outcome === undefined) return failed(new Error('the reader gave no outcome for its subject'));
        if ('error' in outcome) return outcome;
        // A task that was removed from the inventory during the call takes over nothing.
        if (subject.task.gone) return { value: range.to };
        try {
          arrive(subject, outcome.value);
          return { value: windowEnd?.(outcome.value) ?? range.to };
        } catch (error) {
          return failed(error);
        }
      };
      return {
        subjects: subjects.map(({ task }) => task),
        calls,
        read: async (call) => {
          try {
            const outcomes = await run(call);
            return subjects.map((subject, index) => takeOver(subject, outcomes[index]));
          } catch (error) {
            return subjects.map(() => failed(error));
          }
        },
      };
    },
  };
}

export function failed(error: unknown): Outcome<number> {
  if (error instanceof UpstreamError) return { error };
  return { error: new UpstreamError(error instanceof Error ? error.message : String(error), { reason: 'other' }) };
}

function ofTask(task: Task): TaskSubject {
  return { task };
}

function applicationOf(task: Task): TaskSubject & ApplicationSubject {
  return { task, applicationId: idOf(task) };
}

function idOf({ subject: { applicationId } }: Task): number {
  if (applicationId === undefined) throw new Error('a task that belongs to no application has no application id');
  return applicationId;
}
