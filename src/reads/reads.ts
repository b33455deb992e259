/**
 * The groups of reads: those of `collection.intervals`, `custom_metrics`, `golden_metrics` and `queries`. `collect[]` names groups,
 * calls of NerdGraph are counted by them, and the exporter's own metrics have them as a label.
 */
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
   * `list`: what exists. `names`: names for later requests, without series and window. `rolling`: rolling values of what a list
   * has. `minutes`, `window`: data of minutes, or over the window.
   */
  readonly gives: 'list' | 'names' | 'rolling' | 'minutes' | 'window';
  /** True: each application has a task of it, while its group is enabled. */
  readonly isOfApplications?: boolean;
  /** The groups to keep up to date for it: the lists of its subjects, and of its names. */
  readonly needs?: readonly Group[];
  /** The groups that must have been read once: names for its request, and what decides the database kind. */
  readonly needsOnce?: readonly Group[];
  /** The reads that may become due after it, beside itself: all of the account, of its application, or of all entities. */
  readonly unlocks?: 'everything' | 'application' | 'entities';
  /** True: it goes through NerdGraph for every account. */
  readonly isNerdGraphOnly?: boolean;
}

/**
 * The reads of an account, each with the name of its tasks. The first refresh, and tasks that are equally overdue, are in this order.
 * A new one needs a row here and one in `src/collect/inventory/taskReads.ts`; tasks of other subjects than applications come from the inventory.
 */
const TABLE = {
  applications: { group: 'applications', gives: 'list', unlocks: 'everything' },
  key_transactions: { group: 'key_transactions', gives: 'list', needs: ['applications'], unlocks: 'everything' },
  application_rolling: { group: 'applications', gives: 'rolling' },
  key_transaction_rolling: { group: 'key_transactions', gives: 'rolling' },
  metric_names: {
    group: 'metric_names',
    gives: 'names',
    isOfApplications: true,
    needs: ['applications'],
    unlocks: 'application',
  },
  custom_names: {
    group: 'custom_metrics',
    gives: 'names',
    isOfApplications: true,
    needs: ['applications'],
    unlocks: 'application',
  },
  application_metrics: {
    group: 'application_metrics',
    gives: 'window',
    isOfApplications: true,
    needs: ['applications', 'metric_names'],
    needsOnce: ['custom_metrics'],
  },
  counters: { group: 'counters', gives: 'minutes', isOfApplications: true, needs: ['applications'] },
  hosts: { group: 'hosts', gives: 'list', isOfApplications: true, needs: ['applications'], unlocks: 'application' },
  host_rolling: { group: 'hosts', gives: 'rolling' },
  host_metrics: {
    group: 'host_metrics',
    gives: 'window',
    needs: ['applications', 'metric_names', 'hosts'],
    needsOnce: ['application_metrics', 'custom_metrics'],
  },
  instances: { group: 'instances', gives: 'list', isOfApplications: true, needs: ['applications'] },
  entities: { group: 'entities', gives: 'list', unlocks: 'entities', isNerdGraphOnly: true },
  golden_metrics: { group: 'golden_metrics', gives: 'window', needs: ['entities'], isNerdGraphOnly: true },
  queries: { group: 'queries', gives: 'window', isNerdGraphOnly: true },
} as const satisfies Readonly<Record<string, Read>>;

/** The name of a read. */
export type Kind = keyof typeof TABLE;

export const READS: Readonly<Record<Kind, Read>> = TABLE;

/** The names in the order of the table. */
export const KINDS = Object.keys(TABLE) as readonly Kind[];

/** The first read of each group: the list of its subjects, the names, or its data. */
export const FIRST_OF = Object.fromEntries(
  Object.values(READS).map((read) => [read.group, Object.values(READS).find(({ group }) => group === read.group)]),
) as Readonly<Record<Group, Read>>;

/**
 * A group for people who read of its calls, interval and state: those of custom metrics are of lists of names, because the values
 * come with the metric data of applications and hosts.
 */
export function describeGroup(group: Group): string {
  return group === 'custom_metrics' ? 'custom_metrics (names)' : group;
}
