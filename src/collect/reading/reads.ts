import type { MetricDataAnswer, MetricDataSubject, RollingSubject } from '../../api/reader.ts';
import { datastoreNames } from '../../formulas/names.ts';
import type { CustomMatches } from '../../metrics/customFamilies.ts';
import { matchTemplate } from '../../metrics/template.ts';
import type { AccountContext } from '../inventory/context.ts';
import type { Entity, Kind } from '../inventory/entity.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { ApplicationData, ApplicationRecord, AskedDatastores } from '../inventory/records.ts';
import { onlyIds, ownersToAskFor } from '../inventory/selection.ts';
import type { Arrivals } from './arrivals.ts';
import { mapped, wholeList, type EntityRead } from './entityRead.ts';
import { customOf, wantedNames, wantedValues } from './names.ts';

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
        const names = answer.datastores === undefined ? was.names : [...was.names, ...answer.datastores];
        this.#arrivals.metricData(record, entity, { data: answer.data, names, datastores, custom: was.custom });
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
