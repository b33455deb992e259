import type { Application, Host, Instance, KeyTransaction } from '../../api/types.ts';
import { ApplicationRecords } from './applicationRecords.ts';
import type { AccountContext } from './context.ts';
import { Entities } from './entities.ts';
import type { Entity, Subject } from './entity.ts';
import { HostRecords } from './hostRecords.ts';
import { KeyTransactionRecords } from './keyTransactionRecords.ts';
import {
  entitiesOf,
  type ApplicationData,
  type ApplicationRecord,
  type HostRecord,
  type KeyTransactionRecord,
} from './records.ts';
import { selectKeyTransactions, selects } from './selection.ts';

const NO_KEY_TRANSACTIONS: ReadonlyMap<number, KeyTransactionRecord> = new Map();

/**
 * What an account serves: its applications with their hosts, instances and key transactions, each with the entities that
 * are read for it. The lists decide: what is gone from a list that was read whole is gone from here.
 */
export class Inventory {
  /** The application list and the key transaction list. */
  readonly applicationList: Entity;
  readonly keyTransactionList: Entity;
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;
  readonly #hostRecords: HostRecords;
  readonly #applicationRecords: ApplicationRecords;
  readonly #keyTransactionRecords: KeyTransactionRecords;
  #applications = new Map<number, ApplicationRecord>();
  #keyTransactions: ReadonlyMap<number, KeyTransactionRecord> = new Map();
  /** The lists as upstream gave them: a reload or a rename selects and labels from them anew. */
  #listedApplications: readonly Application[] | undefined;
  #listedKeyTransactions: readonly KeyTransaction[] | undefined;
  /** Applications that own key transactions and were not asked for with the application list. */
  #otherOwners: readonly Application[] = [];

  /**
   * @param now the monotonic clock, milliseconds
   * @param retired told of every entity that leaves
   */
  constructor(context: Readonly<AccountContext>, now: () => number, retired: (entity: Entity) => void) {
    this.#context = context;
    this.#entities = new Entities(now, retired);
    this.#hostRecords = new HostRecords(context, this.#entities);
    this.#applicationRecords = new ApplicationRecords(context, this.#entities, this.#hostRecords);
    this.#keyTransactionRecords = new KeyTransactionRecords(context, this.#entities);
    this.applicationList = this.#entities.make('applications', {});
    this.keyTransactionList = this.#entities.make('key_transactions', {});
  }

  /** By id, in the order of the list. */
  get applications(): ReadonlyMap<number, ApplicationRecord> {
    return this.#applications;
  }

  /**
   * By id, in the order of the list. None before the application list has been tried: the names of their applications are
   * among their labels, and the key may see them.
   */
  get keyTransactions(): ReadonlyMap<number, KeyTransactionRecord> {
    return this.applicationList.tried ? this.#keyTransactions : NO_KEY_TRANSACTIONS;
  }

  /** The whole list as upstream gave it; undefined until it has been read once. */
  get listedApplications(): readonly Application[] | undefined {
    return this.#listedApplications;
  }

  get listedKeyTransactions(): readonly KeyTransaction[] | undefined {
    return this.#listedKeyTransactions;
  }

  /** Grows whenever an entity comes or goes. */
  get version(): number {
    return this.#entities.version;
  }

