import type { Group } from '../metrics/sample.ts';
import type { AccountContext } from './accountContext.ts';
import type { Kind, Task } from './task.ts';

/** The scope of a request: everything, some groups, one account, or one application. */
export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: only the lists of these groups, without rolling values and other groups. */
  readonly listsOnly?: boolean;
}

/** The groups that must be kept up to date for a group: the lists of its tasks. */
const NEEDS: Readonly<Record<Group, readonly Group[]>> = {
  applications: [],
  key_transactions: ['applications'],
  metric_names: ['applications'],
  application_metrics: ['applications', 'metric_names'],
  counters: ['applications'],
  hosts: ['applications'],
  host_metrics: ['applications', 'metric_names', 'hosts'],
  instances: ['applications'],
  custom_metrics: ['applications'],
  entities: [],
  golden_metrics: ['entities'],
  queries: [],
};

/** Custom metrics are read with the data of their application or host. */
const DATA_OF = { application: 'application_metrics', host: 'host_metrics' } as const satisfies Record<string, Group>;

/**
 * The groups that must have been read once: the names for the request of a metric data call, and the application's data, which
 * decides the database kind of its hosts.
 */
const NEEDS_ONCE: Readonly<Partial<Record<Group, readonly Group[]>>> = {
  application_metrics: ['custom_metrics'],
  host_metrics: ['application_metrics', 'custom_metrics'],
};

const ROLLING: ReadonlySet<Kind> = new Set<Kind>(['application_rolling', 'host_rolling', 'key_transaction_rolling']);

/**
 * The needs of a scope in an account: `always`, the groups to keep up to date; `once`, the groups to try once; and `rolling`,
 * the groups of the scope itself, whose rolling values are needed. Metric names need nothing where the interface has no list.
 */
export function neededGroups(
  { groups, listsOnly }: Pick<Scope, 'groups' | 'listsOnly'>,
  { reader, customMetrics }: Pick<AccountContext, 'reader' | 'customMetrics'>,
) {
  const requested = [...groups].filter((group) => group !== 'metric_names' || reader.datastores !== undefined);
  if (listsOnly === true) return { always: new Set(requested), once: new Set<Group>(), rolling: new Set<Group>() };
  const scopes = groups.has('custom_metrics') ? customMetrics.map(({ definition }) => definition.scope) : [];
  const read = [...new Set([...requested, ...scopes.map((scope) => DATA_OF[scope])])];
  return {
    always: new Set(read.flatMap((group) => [group, ...NEEDS[group]])),
    once: new Set(read.flatMap((group) => NEEDS_ONCE[group] ?? [])),
    rolling: new Set(requested),
  };
}

export type Needs = ReturnType<typeof neededGroups>;

/**
 * True for tasks of the scope's groups, and for tasks that these groups need to have been read once.
 *
 * @param known true when groups that need the task once have it: it was read, or tried and given up
 */
export function covers({ always, once, rolling }: Needs, scope: Scope, task: Task, known: boolean): boolean {
  const { group, kind, subject } = task;
  if (ROLLING.has(kind) ? !rolling.has(group) : !always.has(group) && !(once.has(group) && !known)) return false;
  const { applicationId } = subject;
  return scope.applicationId === undefined || applicationId === undefined || scope.applicationId === applicationId;
}

/** The groups with a list of the whole account. */
const ACCOUNT_LISTS: ReadonlySet<Group> = new Set<Group>(['applications', 'key_transactions']);

/** True when the scope needs nothing that belongs to an application. */
export function needsAccountListsOnly({ groups, listsOnly }: Scope): boolean {
  return listsOnly === true && [...groups].every((group) => ACCOUNT_LISTS.has(group));
}

/** True when both scopes need the same of one account: their requests share one refresh. */
export function isSameScope(a: Scope, b: Scope): boolean {
  if (a.applicationId !== b.applicationId || a.listsOnly !== b.listsOnly || a.groups.size !== b.groups.size)
    return false;
  for (const group of a.groups) if (!b.groups.has(group)) return false;
  return true;
}
