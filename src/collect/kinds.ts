import {
  countCalls,
  oneByOne,
  type Api,
  type BatchRead,
  type CallOptions,
  type Outcome,
  type PlannedCall,
  type RollingSubject,
  type TimeRange,
} from '../api/upstreamReader.ts';
import { inSlices } from '../eventLoop/turns.ts';
import { datastoreNames } from '../formulas/metricInputs.ts';
import type { Task, Kind, Subject } from './task.ts';
import { book, counterSubject, newCounterRecord, overLongestRange, steadyRange } from './counterRecords.ts';
import type { Inventory } from './inventory.ts';
import { NOTHING_SELECTED, selectedNames, takeOverMetrics, type ApplicationData } from './records.ts';
import { type AccountContext, onlyIds, ownersToAskFor } from './selection.ts';

/**
 * How the tasks of one kind are read: many at a time, as many as one call carries. What is read of one is taken over into
 * the inventory by a function, which gives the end of the window that was answered.
 */
interface TaskRead extends BatchRead<Task, () => number> {
  plan(tasks: Iterable<Task>, range: TimeRange): TaskCall;
}

interface TaskCall extends PlannedCall<() => number> {
  readonly tasks: readonly Task[];
}

/** A call for tasks of one kind, as it was planned. */
export interface PlannedTasks {
  readonly tasks: readonly Task[];
  /** Reads them, takes over what that brings, and gives what became of each. Never rejects. */
  readonly read: (call: CallOptions) => Promise<readonly (number | Failed)[]>;
}

/** Why a task could not be read; an error that is none of upstream's is one of ours. */
export interface Failed {
  readonly error: unknown;
}

/** One kind of data. */
interface KindRow {
  /** How it is read over the interface of now. */
  readonly read: () => TaskRead;
  /** How many calls these tasks take in a steady state, where that is not what they take now. */
  readonly callsFor?: (tasks: readonly Task[], window: TimeRange) => number;
  /** False while it has to wait for the first reading of something else. Without it there is nothing to wait for. */
  readonly isReady?: (task: Task) => boolean;
  /** True while its call may hang as another call does: it gets no more than some of the calls at once. */
  readonly isSuspect?: (task: Task) => boolean;
  /** What may have become due because one has been read: the whole account, its application, all entities, or at most itself. */
  readonly unlocks: 'everything' | 'application' | 'entities' | 'itself';
  /** The interface that it is read through, where that is not always the account's. */
  readonly api?: Api;
}

/**
 * The table of what is read for an account. Its order, which decides ties, and the group of each kind stand in
 * `GROUP_OF`. A kind that is added has a name there, a row here, and tasks that the inventory makes.
 */
export class Kinds {
  #context: AccountContext;
  readonly #inventory: Inventory;
  readonly #rows: Readonly<Record<Kind, KindRow>>;