  /** Everything that is read, or what matters to one application: lists first. */
  entities(applicationId?: number): readonly Entity[] {
    const found = [this.applicationList];
    if (this.#context.account.key_transactions !== false) found.push(this.keyTransactionList);
    for (const record of this.#keyTransactions.values()) {
      if (record.rolling !== undefined && concerns(record, applicationId)) found.push(record.rolling.entity);
    }
    if (applicationId !== undefined) return [...found, ...this.entitiesOfApplication({ applicationId })];
    for (const record of this.#applications.values()) entitiesOf(record, found);
    return found;
  }

  /** Everything that is read of the application that a subject belongs to. */
  entitiesOfApplication({ applicationId }: Subject): readonly Entity[] {
    const record = applicationId === undefined ? undefined : this.#applications.get(applicationId);
    return record === undefined ? [] : entitiesOf(record);
  }

  /** The record of an application whose metric data is read; undefined when there is none such any more. */
  dataOf({ applicationId }: Subject): (ApplicationRecord & { data: ApplicationData }) | undefined {
    const record = applicationId === undefined ? undefined : this.#applications.get(applicationId);
    return record !== undefined && hasData(record) ? record : undefined;
  }

  hostOf(subject: Subject): HostRecord | undefined {
    const { hostKey } = subject;
    return hostKey === undefined ? undefined : this.dataOf(subject)?.data.hosts.get(hostKey);
  }

  keyTransactionOf({ keyTransactionId }: Subject): KeyTransactionRecord | undefined {
    return keyTransactionId === undefined ? undefined : this.#keyTransactions.get(keyTransactionId);
  }

  /** The list that says whether what an entity is about exists; undefined for a list of the account. */
  listOf({ kind, subject }: Entity): Entity | undefined {
    if (kind === 'applications' || kind === 'key_transactions') return undefined;
    if (kind === 'key_transaction_rolling') return this.keyTransactionList;
    return subject.hostKey === undefined ? this.applicationList : this.dataOf(subject)?.data.hostList;
  }

  /**
   * Writes the samples of an application list in portions between which other work goes on: to take over a list of
   * thousands is then one short step.
   */
  prepareApplications(list: readonly Application[]): Promise<void> {
    return this.#applicationRecords.prepare(list, (id) => this.#applications.get(id)?.rolling?.values);
  }

  /** Takes over a new application list: keeps what is known of those that stay, drops the others. */
  setApplications(list: readonly Application[]): void {
    this.#listedApplications = list;
    const { account } = this.#context;
    const next = new Map<number, ApplicationRecord>();
    for (const application of list) {
      if (!selects(account.applications, application)) continue;
      const before = this.#applications.get(application.id);
      next.set(application.id, this.#applicationRecords.record(before, application));
    }
    for (const [id, record] of this.#applications) if (!next.has(id)) this.#entities.retire(entitiesOf(record));
    this.#applications = next;
    if (this.#listedKeyTransactions !== undefined) this.setKeyTransactions(this.#listedKeyTransactions);
  }

  /**
   * Takes over a new key transaction list.
   *
   * @param otherOwners applications of these key transactions that the application list does not have
   */
  setKeyTransactions(list: readonly KeyTransaction[], otherOwners = this.#otherOwners): void {
    this.#listedKeyTransactions = list;
    this.#otherOwners = otherOwners;
    const { account } = this.#context;
    const before = this.#keyTransactions;
    const served = selectKeyTransactions(account, list, (id) => this.#applications.has(id));
    const named = [...otherOwners, ...(this.#listedApplications ?? [])];
    const names = new Map(named.map(({ id, name }) => [id, name]));
    const next = new Map<number, KeyTransactionRecord>();
    for (const keyTransaction of served) {
      const { id, applicationId } = keyTransaction;
      const owner = applicationId === undefined ? undefined : names.get(applicationId);
      next.set(id, this.#keyTransactionRecords.record(before.get(id), keyTransaction, owner));
    }
    for (const [id, { rolling }] of before)
      if (!next.has(id) && rolling !== undefined) this.#entities.retire([rolling.entity]);
    this.#keyTransactions = next;
  }

  /** Takes over the hosts of an application. */
  setHosts(record: ApplicationRecord, hosts: readonly Host[]): void {
    this.#hostRecords.setHosts(record, hosts);
  }

  /** Takes over the instances of an application. */
  setInstances(record: ApplicationRecord, instances: readonly Instance[]): void {
    this.#hostRecords.setInstances(record, instances);
  }

  /** Selects and labels everything anew: the configuration has changed. */
  reconfigure(): void {
    if (this.#listedApplications !== undefined) this.setApplications(this.#listedApplications);
    else if (this.#listedKeyTransactions !== undefined) this.setKeyTransactions(this.#listedKeyTransactions);
    if (this.#context.account.key_transactions === false) this.setKeyTransactions([]);
  }
}

/** True for key transactions of that application; without one, for all. */
export function concerns({ keyTransaction }: KeyTransactionRecord, applicationId: number | undefined): boolean {
  return applicationId === undefined || keyTransaction.applicationId === applicationId;
}

function hasData(record: ApplicationRecord): record is ApplicationRecord & { data: ApplicationData } {
  return record.data !== undefined;
}
