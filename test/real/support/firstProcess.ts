import { readFileSync } from 'node:fs';
import { until } from './until.ts';

/** Process that `unshare --fork` has started: PID 1 of its namespace. */
export function firstChild(unshare: number): Promise<number> {
  const file = `/proc/${unshare}/task/${unshare}/children`;
  return until('unshare to start its process', () => {
    const child = Number(readFileSync(file, 'utf8').trim());
    return child > 0 && child;
  });
}
