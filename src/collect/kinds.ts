import type { BatchRead, CallOptions, Outcome, RollingSubject, TimeRange } from '../api/reader.ts';
import { inSlices } from '../eventLoop/turns.ts';
import { datastoreNames } from '../formulas/metricInputs.ts';
import type { Entity, Kind } from './entity.ts';
import type { Inventory } from './inventory.ts';
import { NOTHING_WANTED, takeOverMetrics, wanted, type ApplicationData } from './records.ts';
import { type AccountContext, onlyIds, ownersToAskFor } from './selection.ts';

/**
 * How the entities of one kind are read: many at a time, as many as one call carries. What is read of one is taken over into
 * the inventory by a function, which gives the end of the window that was answered.
 */
type EntityRead = BatchRead<Entity, () => number>;

/** Why an entity could not be read; an error that is none of upstream's is one of ours. */
export interface Failed {
  readonly error: unknown;
}

/** One kind of data. */
interface KindRow {
  /** How it is read over the interface of now. */
  readonly read: () => EntityRead;
  /** False while it has to wait for the first reading of something else. Without it there is nothing to wait for. */
  readonly isReady?: (entity: Entity) => boolean;
  /** True while its call may hang as another call does: it gets no more than some of the calls at once. */
  readonly isDoubtful?: (entity: Entity) => boolean;
  /** What may have become due because one has been read: the whole account, its application, or at most itself. */
  readonly unlocks: 'everything' | 'application' | 'itself';
}

/**
 * The table of what is read for an account. Its order, which decides ties, and the group of each kind stand in
 * `GROUP_OF`. A kind that is added has a name there, a row here, and entities that the inventory makes.
 */
export class Kinds {
  readonly #context: Readonly<AccountContext>;
  readonly #inventory: Inventory;
  readonly #rows: Readonly<Record<Kind, KindRow>>;

  constructor(context: Readonly<AccountContext>, inventory: Inventory) {
    this.#context = context;
    this.#inventory = inventory;
    const dataOf = ({ subject }: Entity): ApplicationData | undefined => inventory.dataOf(subject);
    const rolling: KindRow = {
      read: () =>
        mapped(context.reader.rolling, rollingOf, ({ subject }, values) => inventory.setRolling(subject, values)),
      unlocks: 'itself',
    };
    const metricData: KindRow = {
      read: () => this.#metricData(),
      // The names to ask for have been read, or tried and given up.
      isReady: (entity) => {
        const data = dataOf(entity);
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
          mapped(context.reader.datastores, applicationOf, (entity, names) => {
            const data = dataOf(entity);
            if (data !== undefined) Object.assign(data, { datastores: datastoreNames(names), wanted: {} });
          }),
        unlocks: 'application',
      },
      custom_names: { read: () => this.#customNames(), unlocks: 'application' },
      application_metrics: metricData,
      hosts: {
        read: () =>
          mapped(context.reader.hosts, applicationOf, ({ subject }, hosts) =>
            inventory.setHosts(inventory.recordOf(subject), hosts),
          ),
        unlocks: 'application',
      },
      host_rolling: rolling,
      host_metrics: {
        ...metricData,
        isDoubtful: (entity) => entity.held === undefined && dataOf(entity)?.metrics.held === undefined,
      },
      instances: {
        read: () =>
          mapped(context.reader.instances, applicationOf, ({ subject }, instances) =>
            inventory.setInstances(inventory.recordOf(subject), instances),
          ),
        unlocks: 'itself',
      },
      queries: {
        read: () =>
          mapped(
            context.reader.queries,
            ({ subject }) => inventory.queries.subjectOf(subject),
            ({ subject }, answer) => inventory.queries.arrive(subject, answer),
            ({ window }) => window.to,
          ),
        unlocks: 'itself',
      },
    };
  }

  /** How many of these entities of one kind, in their order, go into the next call. */
  nextCall(entities: readonly Entity[], window: TimeRange): number {
    const [first] = entities;
    return first === undefined ? 0 : this.#rows[first.kind].read().nextCall(entities, window).count;
  }

  /** How many calls it takes to read all of these entities of one kind. */
  callsFor(kind: Kind, entities: readonly Entity[], window: TimeRange): number {
    return this.#rows[kind].read().callsFor(entities, window);
  }

  isReady(entity: Entity): boolean {
    return this.#rows[entity.kind].isReady?.(entity) ?? true;
  }

  isDoubtful(entity: Entity): boolean {
    return this.#rows[entity.kind].isDoubtful?.(entity) ?? false;
  }

  /** What may have become due because an entity has ended; of one application only, where an id is given. */
  unlockedBy(entity: Entity, applicationId: number | undefined): Iterable<Entity> {
    switch (this.#rows[entity.kind].unlocks) {
      case 'everything':
        return this.#inventory.entities(applicationId);
      case 'application':
        return this.#inventory.entitiesOfApplication(entity.subject);
      case 'itself':
        return [entity];
    }
  }

  /**
   * Reads entities of one kind with one call and takes over what it brought, in portions between which other work goes on.
   * Gives for each, in their order, the end of the window that was answered, or why it failed. Never rejects.
   */
  async read(entities: readonly Entity[], window: TimeRange, call: CallOptions): Promise<readonly (number | Failed)[]> {
    const [first] = entities;
    if (first === undefined) return [];
    const results: (number | Failed)[] = [];
    try {
      const outcomes = await this.#rows[first.kind].read().read(entities, window, call);
      await inSlices(entities.entries(), ([index, entity]) => {
        results.push(takeOver(entity, outcomes[index], window));
      });
    } catch (error) {
      return entities.map(() => ({ error }));
    }
    return results;
  }

  #applications(): EntityRead {
    const { account, reader } = this.#context;
    const ids = onlyIds(account.applications);
    const calls = reader.listCalls(ids?.length ?? this.#inventory.listedApplications?.length ?? 0);
    return wholeList(calls, async (call) => {
      const list = await reader.listApplications(ids === undefined ? {} : { ids }, call);
      return () => this.#inventory.setApplications(list);
    });
  }

  #keyTransactions(): EntityRead {
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

  /** The names that the account's custom metrics match. */
  #customNames(): EntityRead {
    const { customMetrics, reader } = this.#context;
    const filters = [...new Set(customMetrics.map(({ template }) => template.filter))];
    return mapped(
      reader.customNames,
      (entity) => ({ ...applicationOf(entity), filters }),
      ({ subject }, names) => {
        const data = this.#inventory.dataOf(subject);
        const matching = names.filter((name) => customMetrics.some(({ template }) => template.pattern.test(name)));
        if (data !== undefined) Object.assign(data, { customNames: [...new Set(matching)], wanted: {} });
      },
    );
  }

