import { GROUPS } from '../metrics/sample.ts';
import type { Scope } from './view.ts';

/** Time as the collector sees it; tests run it with a clock of their own. */
export interface Clock {
  /** The wall clock, Unix milliseconds. It may be set: only windows and what is shown follow it. */
  now(): number;
  /** A clock that is never set, in milliseconds: durations, deadlines, pauses and the budget follow it. */
  monotonic(): number;
  /** Calls back once after `ms`; the function it gives cancels. */
  after(ms: number, callback: () => void): () => void;
}

/** The machine's clock. Its timers keep no process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

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
