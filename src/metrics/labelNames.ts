import type { Application, Host, Instance, KeyTransaction, Tag } from '../api/types.ts';
import type { MonitoredEntity } from '../api/upstreamReader.ts';
import type { Labels } from './family.ts';

/** The grammar of label names. It also fits names that begin with `__`, which belong to Prometheus: callers refuse them. */
export const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Names with a meaning of their own in Prometheus, which renames or misreads them when they are scraped. */
export const PROMETHEUS_LABEL_NAMES = ['instance', 'job', 'le', 'quantile'] as const;

/** The labels that all series of an application, or of a host, carry. */
export const OF_APPLICATION = ['account', 'app', 'app_id'];
export const OF_HOST = [...OF_APPLICATION, 'host', 'host_id'];

/** Label names that a custom metric's template may not capture: labels of its application and host, and of Prometheus. */
export const UNCAPTURABLE_LABEL_NAMES: ReadonlySet<string> = new Set([...OF_HOST, ...PROMETHEUS_LABEL_NAMES]);

/** Labels of entities and their golden metrics, reserved only in an account with entities. */
export const MONITORED_LABEL_NAMES = ['entity_type', 'entity', 'entity_guid'] as const;

/** The label that carries the values of a tag: characters that a label may not have become `_`. */
export function tagLabel(key: string): string {
  return `tag_${key.replace(/[^a-zA-Z0-9_]/gu, '_')}`;
}

/** The values of a tag by its case-insensitive key; undefined without such a key. */
export function tagValues(tags: readonly Tag[], key: string): readonly string[] | undefined {
  const found = tags.filter((tag) => tag.key.toLowerCase() === key.toLowerCase());
  return found.length === 0 ? undefined : found.flatMap(({ values }) => values);
}

interface Account {
  readonly name: string;
  readonly labels: Labels;
}

type Entity = Pick<MonitoredEntity, 'guid' | 'name'>;

export function entityLabels({ name, labels }: Account, type: string, entity: Entity): Labels {
  return { account: name, entity_type: type, entity: entity.name, entity_guid: entity.guid, ...labels };
}

/** Labels of an entity's golden metrics, without the type, because the names of the metrics contain it. */
export function goldenLabels({ name, labels }: Account, entity: Entity): Labels {
  return { account: name, entity: entity.name, entity_guid: entity.guid, ...labels };
}

export function applicationLabels(account: Account, application: Application): Labels {
  return { ...ofApplication(account, application), ...account.labels };
}

export function hostLabels(account: Account, application: Application, { host, key }: Host): Labels {
  return { ...ofApplication(account, application), host, host_id: key, ...account.labels };
}

/** A host id or port that New Relic does not give is empty. */
export function instanceLabels(
  account: Account,
  application: Application,
  { id, host, hostId, port }: Instance,
): Labels {
  const ofInstance = { host, host_id: textOf(hostId), instance_id: String(id), port: textOf(port) };
  return { ...ofApplication(account, application), ...ofInstance, ...account.labels };
}

/** `app` is the name of the owning application; empty when the key cannot see it. */
export function keyTransactionLabels(
  account: Account,
  app: string | undefined,
  { id, name, applicationId }: KeyTransaction,
): Labels {
  const ofOwner = { account: account.name, app: app ?? '', app_id: textOf(applicationId) };
  return { ...ofOwner, key_transaction: name, key_transaction_id: String(id), ...account.labels };
}

function ofApplication(account: Account, { id, name }: Application): Labels {
  return { account: account.name, app: name, app_id: String(id) };
}

function textOf(id: number | undefined): string {
  return id === undefined ? '' : String(id);
}