  /** Everything wanted of applications, or of their hosts, over one window. */
  #metricData(): EntityRead {
    const { customMetrics, reader } = this.#context;
    return mapped(
      reader.metricData,
      (entity) => {
        const { kind, subject } = entity;
        const data = this.#inventory.dataOf(subject);
        const scope = kind === 'host_metrics' ? 'host' : 'application';
        const asked = data === undefined ? NOTHING_WANTED : wanted(customMetrics, data, scope);
        const { applicationId } = applicationOf(entity);
        return { applicationId, hostKey: subject.hostKey, names: asked.names, values: asked.values, asked };
      },
      // What is known of the names may change while a call is under way: an answer is read as it was asked for.
      ({ kind, subject }, { window, metrics, datastores }, { asked }) => {
        const record = this.#inventory.recordOf(subject);
        const host = this.#inventory.hostOf(subject);
        if (record === undefined || (kind === 'host_metrics' && host === undefined)) return;
        const values = { seconds: window.to - window.from, metrics };
        const input = { values, datastores: datastores === undefined ? asked.datastores : 'all' };
        takeOverMetrics(record, host, input, this.#context);
      },
      ({ window }) => window.to,
    );
  }
}

/** Takes over what was read of an entity, unless that has left the inventory meanwhile. */
function takeOver(entity: Entity, outcome: Outcome<() => number> | undefined, window: TimeRange): number | Failed {
  if (outcome === undefined || 'error' in outcome) return { error: outcome?.error };
  if (entity.gone) return window.to;
  try {
    return outcome.value();
  } catch (error) {
    return { error };
  }
}

/** A list of the account: one subject, which is read by a method of its own. */
function wholeList(calls: number, read: (call: CallOptions) => Promise<() => void>): EntityRead {
  return {
    nextCall: () => ({ count: 1, calls }),
    callsFor: () => calls,
    read: async (_entities, range, call) => {
      const arrive = await read(call);
      return [
        {
          value: () => {
            arrive();
            return range.to;
          },
        },
      ];
    },
  };
}

/**
 * A read of the upstream reader, by entity instead of by subject.
 *
 * @param windowEnd the end of the window that was answered, where that may be another one than was asked for
 */
function mapped<S, A, Own extends S>(
  read: BatchRead<S, A> | undefined,
  subjectOf: (entity: Entity) => Own,
  arrive: (entity: Entity, answer: A, subject: Own) => void,
  windowEnd?: (answer: A) => number,
): EntityRead {
  if (read === undefined) throw new Error('this interface has no such data');
  return {
    nextCall: (entities, range) => read.nextCall(entities.map(subjectOf), range),
    callsFor: (entities, range) => read.callsFor(entities.map(subjectOf), range),
    read: async (entities, range, call) => {
      const subjects = entities.map(subjectOf);
      const outcomes = await read.read(subjects, range, call);
      return entities.map((entity, index) => {
        const outcome = outcomes[index];
        const subject = subjects[index];
        if (outcome === undefined || subject === undefined)
          throw new Error('the upstream reader gave fewer outcomes than it was given subjects');
        if ('error' in outcome) return outcome;
        const value = (): number => {
          arrive(entity, outcome.value, subject);
          return windowEnd?.(outcome.value) ?? range.to;
        };
        return { value };
      });
    },
  };
}

function applicationOf({ subject: { applicationId } }: Entity): { readonly applicationId: number } {
  if (applicationId === undefined) throw new Error('an entity that belongs to no application has no application id');
  return { applicationId };
}

function rollingOf(entity: Entity): RollingSubject {
  const { hostKey, keyTransactionId } = entity.subject;
  if (keyTransactionId !== undefined) return { kind: 'key_transaction', keyTransactionId };
  const { applicationId } = applicationOf(entity);
  return hostKey === undefined ? { kind: 'application', applicationId } : { kind: 'host', applicationId, hostKey };
}
