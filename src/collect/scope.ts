import { firstOf, READS, type Group } from '../reads/reads.ts';
import type { AccountContext } from './accountContext.ts';
import type { Task } from './task.ts';

/** The scope of a request: everything, some groups, one account, or one application. */
export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: only the lists of these groups, without rolling values and other groups. */
  readonly listsOnly?: boolean;
}

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
  // Custom metrics are read with the data of their application or host.
  const scopes = groups.has('custom_metrics') ? customMetrics.map(({ definition }) => definition.scope) : [];
  const read = [...new Set([...requested, ...scopes.map((scope) => `${scope}_metrics` as const)])];
  return {
    always: new Set(read.flatMap((group) => [group, ...(firstOf(group).needs ?? [])])),
    once: new Set(read.flatMap((group) => firstOf(group).needsOnce ?? [])),
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
  if (READS[kind].gives === 'rolling' ? !rolling.has(group) : !always.has(group) && !(once.has(group) && !known))
    return false;
  const { applicationId } = subject;
  return scope.applicationId === undefined || applicationId === undefined || scope.applicationId === applicationId;
}

/** True when both scopes need the same of one account: their requests share one refresh. */
export function isSameScope(a: Scope, b: Scope): boolean {
  if (a.applicationId !== b.applicationId || a.listsOnly !== b.listsOnly || a.groups.size !== b.groups.size)
    return false;
  for (const group of a.groups) if (!b.groups.has(group)) return false;
  return true;
}
