/** The same line is written at most once in this time, in milliseconds. */
const QUIET_MS = 60_000;

/** Different lines that are remembered; more share one place. */
const MAX_LINES = 100;

interface Told {
  at: number;
  untold: number;
}

/**
 * A way to log what clients can cause as often as they like: each message at once, then at most once a minute with the
 * number of times it was left out. `now` gives milliseconds of a clock that never goes back.
 */
export function throttled(log: (message: string) => void, now: () => number): (message: string) => void {
  const lines = new Map<string, Told>();
  return (message) => {
    const key = lines.has(message) || lines.size < MAX_LINES ? message : '';
    const before = lines.get(key);
    if (before !== undefined && now() - before.at < QUIET_MS) {
      before.untold += 1;
      return;
    }
    lines.set(key, { at: now(), untold: 0 });
    log(before === undefined || before.untold === 0 ? message : `${message} (and ${before.untold} more times before)`);
  };
}
