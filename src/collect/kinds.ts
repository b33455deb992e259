import type {
  BatchRead,
  CallOptions,
  MetricDataAnswer,
  MetricDataSubject,
  Outcome,
  RollingSubject,
  TimeRange,
} from '../api/reader.ts';
import { UpstreamError } from '../api/types.ts';
import { TimeSlice } from '../eventLoop/turns.ts';
import { datastoreNames } from '../formulas/metricInputs.ts';
import { matchTemplate } from '../metrics/customMetrics.ts';
import { NOTHING_WANTED, takeOverMetrics, wanted } from './calculate.ts';
import type { Entity, Kind, Subject } from './entity.ts';
import type { Inventory } from './inventory.ts';
import type { ApplicationData, ApplicationRecord, Wanted } from './records.ts';
import type { AccountContext } from './scope.ts';
import { onlyIds, ownersToAskFor } from './selection.ts';

/** Takes an answer over into the inventory; gives the end of the window that was answered, where that may be another one. */
type TakeOver = () => number | undefined;

/** How the entities of one kind are read: many at a time, as many as one call carries. */
type EntityRead = BatchRead<Entity, TakeOver>;

/** What became of an entity that was read: undefined when its answer was taken over. */
export interface Failed {
  readonly error: unknown;
}

/** One kind of data. */
interface KindRow {
  /** How it is read over the interface of now, and how its answer is taken over into the inventory. */
  readonly read: () => EntityRead;
  /** False while it has to wait for the first reading of something else. Without it there is nothing to wait for. */
  readonly isReady?: (entity: Entity) => boolean;
  /** True while its call may hang as another call does: it gets no more than some of the calls at once. */
  readonly isDoubtful?: (entity: Entity) => boolean;
  /** What may have become due because one has been read: the whole account, its application, or at most itself. */
  readonly unlocks: 'everything' | 'application' | 'itself';
}

type WithData = ApplicationRecord & { readonly data: ApplicationData };

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
    const rolling: KindRow = { read: () => this.#rolling(), unlocks: 'itself' };
    const isReady = (entity: Entity): boolean => this.#namesAreTried(entity);
    this.#rows = {
      applications: { read: () => this.#applications(), unlocks: 'everything' },
      key_transactions: { read: () => this.#keyTransactions(), unlocks: 'everything' },
      application_rolling: rolling,
      key_transaction_rolling: rolling,
      metric_names: { read: () => this.#datastores(), unlocks: 'application' },
      custom_names: { read: () => this.#customNames(), unlocks: 'application' },
      application_metrics: { read: () => this.#metricData(), isReady, unlocks: 'itself' },
      hosts: { read: () => this.#hosts(), unlocks: 'application' },
      host_rolling: rolling,
      host_metrics: {
        read: () => this.#metricData(),
        isReady,
        isDoubtful: ({ held, subject }) =>
          held === undefined && inventory.dataOf(subject)?.data.metrics.held === undefined,
        unlocks: 'itself',
      },
      instances: { read: () => this.#instances(), unlocks: 'itself' },
      queries: { read: () => this.#queries(), unlocks: 'itself' },
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
   * Gives for each, in their order, the end of the window that was answered, or why it failed; an error that is none of
   * upstream's is one of ours. Never rejects.
   */
  async read(entities: readonly Entity[], window: TimeRange, call: CallOptions): Promise<readonly (number | Failed)[]> {
    const [first] = entities;
    if (first === undefined) return [];
    let outcomes: readonly Outcome<TakeOver>[];
    try {
      outcomes = await this.#rows[first.kind].read().read(entities, window, call);
    } catch (error) {
      return entities.map(() => ({ error }));
    }
    const results: (number | Failed)[] = [];
    const slice = new TimeSlice();
    for (const [index, entity] of entities.entries()) {
      const turn = slice.over();
      if (turn !== undefined) await turn;
      const outcome = outcomes[index];
      if (outcome === undefined || 'error' in outcome) results.push({ error: outcome?.error });
      else results.push(takeOver(entity, outcome.value) ?? window.to);
    }
    return results;
  }

  #applications(): EntityRead {
    const { account, reader } = this.#context;
    const ids = onlyIds(account.applications);
    const calls = reader.listCalls(ids?.length ?? this.#inventory.listedApplications?.length ?? 0);
    return wholeList(calls, async (call) => {
      const list = await reader.listApplications(ids === undefined ? {} : { ids }, call);
      const written = await this.#inventory.writeApplications(list);
      return () => this.#inventory.setApplications(list, written);
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

  #hosts(): EntityRead {
    return mapped(
      this.#context.reader.hosts,
      ({ subject }) => applicationOf(subject),
      (entity, hosts) => this.#withData(entity, (record) => this.#inventory.setHosts(record, hosts)),
    );
  }

  #instances(): EntityRead {
    return mapped(
      this.#context.reader.instances,
      ({ subject }) => applicationOf(subject),
      (entity, instances) => this.#withData(entity, (record) => this.#inventory.setInstances(record, instances)),
    );
  }

  /** The names of the application's datastore metrics, one per database type. */
  #datastores(): EntityRead {
    return mapped(
      this.#context.reader.datastores,
      ({ subject }) => applicationOf(subject),
      (entity, names) =>
        this.#withData(entity, ({ data }) => {
          data.datastores = datastoreNames(names);
          data.wanted = {};
        }),
    );
  }

  /** The names that the account's custom metrics match. */
  #customNames(): EntityRead {
    const { customMetrics, reader } = this.#context;
    const filters = [...new Set(customMetrics.map(({ filter }) => filter))];
    return mapped(
      reader.customNames,
      ({ subject }) => ({ ...applicationOf(subject), filters }),
      (entity, names) =>
        this.#withData(entity, ({ data }) => {
          const matching = names.filter((name) =>
            customMetrics.some(({ template }) => matchTemplate(template, name) !== undefined),
          );
          data.customNames = [...new Set(matching)];
          data.wanted = {};
        }),
    );
  }

  #rolling(): EntityRead {
    return mapped(this.#context.reader.rolling, rollingOf, (entity, values) => {
      this.#inventory.setRolling(entity, values);
      return undefined;
    });
  }

  /** Everything wanted of applications, or of their hosts, over one window. */
  #metricData(): EntityRead {
    const { customMetrics, reader } = this.#context;
    const subjectOf = ({ kind, subject }: Entity): MetricDataSubject & { readonly wanted: Wanted } => {
      const data = this.#inventory.dataOf(subject)?.data;
      const scope = kind === 'host_metrics' ? 'host' : 'application';
      const asked = data === undefined ? NOTHING_WANTED : wanted(customMetrics, data, scope);
      const { applicationId } = applicationOf(subject);
      return { applicationId, hostKey: subject.hostKey, names: asked.names, values: asked.values, wanted: asked };
    };
    // What is known of the names may change while a call is under way: an answer is read as it was asked for.
    const arrive = (entity: Entity, answer: MetricDataAnswer, was: { readonly wanted: Wanted }): number => {
      const { window, metrics } = answer;
      const datastores = answer.datastores === undefined ? was.wanted.datastores : ('all' as const);
      const input = { values: { seconds: window.to - window.from, metrics }, datastores };
      this.#withData(entity, (record) => {
        const host = this.#inventory.hostOf(entity.subject);
        if (entity.kind === 'application_metrics') takeOverMetrics(record, undefined, input, this.#context);
        else if (host !== undefined) takeOverMetrics(record, host, input, this.#context);
      });
      return window.to;
    };
    return mapped(reader.metricData, subjectOf, arrive);
  }

  #queries(): EntityRead {
    return mapped(
      this.#context.reader.queries,
      ({ subject }) => this.#inventory.queries.subjectOf(subject),
      ({ subject }, answer) => {
        this.#inventory.queries.arrive(subject, answer);
        return answer.window.to;
      },
    );
  }

  /** False for metric data that has to wait for the first reading of the names to ask for. */
  #namesAreTried({ subject }: Entity): boolean {
    const data = this.#inventory.dataOf(subject)?.data;
    return data !== undefined && data.datastoreList?.tried !== false && data.customNameList?.tried !== false;
  }

  #withData({ subject }: Entity, use: (record: WithData) => void): undefined {
    const record = this.#inventory.dataOf(subject);
    if (record !== undefined) use(record);
    return undefined;
  }
}

