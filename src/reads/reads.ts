/** The groups: names for `collect[]`, `collection.intervals` and the label `group` of the exporter's own metrics. */
export const GROUPS = [
  'applications',
  'key_transactions',
  'metric_names',
  'application_metrics',
  'counters',
  'hosts',
  'host_metrics',
  'instances',
  'custom_metrics',
  'entities',
  'golden_metrics',
  'queries',
] as const;

export type Group = (typeof GROUPS)[number];

interface Read {
  readonly group: Group;
  /**
   * `list`: the subjects of other kinds. `names`: metric names for later requests, without series. `rolling`: rolling
   * values. `minutes`, `window`: metric data of single minutes, or over the window.
   */
  readonly gives: 'list' | 'names' | 'rolling' | 'minutes' | 'window';
  /** The groups that this kind needs up to date: the lists of its subjects, and of metric names. */
  readonly needs?: readonly Group[];
  /** The groups that must have been read once: they decide which metrics this kind requests. */
  readonly needsOnce?: readonly Group[];
  /** The tasks that may become due after it: all of the account, of its application, or of the entities. */
  readonly unlocks?: 'everything' | 'application' | 'entities';
  /** True if REST accounts read it over NerdGraph, too. */
  readonly isNerdGraphOnly?: boolean;
}

/**
 * The kinds of data. The first refresh, and equally overdue tasks, follow this order. A new kind needs a row here and a
 * row in `src/collect/inventory/taskReads.ts`. The inventory creates the tasks of subjects other than applications.
 */
const TABLE = {
  applications: { group: 'applications', gives: 'list', unlocks: 'everything' },
  key_transactions: { group: 'key_transactions', gives: 'list', needs: ['applications'], unlocks: 'everything' },
  application_rolling: { group: 'applications', gives: 'rolling' },
  key_transaction_rolling: { group: 'key_transactions', gives: 'rolling' },
  metric_names: { group: 'metric_names', gives: 'names', needs: ['applications'], unlocks: 'application' },
  custom_names: { group: 'custom_metrics', gives: 'names', needs: ['applications'], unlocks: 'application' },
  application_metrics: {
    group: 'application_metrics',
    gives: 'window',
    needs: ['applications', 'metric_names'],
    needsOnce: ['custom_metrics'],
  },
  counters: { group: 'counters', gives: 'minutes', needs: ['applications'] },
  hosts: { group: 'hosts', gives: 'list', needs: ['applications'], unlocks: 'application' },
  host_rolling: { group: 'hosts', gives: 'rolling' },
  host_metrics: {
    group: 'host_metrics',
    gives: 'window',
    needs: ['applications', 'metric_names', 'hosts'],
    needsOnce: ['application_metrics', 'custom_metrics'],
  },
  instances: { group: 'instances', gives: 'list', needs: ['applications'] },
  entities: { group: 'entities', gives: 'list', unlocks: 'entities', isNerdGraphOnly: true },
  golden_metrics: { group: 'golden_metrics', gives: 'window', needs: ['entities'], isNerdGraphOnly: true },
  queries: { group: 'queries', gives: 'window', isNerdGraphOnly: true },
} as const satisfies Readonly<Record<string, Read>>;

export type Kind = keyof typeof TABLE;

export const READS: Readonly<Record<Kind, Read>> = TABLE;

export const KINDS = Object.keys(TABLE) as readonly Kind[];

/** The kinds of which each application has a task while the group is enabled. */
export const APPLICATION_KINDS = [
  'metric_names',
  'custom_names',
  'application_metrics',
  'counters',
  'hosts',
  'instances',
] as const satisfies readonly Kind[];

/** The first kind of each group. */
export const FIRST_OF = Object.fromEntries(
  Object.values(READS)
    .reverse()
    .map((read) => [read.group, read]),
) as Readonly<Record<Group, Read>>;

/** Returns the display name of a group. Of custom metrics, only the lists of names have calls of their own. */
export function describeGroup(group: Group): string {
  return group === 'custom_metrics' ? 'custom_metrics (names)' : group;
}
