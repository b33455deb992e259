import {
  type Application,
  type Host,
  type Instance,
  type KeyTransaction,
  type RollingValues,
  UpstreamError,
} from '../api/types.ts';
import { type CustomMatches, matchTemplate } from '../metrics/customMetrics.ts';
import { NO_SAMPLES } from '../metrics/writeSamples.ts';
import type { AccountContext } from './scope.ts';
import type { Entity, Kind } from './entity.ts';
import type { Inventory } from './inventory.ts';
import {
  APPLICATION_LIST,
  HOST_LIST,
  KEY_TRANSACTION_LIST,
  type ApplicationData,
  type ApplicationRecord,
  type AskedDatastores,
} from './records.ts';
import { calculate, decideDatabase, recalculate, customOf, wantedNames, wantedValues } from './calculate.ts';
import type {
  BatchRead,
  CallOptions,
  Outcome,
  TimeRange,
  MetricDataAnswer,
  MetricDataSubject,
  RollingSubject,
} from '../api/reader.ts';
import { datastoreNames } from '../formulas/metricInputs.ts';
import { onlyIds, ownersToAskFor } from './selection.ts';
import { nextTurn } from '../eventLoop/turns.ts';

type WithData = ApplicationRecord & { readonly data: ApplicationData };

/** A metric data answer, and what it was asked for. */
interface MetricDataArrival {
  readonly answer: MetricDataAnswer;
  readonly datastores: AskedDatastores;
}

/** Takes what upstream answered over into the inventory, and calculates what is served of it. */
export class Arrivals {
  readonly #context: Readonly<AccountContext>;
  readonly #inventory: Inventory;

  constructor(context: Readonly<AccountContext>, inventory: Inventory) {
    this.#context = context;
    this.#inventory = inventory;
  }

  prepareApplications(list: readonly Application[]): Promise<void> {
    return this.#inventory.prepareApplications(list);
  }

  applications(list: readonly Application[]): void {
    this.#inventory.setApplications(list);
    this.decideDatabases();
  }

  keyTransactions(list: readonly KeyTransaction[], otherOwners: readonly Application[]): void {
    this.#inventory.setKeyTransactions(list, otherOwners);
  }

  hosts(record: WithData, hosts: readonly Host[]): void {
    this.#inventory.setHosts(record, hosts);
  }

  instances(record: WithData, instances: readonly Instance[]): void {
    this.#inventory.setInstances(record, instances);
  }

  metricData(record: WithData, entity: Entity, { answer, datastores }: MetricDataArrival): void {
    const { customMetrics } = this.#context;
    const { window, metrics } = answer;
    const input = { values: { seconds: window.to - window.from, metrics }, datastores };
    if (entity.kind === 'application_metrics') {
      record.data.reading = { ...input, samples: NO_SAMPLES, customSamples: NO_SAMPLES, cut: new Map() };
      if (decideDatabase(record, record.data)) recalculate(record.data, customMetrics);
      else record.data.reading = calculate(input, record.data, undefined, customMetrics);
      return;
    }
    const host = this.#inventory.hostOf(entity.subject);
    if (host === undefined) return;
    host.reading = calculate(input, record.data, host.place, customMetrics);
  }

  rolling({ kind, subject }: Entity, values: RollingValues): void {
    if (kind === 'key_transaction_rolling') {
      const record = this.#inventory.keyTransactionOf(subject);
      if (record === undefined) return;
      KEY_TRANSACTION_LIST.setRolling(record.keyTransaction, record.rolling, values);
      return;
    }
    if (kind === 'host_rolling') {
      const record = this.#inventory.hostOf(subject);
      if (record === undefined) return;
      HOST_LIST.setRolling(record.host, record.rolling, values);
      return;
    }
    const record = this.#inventory.dataOf(subject);
    if (record === undefined) return;
    APPLICATION_LIST.setRolling(record.application, record.rolling, values);
  }

