import type { Application, RollingValues } from '../../api/types.ts';
import { inTurns } from '../../eventLoop/turns.ts';
import { writeLabels } from '../../metrics/labelText.ts';
import { applicationLabels } from '../../metrics/labels.ts';
import type { WrittenSamples } from '../../metrics/sample.ts';
import { NO_SAMPLES } from '../../metrics/writeSamples.ts';
import type { AccountContext } from './context.ts';
import type { Entities } from './entities.ts';
import type { HostRecords } from './hostRecords.ts';
import { APPLICATION_LIST } from './listSamples.ts';
import { entitiesOf, type ApplicationRecord } from './records.ts';
import { effectiveSettings, readsMetricData, selects } from './selection.ts';

/** So many entries of a list are prepared before other work gets its turn. */
const ENTRIES_PER_TURN = 100;

/** What was written of a list entry before its list is taken over. */
interface Prepared {
  readonly samples: WrittenSamples;
  /** The rolling values that were held then, and the entry together with them. */
  readonly values: RollingValues | undefined;
  readonly withValues: WrittenSamples | undefined;
}

/** Builds the records of applications, and keeps what is known of those that stay. */
export class ApplicationRecords {
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;
  readonly #hosts: HostRecords;
  readonly #prepared = new WeakMap<Application, Prepared>();

  constructor(context: Readonly<AccountContext>, entities: Entities, hosts: HostRecords) {
    this.#context = context;
    this.#entities = entities;
    this.#hosts = hosts;
  }

  /**
   * Writes the samples of a list in portions between which other work goes on.
   *
   * @param rollingOf the rolling values that are held of an application
   */
  async prepare(
    list: readonly Application[],
    rollingOf: (applicationId: number) => RollingValues | undefined,
  ): Promise<void> {
    const { applications } = this.#context.account;
    const served = list.filter((application) => selects(applications, application));
    await inTurns(served, ENTRIES_PER_TURN, (application) => {
      const values = rollingOf(application.id);
      this.#prepared.set(application, {
        samples: APPLICATION_LIST.write(application),
        values,
        withValues: values === undefined ? undefined : APPLICATION_LIST.writeWith(application, values),
      });
    });
  }

  /** The record there is, brought up to date with the list and the configuration, or a new one. */
  record(before: ApplicationRecord | undefined, application: Application): ApplicationRecord {
    const { account, reader } = this.#context;
    const labels = writeLabels(applicationLabels(account.name, account.labels, application), before?.labels);
    const unchanged = before?.application === application;
    const record: ApplicationRecord = before ?? {
      application,
      settings: effectiveSettings(account, application),
      labels,
      samples: NO_SAMPLES,
      rolling: undefined,
      data: undefined,
    };
    const relabelled = record.labels !== labels;
    record.application = application;
    record.settings = effectiveSettings(account, application);
    record.labels = labels;
    this.#setData(record);
    const rolls = record.data !== undefined && reader.rolling !== undefined;
    const subject = { applicationId: application.id };
    record.rolling = this.#entities.keepRolling(rolls, record.rolling, 'application_rolling', subject);
    if (!unchanged) this.#writeSamples(record);
    if (relabelled) this.#hosts.relabel(record);
    return record;
  }

  #writeSamples(record: ApplicationRecord): void {
    const { application, rolling } = record;
    const prepared = this.#prepared.get(application);
    this.#prepared.delete(application);
    record.samples = prepared?.samples ?? APPLICATION_LIST.write(application);
    if (rolling === undefined) return;
    if (prepared?.values === rolling.values) rolling.samples = prepared?.withValues;
    else APPLICATION_LIST.writeRolling(application, rolling);
  }

  /** Gives the record the entities that its state and the configuration ask for; those that exist already stay. */
  #setData(record: ApplicationRecord): void {
    const { account, customMetrics, reader } = this.#context;
    const entities = this.#entities;
    if (!readsMetricData(account, record.application)) {
      entities.retire(entitiesOf(record));
      record.data = undefined;
      record.rolling = undefined;
      return;
    }
    const subject = { applicationId: record.application.id };
    record.data ??= {
      datastoreList: reader.datastores === undefined ? undefined : entities.make('metric_names', subject),
      datastores: undefined,
      metrics: entities.make('application_metrics', subject),
      reading: undefined,
      customNameList: undefined,
      customNames: undefined,
      hostList: undefined,
      hosts: new Map(),
      instanceList: undefined,
      instances: [],
      database: undefined,
    };
    const { data } = record;
    data.customNameList = entities.keep(customMetrics.length > 0, data.customNameList, 'custom_names', subject);
    data.hostList = entities.keep(record.settings.hosts, data.hostList, 'hosts', subject);
    const instances = account.instances && reader.instances !== undefined;
    data.instanceList = entities.keep(instances, data.instanceList, 'instances', subject);
    if (data.customNameList === undefined) data.customNames = undefined;
    if (data.hostList === undefined) this.#hosts.setHosts(record, []);
    if (data.instanceList === undefined) data.instances = [];
  }
}