/** Takes the value over, unless the entity has left the inventory meanwhile. */
function takeOver(entity: Entity, value: TakeOver): number | Failed | undefined {
  if (entity.gone) return undefined;
  try {
    return value();
  } catch (error) {
    return { error };
  }
}

/** A list of the account: one subject, which is read by a method of its own. */
function wholeList(calls: number, read: (call: CallOptions) => Promise<() => void>): EntityRead {
  return {
    nextCall: () => ({ count: 1, calls }),
    callsFor: () => calls,
    read: async (_entities, _range, call) => {
      try {
        const set = await read(call);
        return [
          {
            value: () => {
              set();
              return undefined;
            },
          },
        ];
      } catch (error) {
        if (error instanceof UpstreamError) return [{ error }];
        throw error;
      }
    },
  };
}

/** A read of the upstream reader, by entity instead of by subject. */
function mapped<S, A, Own extends S>(
  read: BatchRead<S, A> | undefined,
  subjectOf: (entity: Entity) => Own,
  arrive: (entity: Entity, answer: A, subject: Own) => number | undefined,
): EntityRead {
  if (read === undefined) throw new Error('this interface has no such data');
  return {
    nextCall: (entities, range) => read.nextCall(entities.map(subjectOf), range),
    callsFor: (entities, range) => read.callsFor(entities.map(subjectOf), range),
    read: async (entities, range, call) => {
      const subjects = entities.map(subjectOf);
      const outcomes = await read.read(subjects, range, call);
      return entities.map((entity, index): Outcome<TakeOver> => {
        const outcome = outcomes[index];
        const subject = subjects[index];
        if (outcome === undefined || subject === undefined)
          throw new Error('the upstream reader gave fewer outcomes than it was given subjects');
        if ('error' in outcome) return outcome;
        return { value: () => arrive(entity, outcome.value, subject) };
      });
    },
  };
}

function applicationOf({ applicationId }: Subject): { readonly applicationId: number } {
  if (applicationId === undefined) throw new Error('an entity that belongs to no application has no application id');
  return { applicationId };
}

function rollingOf({ subject }: Entity): RollingSubject {
  const { hostKey, keyTransactionId } = subject;
  if (keyTransactionId !== undefined) return { kind: 'key_transaction', keyTransactionId };
  const { applicationId } = applicationOf(subject);
  return hostKey === undefined ? { kind: 'application', applicationId } : { kind: 'host', applicationId, hostKey };
}