  /** The configuration, or what a list says of an application, may decide the database kind otherwise than before. */
  decideDatabases(): void {
    for (const record of this.#inventory.applications.values()) {
      const { data } = record;
      if (data !== undefined && decideDatabase(record, data)) recalculate(data, this.#context.customMetrics);
    }
  }

  /** Calculates everything anew: the custom metrics are others. */
  recalculateAll(): void {
    for (const { data } of this.#inventory.applications.values()) {
      if (data !== undefined) recalculate(data, this.#context.customMetrics);
    }
  }
}

/** Takes an answer over into the inventory. */
type TakeOver = () => void;

/** How the entities of one kind are read: many at a time, as many as one call carries. */
export type EntityRead = BatchRead<Entity, TakeOver>;

/** A list of the account: one subject, which is read by a method of its own. */
function wholeList(calls: number, read: (call: CallOptions) => Promise<TakeOver>): EntityRead {
  return {
    nextCall: () => ({ count: 1, calls }),
    callsFor: (entities) => calls * entities.length,
    read: async (entities, _range, call) => {
      let outcome: Outcome<TakeOver>;
      try {
        outcome = { value: await read(call) };
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        outcome = { error };
      }
      return entities.map(() => outcome);
    },
  };
}

/** A read of the upstream reader, by entity instead of by subject. */
function mapped<S, A, Own extends S>(
  read: BatchRead<S, A> | undefined,
  subjectOf: (entity: Entity) => Own,
  arrive: (entity: Entity, answer: A, subject: Own) => void,
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
          throw new Error('upstream reader gave fewer outcomes than it was given subjects');
        if ('error' in outcome) return outcome;
        return { value: () => arrive(entity, outcome.value, subject) };
      });
    },
  };
}

/** What one metric data call was asked for, for one entity. */
interface Asked {
  readonly names: readonly string[];
  readonly datastores: AskedDatastores;
  readonly custom: CustomMatches;
}

/** How each kind of data is read from upstream and taken over into the inventory of an account. */
export class Reads {
  readonly #context: Readonly<AccountContext>;
  readonly #inventory: Inventory;
  readonly #arrivals: Arrivals;
  readonly #byKind: Readonly<Record<Kind, () => EntityRead>>;

