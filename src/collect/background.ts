import { GROUPS } from '../metrics/groups.ts';
import type { Clock } from './clock.ts';
import type { Scope } from './view.ts';

/** How often the timer looks for due work; what is due is decided by the windows and intervals, not by the timer. */
const TICK = 10_000;
const JITTER = 0.2;

/** How long a later refresh is waited for before the next is asked for, which moves its leftover work to a newer window. */
const PATIENCE = 60_000;

const EVERYTHING: Scope = { groups: new Set(GROUPS) };

/**
 * Refreshes at the start and then on a timer with jitter (contract 2, `collection.background`). The jitter keeps several
 * exporters from calling upstream in step. A refresh that is still under way is joined, not doubled.
 *
 * @param refresh asks for a refresh and resolves when it has ended or its deadline (Unix milliseconds) is reached
 * @param random a number from 0 up to 1
 * @returns stops the timer
 */
export function refreshInBackground(
  refresh: (scope: Scope, deadline: number) => Promise<void>,
  clock: Clock,
  random: () => number,
): () => void {
  let stopped = false;
  let cancel = (): void => undefined;
  const tick = async (deadline: number): Promise<void> => {
    await refresh(EVERYTHING, deadline);
    if (stopped) return;
    const ms = TICK * (1 - JITTER + 2 * JITTER * random());
    cancel = clock.after(ms, () => void tick(clock.now() + PATIENCE));
  };
  void tick(Infinity);
  return () => {
    stopped = true;
    cancel();
  };
}
