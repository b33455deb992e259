import type { TaskStatus } from '../../collect/accountStatus.ts';

const SHOWN = 5;

/** A task with the time of its last attempt, and the number of tasks of its group that took as long: one call reads many. */
export interface SlowRead {
  readonly task: TaskStatus;
  readonly seconds: number;
  readonly together: number;
}

/** The slowest reads once a task was looked at, the longest first. */
export function withRead(slowest: readonly SlowRead[], task: TaskStatus): readonly SlowRead[] {
  const { group, seconds } = task;
  if (seconds === undefined) return slowest;
  const same = slowest.find((row) => row.seconds === seconds && row.task.group === group);
  if (same !== undefined) return slowest.map((row) => (row === same ? { ...row, together: row.together + 1 } : row));
  // A row that falls out cannot return, so only the rows that are shown are kept.
  if (slowest.length === SHOWN && seconds <= (slowest.at(-1)?.seconds ?? 0)) return slowest;
  return [...slowest, { task, seconds, together: 1 }].sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN);
}
