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
