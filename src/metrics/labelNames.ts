import type { Tag } from '../api/types.ts';

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