  constructor(context: AccountContext, inventory: Inventory) {
    this.#context = context;
    this.#inventory = inventory;
    const dataOf = ({ subject }: Task): ApplicationData | undefined => inventory.dataOf(subject);
    const rolling: KindRow = {
      read: () =>
        mapped(this.#context.reader.rolling, rollingOf, ({ subject }, values) => inventory.setRolling(subject, values)),
      unlocks: 'itself',
    };
    const metricData: KindRow = {
      read: () => this.#metricData(),
      // The names to ask for have been read, or tried and given up.
      isReady: (task) => {
        const data = dataOf(task);
        return data !== undefined && data.datastoreList?.tried !== false && data.customNameList?.tried !== false;
      },
      unlocks: 'itself',
    };
    this.#rows = {
      applications: { read: () => this.#applications(), unlocks: 'everything' },
      key_transactions: { read: () => this.#keyTransactions(), unlocks: 'everything' },
      application_rolling: rolling,
      key_transaction_rolling: rolling,
      metric_names: {
        read: () =>
          mapped(this.#context.reader.datastores, applicationOf, (task, names) => {
            const data = dataOf(task);
            if (data !== undefined) Object.assign(data, { datastores: datastoreNames(names), selected: {} });
          }),
        unlocks: 'application',
      },
      custom_names: { read: () => this.#customNames(), unlocks: 'application' },
      application_metrics: metricData,
      counters: {
        read: () => this.#counters(),
        callsFor: (tasks, { to }) => {
          const fresh = newCounterRecord();
          const subjects = tasks.map((task) => counterSubject(applicationOf(task).applicationId, fresh, to));
          const { reader, collection } = this.#context;
          return countCalls(reader.counters, subjects, steadyRange(collection.intervals.counters, to));
        },
        unlocks: 'itself',
      },
      hosts: {
        read: () =>
          mapped(this.#context.reader.hosts, applicationOf, ({ subject }, hosts) =>
            inventory.setHosts(inventory.recordOf(subject), hosts),
          ),
        unlocks: 'application',
      },
      host_rolling: rolling,
      host_metrics: {
        ...metricData,
        isSuspect: (task) => task.lastRead === undefined && dataOf(task)?.metrics.lastRead === undefined,
      },
      instances: {
        read: () =>
          mapped(this.#context.reader.instances, applicationOf, ({ subject }, instances) =>
            inventory.setInstances(inventory.recordOf(subject), instances),
          ),
        unlocks: 'itself',
      },
      entities: { read: () => this.#entityLists(), unlocks: 'entities', api: 'nerdgraph' },
      golden_metrics: {
        read: () =>
          mapped(
            this.#context.reader.entities?.goldenMetrics,
            ({ subject }) => inventory.entities.subjectOf(subject),
            (task, result) => inventory.entities.arrive(task, result),
            ({ window }) => window.to,
          ),
        unlocks: 'itself',
        api: 'nerdgraph',
      },
      queries: {
        read: () =>
          mapped(
            this.#context.reader.queries,
            ({ subject }) => inventory.queries.subjectOf(subject),
            ({ subject }, result) => inventory.queries.arrive(subject, result),
            ({ window }) => window.to,
          ),
        unlocks: 'itself',
        api: 'nerdgraph',
      },
    };
  }

  /** What is read from now on is read by this configuration. */
  reconfigure(context: AccountContext): void {
    this.#context = context;
  }

  /** Plans the next call for tasks of one kind, of which there is at least one; they are taken only as far as they fit. */
  plan(kind: Kind, tasks: Iterable<Task>, window: TimeRange): PlannedTasks {
    const planned = this.#rows[kind].read().plan(tasks, window);
    return { tasks: planned.tasks, read: (call) => takeOverAll(planned, window, call) };
  }

  /** How many calls it takes to read all of these tasks of one kind. */
  callsFor(kind: Kind, tasks: readonly Task[], window: TimeRange): number {
    const { read, callsFor } = this.#rows[kind];
    return callsFor?.(tasks, window) ?? countCalls(read(), tasks, window);
  }

  isReady(task: Task): boolean {
    return this.#rows[task.kind].isReady?.(task) ?? true;
  }

  isSuspect(task: Task): boolean {
    return this.#rows[task.kind].isSuspect?.(task) ?? false;
  }

  /** Whether it is read through the account's own interface: the other one may refuse the same key. */
  usesOwnInterface({ kind }: Task): boolean {
    const { api } = this.#rows[kind];
    return api === undefined || api === this.#context.reader.api;
  }

  /** What may have become due because a task has ended; of one application only, where an id is given. */
  unlockedBy(task: Task, applicationId: number | undefined): Iterable<Task> {
    switch (this.#rows[task.kind].unlocks) {
      case 'everything':
        return this.#inventory.tasks(applicationId);
      case 'application':
        return this.#inventory.tasksOfApplication(task.subject);
      case 'entities':
        return this.#inventory.entities.tasks();
      case 'itself':
        return [task];
    }
  }

  #applications(): TaskRead {
    const { account, reader } = this.#context;
    const ids = onlyIds(account.applications);
    const calls = reader.listCalls(ids?.length ?? this.#inventory.listedApplications?.length ?? 0);
    return wholeList(calls, async (call) => {
      const list = await reader.listApplications(ids === undefined ? {} : { ids }, call);
      return () => this.#inventory.setApplications(list, ids ?? []);
    });
  }

  #keyTransactions(): TaskRead {
    const { account, reader } = this.#context;
    const filter = account.key_transactions;
    const ids = typeof filter === 'boolean' ? undefined : onlyIds(filter);
    const { listedKeyTransactions = [] } = this.#inventory;
    const known = ownersToAskFor(account, listedKeyTransactions).length;
    const calls =
      reader.listCalls(ids?.length ?? listedKeyTransactions.length) + (known === 0 ? 0 : reader.listCalls(known));
    return wholeList(calls, async (call) => {
      const list = await reader.listKeyTransactions(ids === undefined ? {} : { ids }, call);
      const owners = ownersToAskFor(account, list);
      const found = owners.length === 0 ? [] : await reader.listApplications({ ids: owners }, call);
      return () => this.#inventory.setKeyTransactions(list, found);
    });
  }

  /** A list for each type of entities. */
  #entityLists(): TaskRead {
    const reader = this.#context.reader.entities;
    if (reader === undefined) throw new Error('this account has no entities');
    const read = oneByOne(
      ({ entityType = '' }: Subject, _range, call) => reader.list(entityType, call),
      (subject) =>
        reader.listCalls(subject.entityType ?? '', this.#inventory.entities.typeOf(subject)?.listed?.length ?? 0),
    );
    return mapped(
      read,
      ({ subject }) => subject,
      ({ subject }, listed) => this.#inventory.setEntities(subject, listed),
    );
  }

  /** The names that the account's custom metrics match. */
  #customNames(): TaskRead {
    const { customMetrics, reader } = this.#context;
    const filters = [...new Set(customMetrics.map(({ template }) => template.filter))];
    return mapped(
      reader.customNames,
      (task) => ({ ...applicationOf(task), filters }),
      ({ subject }, names) => {
        const data = this.#inventory.dataOf(subject);
        const matching = names.filter((name) => customMetrics.some(({ template }) => template.pattern.test(name)));
        if (data !== undefined) Object.assign(data, { customNames: [...new Set(matching)], selected: {} });
      },
    );
  }

  /** The minutes that count, since they were last read. */
  #counters(): TaskRead {
    const { reader, writer } = this.#context;
    const inventory = this.#inventory;
    const endpoint = reader.api === 'rest' ? '/applications/{id}/metrics/data.json' : 'graphql:counters';
    return mapped(
      overLongestRange(reader.counters),
      (task, { to }) => {
        const record = inventory.recordOf(task.subject)?.counters ?? newCounterRecord();
        return counterSubject(applicationOf(task).applicationId, record, to);
      },
      ({ subject }, series, asked) => {
        const record = inventory.recordOf(subject)?.counters;
        if (record !== undefined) book(record, series, asked, { totals: inventory.counterTotals, writer, endpoint });
      },
      ({ window }) => window.to,
    );
  }

