import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

/**
 * Milliseconds the main thread has been on a processor, so that other programs of the machine do not count; where the
 * kernel does not tell (anything but Linux), the time of the clock.
 */
function busyTime(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/** Does the work and gives the longest time that the event loop could not turn meanwhile, garbage collection included. */
export async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let running = true;
  let last = busyTime();
  const turn = () => {
    const now = busyTime();
    longest = Math.max(longest, now - last);
    last = busyTime();
    if (running) {
      setImmediate(turn);
    }
  };
  setImmediate(turn);
  await work();
  running = false;
  turn();
  return longest;
}