  constructor(context: Readonly<AccountContext>, inventory: Inventory, arrivals: Arrivals) {
    this.#context = context;
    this.#inventory = inventory;
    this.#arrivals = arrivals;
    this.#byKind = {
      applications: () => this.#applications(),
      key_transactions: () => this.#keyTransactions(),
      application_rolling: () => this.#rolling(),
      key_transaction_rolling: () => this.#rolling(),
      host_rolling: () => this.#rolling(),
      metric_names: () => this.#datastores(),
      custom_names: () => this.#customNames(),
      application_metrics: () => this.#metricData(),
      host_metrics: () => this.#metricData(),
      hosts: () => this.#hosts(),
      instances: () => this.#instances(),
    };
  }

  of(kind: Kind): EntityRead {
    return this.#byKind[kind]();
  }

  #applications(): EntityRead {
    const { account, reader } = this.#context;
    const ids = onlyIds(account.applications);
    const calls = reader.listCalls(ids?.length ?? this.#inventory.listedApplications?.length ?? 0);
    return wholeList(calls, async (call) => {
      const list = await reader.listApplications(ids === undefined ? {} : { ids }, call);
      await this.#arrivals.prepareApplications(list);
      return () => this.#arrivals.applications(list);
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
      return () => this.#arrivals.keyTransactions(list, found);
    });
  }

  #hosts(): EntityRead {
    return mapped(this.#context.reader.hosts, applicationOf, (entity, hosts) =>
      this.#withData(entity, (record) => this.#arrivals.hosts(record, hosts)),
    );
  }

  #instances(): EntityRead {
    return mapped(this.#context.reader.instances, applicationOf, (entity, instances) =>
      this.#withData(entity, (record) => this.#arrivals.instances(record, instances)),
    );
  }

  /** The names of the application's datastore metrics, one per database type. */
  #datastores(): EntityRead {
    return mapped(this.#context.reader.datastores, applicationOf, (entity, names) =>
      this.#withData(entity, ({ data }) => {
        data.datastores = datastoreNames(names);
      }),
    );
  }

  /** The names that the account's custom metrics match. */
  #customNames(): EntityRead {
    const { customMetrics, reader } = this.#context;
    const filters = [...new Set(customMetrics.map(({ filter }) => filter))];
    return mapped(
      reader.customNames,
      (entity) => ({ ...applicationOf(entity), filters }),
      (entity, names) =>
        this.#withData(entity, ({ data }) => {
          const matching = names.filter((name) =>
            customMetrics.some(({ template }) => matchTemplate(template, name) !== undefined),
          );
          data.customNames = [...new Set(matching)];
        }),
    );
  }

  #rolling(): EntityRead {
    return mapped(this.#context.reader.rolling, rollingOf, (entity, values) => this.#arrivals.rolling(entity, values));
  }

  /** Everything wanted of applications, or of their hosts, over one window. */
  #metricData(): EntityRead {
    const { reader } = this.#context;
    const subjectOf = (entity: Entity): MetricDataSubject & { readonly asked: Asked } => {
      const asked = this.#askFor(entity);
      const { applicationId } = applicationOf(entity);
      const { hostKey } = entity.subject;
      return { applicationId, hostKey, names: asked.names, values: wantedValues(asked.custom), asked };
    };
    // What is known of the names may change while a call is under way: an answer is read as it was asked for.
    return mapped(reader.metricData, subjectOf, (entity, answer: MetricDataAnswer, { asked: was }) =>
      this.#withData(entity, (record) => {
        const datastores = answer.datastores === undefined ? was.datastores : 'all';
        this.#arrivals.metricData(record, entity, { answer, datastores });
      }),
    );
  }

  #askFor(entity: Entity): Asked {
    const record = this.#inventory.dataOf(entity.subject);
    if (record === undefined) return { names: [], datastores: undefined, custom: { matches: [], cut: new Map() } };
    const { data } = record;
    const scope = entity.kind === 'host_metrics' ? 'host' : 'application';
    const { customMetrics } = this.#context;
    return {
      names: wantedNames(customMetrics, data, scope),
      datastores: data.datastores,
      custom: customOf(customMetrics, data, scope),
    };
  }

  #withData(entity: Entity, use: (record: ApplicationRecord & { readonly data: ApplicationData }) => void): void {
    const record = this.#inventory.dataOf(entity.subject);
    if (record !== undefined) use(record);
  }
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

/** The values of so many entities are taken over before other work gets its turn. */
const VALUES_PER_TURN = 40;

/** Why an entity was not read; an error that is none of upstream's is one of ours. */
export interface Failed {
  readonly error: unknown;
}

type Result = Outcome<TakeOver> | Failed;

/** Reads entities with one call; what each brought, in their order. Never rejects. */
export async function outcomesOf(
  read: EntityRead,
  entities: readonly Entity[],
  window: TimeRange,
  call: CallOptions,
): Promise<readonly Result[]> {
  try {
    return await read.read(entities, window, call);
  } catch (error) {
    return entities.map(() => ({ error }));
  }
}

/**
 * Takes over what a call brought, in portions between which other work goes on. Gives what failed, by entity.
 *
 * @param stopped true once the rest is no longer wanted
 */
export async function takeOver(
  entities: readonly Entity[],
  results: readonly Result[],
  stopped: () => boolean,
): Promise<readonly (Failed | undefined)[]> {
  const failures: (Failed | undefined)[] = [];
  for (const [index, entity] of entities.entries()) {
    if (index > 0 && index % VALUES_PER_TURN === 0) await nextTurn();
    if (stopped()) break;
    failures.push(takeOverOne(entity, results[index]));
  }
  return failures;
}

/** Takes the value over, unless the entity has left the inventory meanwhile. */
function takeOverOne(entity: Entity, result: Result | undefined): Failed | undefined {
  if (result === undefined || 'error' in result) return { error: result?.error };
  if (entity.gone) return undefined;
  try {
    result.value();
    return undefined;
  } catch (error) {
    return { error };
  }
}