  /** Everything wanted of applications, or of their hosts, over one window. */
  #metricData(): TaskRead {
    const { customMetrics, reader } = this.#context;
    return mapped(
      reader.metricData,
      (task) => {
        const { kind, subject } = task;
        const data = this.#inventory.dataOf(subject);
        const scope = kind === 'host_metrics' ? 'host' : 'application';
        const selected = data === undefined ? NOTHING_SELECTED : selectedNames(customMetrics, data, scope);
        const { applicationId } = applicationOf(task);
        return { applicationId, hostKey: subject.hostKey, names: selected.names, values: selected.values, selected };
      },
      // What is known of the names may change while a call is under way: an answer is read as it was asked for.
      ({ kind, subject }, { window, metrics, datastores }, { selected }) => {
        const record = this.#inventory.recordOf(subject);
        const host = this.#inventory.hostOf(subject);
        if (record === undefined || (kind === 'host_metrics' && host === undefined)) return;
        const values = { seconds: window.to - window.from, metrics };
        const input = { values, datastores: datastores === undefined ? selected.datastores : 'all' };
        takeOverMetrics(record, host, input, this.#context);
      },
      ({ window }) => window.to,
    );
  }
}

/**
 * Reads what was planned and takes over what it brought, in portions between which other work goes on. Gives for each task, in
 * their order, the end of the window that was answered, or why it failed. Never rejects.
 */
