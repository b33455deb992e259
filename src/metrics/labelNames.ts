import type { Application, Host, Instance, KeyTransaction } from '../api/types.ts';
import type { Labels } from './sample.ts';

/** The valid names of labels; names that begin with `__` belong to Prometheus. */
export const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Names with a meaning of their own in Prometheus, which renames or misreads them when they are scraped. */
export const PROMETHEUS_LABEL_NAMES = ['instance', 'job', 'le', 'quantile'] as const;

/** Label names that a custom metric's template may not capture: labels of its application and host, and of Prometheus. */
export const UNCAPTURABLE_LABEL_NAMES: ReadonlySet<string> = new Set([
  'account',
  'app',
  'app_id',
  'host',
  'host_id',
  ...PROMETHEUS_LABEL_NAMES,
]);

/** Labels of entities and their golden metrics, reserved only in an account with entities. */
export const MONITORED_LABEL_NAMES = ['entity_type', 'entity', 'entity_guid'] as const;

/** The label that carries the values of a tag: characters that a label may not have become `_`. */
export function tagLabel(key: string): string {
  return `tag_${key.replace(/[^a-zA-Z0-9_]/g, '_')}`;
}

/** Labels of the state of an entity. */
export function entityLabels(
  account: string,
  staticLabels: Labels,
  type: string,
  { guid, name }: { readonly guid: string; readonly name: string },
): Labels {
  return { account, entity_type: type, entity: name, entity_guid: guid, ...staticLabels };
}

/** Labels of an entity's golden metrics; the type is in their names. */
export function goldenLabels(
  account: string,
  staticLabels: Labels,
  { guid, name }: { readonly guid: string; readonly name: string },
): Labels {
  return { account, entity: name, entity_guid: guid, ...staticLabels };
}

/** Labels of an application's series: ours first, the account's static labels last. */
export function applicationLabels(
  account: string,
  staticLabels: Labels,
  application: Pick<Application, 'id' | 'name'>,
): Labels {
  return { ...ofApplication(account, application), ...staticLabels };
}

export function hostLabels(
  account: string,
  staticLabels: Labels,
  application: Pick<Application, 'id' | 'name'>,
  host: Pick<Host, 'key' | 'host'>,
): Labels {
  return { ...ofApplication(account, application), host: host.host, host_id: host.key, ...staticLabels };
}

/** Labels of an instance's series; an unknown host id or port is empty. */
export function instanceLabels(
  account: string,
  staticLabels: Labels,
  application: Pick<Application, 'id' | 'name'>,
  instance: Pick<Instance, 'id' | 'host' | 'hostId' | 'port'>,
): Labels {
  return {
    ...ofApplication(account, application),
    host: instance.host,
    host_id: textOf(instance.hostId),
    instance_id: String(instance.id),
    port: textOf(instance.port),
    ...staticLabels,
  };
}

/** `applicationName` is undefined when the key cannot see the owning application: `app` is then empty. */
export function keyTransactionLabels(
  account: string,
  staticLabels: Labels,
  applicationName: string | undefined,
  keyTransaction: Pick<KeyTransaction, 'id' | 'name' | 'applicationId'>,
): Labels {
  return {
    account,
    app: applicationName ?? '',
    app_id: textOf(keyTransaction.applicationId),
    key_transaction: keyTransaction.name,
    key_transaction_id: String(keyTransaction.id),
    ...staticLabels,
  };
}

function ofApplication(account: string, application: Pick<Application, 'id' | 'name'>): Labels {
  return { account, app: application.name, app_id: String(application.id) };
}

function textOf(id: number | undefined): string {
  return id === undefined ? '' : String(id);
}
