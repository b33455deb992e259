/** A time source; tests replace the machine's. */
export interface Clock {
  /** The wall clock, Unix milliseconds. It may be set, so only windows and shown times use it. */
  now(): number;
  /** A monotonic clock, in milliseconds, for durations, deadlines, pauses and the budget. */
  monotonic(): number;
  /** Calls back once after `ms`; the returned function cancels it. */
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

/** The reason of an aborted signal, as an error to reject with. */
export function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('stopped');
}

/** Waits for work, for `waitMs` milliseconds at most, or until the signal is aborted. */
export async function withTimeout(
  work: Promise<unknown>,
  waitMs: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  if (signal?.aborted === true || waitMs <= 0) return;
  let cancel: (() => void) | undefined;
  const ended = new AbortController();
  await new Promise<void>((resolve, reject) => {
    if (waitMs !== Infinity) cancel = clock.after(waitMs, resolve);
    signal?.addEventListener('abort', () => resolve(), { signal: ended.signal });
    work.then(() => resolve(), reject);
  }).finally(() => {
    cancel?.();
    ended.abort();
  });
}
