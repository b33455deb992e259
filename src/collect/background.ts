import { GROUPS } from '../metrics/groups.ts';
import type { Clock } from './schedule/clock.ts';
import type { Scope } from './view.ts';

/** How often the timer looks for due work; what is due is decided by the windows and intervals, not by the timer. */
const TICK = 10_000;
const JITTER = 0.2;

const EVERYTHING: Scope = { groups: new Set(GROUPS) };

/**
 * Refreshes at the start and then on a timer with jitter (`collection.background`). The jitter keeps several exporters
 * from calling upstream in step. The timer waits for no refresh: the next one carries on what is left, for the window of
 * then.
 *
 * @param refresh asks for a refresh and resolves when it has ended or so many milliseconds are over
 * @param random a number from 0 up to 1
 * @returns stops the timer
 */
export function refreshInBackground(
  refresh: (scope: Scope, waitMs: number) => Promise<void>,
  clock: Clock,
  random: () => number,
): () => void {
  let cancel: () => void;
  const schedule = (): void => {
    const ms = TICK * (1 - JITTER + 2 * JITTER * random());
    cancel = clock.after(ms, () => {
      schedule();
      void refresh(EVERYTHING, 0);
    });
  };
  schedule();
  void refresh(EVERYTHING, Infinity);
  return () => cancel();
}
