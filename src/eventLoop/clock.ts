/** A source of time; tests replace the system clock. */
export interface Clock {
  /** Unix milliseconds. The wall clock can jump, so only windows and displayed times use it. */
  now(): number;
  /** Milliseconds of a monotonic clock, for durations, deadlines, pauses and the budget. */
  monotonic(): number;
  /** Calls back once after `ms` milliseconds. The returned function cancels the call. */
  after(ms: number, callback: () => void): () => void;
}

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Returns the reason of an aborted signal as an error. */
export function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('stopped');
}

/** Waits until the work ends, `waitMs` milliseconds have passed, or the signal is aborted. */
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
