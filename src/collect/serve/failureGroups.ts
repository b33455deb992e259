import { REMEDIES, type FailureReason } from '../../api/upstreamError.ts';
import type { TaskStatus } from './accountStatus.ts';

/** Failing tasks with the same group, reason and message. */
export interface FailureGroup extends Pick<TaskStatus, 'group'> {
  readonly reason: FailureReason;
  readonly problem: string;
  /** The earliest failure, in Unix seconds. */
  readonly since: number;
  /** The highest number of failed attempts in a row of one task. */
  readonly failures: number;
  /** Sorted by failed attempts in a row, highest first. */
  readonly tasks: readonly TaskStatus[];
}

/** Groups the tasks whose last attempt failed by group, reason and message; the most tasks come first. */
export function groupFailures(tasks: readonly TaskStatus[]): readonly FailureGroup[] {
  const alike = new Map<string, FailureGroup & { since: number; failures: number; readonly tasks: TaskStatus[] }>();
  for (const task of tasks) {
    const { group, reason = 'other', problem, since, failures } = task;
    if (problem === undefined || since === undefined) continue;
    const key = `${group} ${reason} ${problem}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { group, reason, problem, since, failures, tasks: [task] });
    else {
      known.since = Math.min(known.since, since);
      known.failures = Math.max(known.failures, failures);
      known.tasks.push(task);
    }
  }
  for (const { tasks: failing } of alike.values()) failing.sort((a, b) => b.failures - a.failures);
  return [...alike.values()].sort((a, b) => b.tasks.length - a.tasks.length || b.failures - a.failures);
}

/** Returns what an operator can do about failures with this reason. */
export function remedyFor(reason: FailureReason): string {
  return REMEDIES[reason];
}
