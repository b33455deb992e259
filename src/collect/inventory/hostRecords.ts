import type { Host, Instance } from '../../api/types.ts';
import { hostPlaces } from '../../metrics/customFamilies.ts';
import { writeLabels } from '../../metrics/labelText.ts';
import { hostLabels, instanceLabels } from '../../metrics/labels.ts';
import type { AccountContext } from './context.ts';
import type { Entities } from './entities.ts';
import { HOST_LIST, INSTANCE_LIST } from './listSamples.ts';
import { entitiesOfHost, type ApplicationRecord, type HostRecord } from './records.ts';

/** Builds the records of the hosts and instances of applications, and keeps what is known of those that stay. */
export class HostRecords {
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;

  constructor(context: Readonly<AccountContext>, entities: Entities) {
    this.#context = context;
    this.#entities = entities;
  }

  /** Takes over the hosts of an application; nothing when its metric data are not read. */
  setHosts({ application, data }: ApplicationRecord, hosts: readonly Host[]): void {
    if (data === undefined) return;
    const { account, reader } = this.#context;
    const next = new Map<string, HostRecord>();
    const places = hostPlaces(hosts.map(({ key }) => key));
    for (const host of hosts) {
      const before = data.hosts.get(host.key);
      const subject = { applicationId: application.id, hostKey: host.key };
      const labels = hostLabels(account.name, account.labels, application, host);
      const unchanged = before?.host === host;
      const rolls = reader.rolling !== undefined;
      const rolling = this.#entities.keepRolling(rolls, before?.rolling, 'host_rolling', subject);
      if (!unchanged) HOST_LIST.writeRolling(host, rolling);
      next.set(host.key, {
        host,
        labels: writeLabels(labels, before?.labels),
        samples: unchanged ? before.samples : HOST_LIST.write(host),
        rolling,
        place: places.get(host.key) ?? 0,
        metrics: before?.metrics ?? this.#entities.make('host_metrics', subject),
        reading: before?.reading,
      });
    }
    for (const [key, record] of data.hosts) if (!next.has(key)) this.#entities.retire(entitiesOfHost(record));
    data.hosts = next;
  }

  /** As `setHosts`, for the instances of an application. */
  setInstances({ application, data }: ApplicationRecord, instances: readonly Instance[]): void {
    if (data === undefined) return;
    const { account } = this.#context;
    const known = new Map(data.instances.map((before) => [before.instance.id, before]));
    // A list that changes between two of its pages has an instance twice.
    const byId = new Map(instances.map((instance) => [instance.id, instance]));
    data.instances = Array.from(byId.values(), (instance) => {
      const before = known.get(instance.id);
      const labels = instanceLabels(account.name, account.labels, application, instance);
      return {
        instance,
        labels: writeLabels(labels, before?.labels),
        samples: before?.instance === instance ? before.samples : INSTANCE_LIST.write(instance),
      };
    });
  }

  /** Labels hosts and instances anew: their application has other labels. */
  relabel(record: ApplicationRecord): void {
    const { data } = record;
    if (data === undefined) return;
    const hosts = Array.from(data.hosts.values(), ({ host }) => host);
    this.setHosts(record, hosts);
    const instances = data.instances.map(({ instance }) => instance);
    this.setInstances(record, instances);
  }
}
