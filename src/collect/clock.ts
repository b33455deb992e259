/** Time as the collector sees it; tests run it with a clock of their own. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Calls back once after `ms`; the function it gives cancels. */
  after(ms: number, callback: () => void): () => void;
}

/** The machine's clock. Its timers keep no process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