async function takeOverAll(
  { tasks, read }: TaskCall,
  window: TimeRange,
  call: CallOptions,
): Promise<readonly (number | Failed)[]> {
  const results: (number | Failed)[] = [];
  try {
    const outcomes = await read(call);
    await inSlices(tasks.entries(), ([index, task]) => {
      results.push(takeOver(task, outcomes[index], window));
    });
  } catch (error) {
    return tasks.map(() => ({ error }));
  }
  return results;
}

/** Takes over what was read of a task, unless that has left the inventory meanwhile. */
function takeOver(task: Task, outcome: Outcome<() => number> | undefined, window: TimeRange): number | Failed {
  if (outcome === undefined || 'error' in outcome) return { error: outcome?.error };
  if (task.gone) return window.to;
  try {
    return outcome.value();
  } catch (error) {
    return { error };
  }
}

/** A list of the account: one subject, which is read by a method of its own. */
function wholeList(calls: number, read: (call: CallOptions) => Promise<() => void>): TaskRead {
  return {
    plan: ([list], range) => ({
      tasks: list === undefined ? [] : [list],
      count: 1,
      calls,
      read: async (call) => {
        const arrive = await read(call);
        const value = (): number => {
          arrive();
          return range.to;
        };
        return [{ value }];
      },
    }),
  };
}

/**
 * A read of the upstream reader, by task instead of by subject.
 *
 * @param windowEnd the end of the window that was answered, where that may be another one than was asked for
 */
function mapped<S, R, Own extends S>(
  read: BatchRead<S, R> | undefined,
  subjectOf: (task: Task, range: TimeRange) => Own,
  arrive: (task: Task, result: R, subject: Own) => void,
  windowEnd?: (result: R) => number,
): TaskRead {
  if (read === undefined) throw new Error('this interface has no such data');
  return {
    plan: (tasks, range) => {
      const taken: { readonly task: Task; readonly subject: Own }[] = [];
      const subjects = function* (): Generator<Own> {
        for (const task of tasks) {
          const subject = subjectOf(task, range);
          taken.push({ task, subject });
          yield subject;
        }
      };
      const { count, calls, read: readPlanned } = read.plan(subjects(), range);
      const planned = taken.slice(0, count);
      return {
        tasks: planned.map(({ task }) => task),
        count,
        calls,
        read: async (call) => {
          const outcomes = await readPlanned(call);
          return planned.map(({ task, subject }, index) => {
            const outcome = outcomes[index];
            if (outcome === undefined)
              throw new Error('the upstream reader gave fewer outcomes than it was given subjects');
            if ('error' in outcome) return outcome;
            const value = (): number => {
              arrive(task, outcome.value, subject);
              return windowEnd?.(outcome.value) ?? range.to;
            };
            return { value };
          });
        },
      };
    },
  };
}

function applicationOf({ subject: { applicationId } }: Task): { readonly applicationId: number } {
  if (applicationId === undefined) throw new Error('an entity that belongs to no application has no application id');
  return { applicationId };
}

function rollingOf(task: Task): RollingSubject {
  const { hostKey, keyTransactionId } = task.subject;
  if (keyTransactionId !== undefined) return { kind: 'key_transaction', keyTransactionId };
  const { applicationId } = applicationOf(task);
  return hostKey === undefined ? { kind: 'application', applicationId } : { kind: 'host', applicationId, hostKey };
}
