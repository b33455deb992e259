/** Milliseconds of work in one turn of the event loop, for all callers together. */
const TURN_MS = 10;

/** Resolve functions of the callers that wait for a turn, the oldest first. */
const waiting: (() => void)[] = [];

/** Start of the work in the current turn, for all callers; undefined before any work. */
let turnStart: number | undefined;

function beginTurn(): number {
  const now = performance.now();
  turnStart = now;
  setImmediate(() => {
    if (turnStart === now) turnStart = undefined;
  });
  return now;
}

/** Waits for the next turn. A turn resumes one caller only, so that turns stay short. */
function waitForTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resumeNext);
  });
}

function resumeNext(): void {
  const resume = waiting.shift();
  if (waiting.length > 0) setImmediate(resumeNext);
  beginTurn();
  resume?.();
}

/**
 * Calls `take` with each element, in order, and yields to other work in between. Use it where a loop can exceed 10,000
 * elements. Without `take`, it only runs the generator. Rejects with the reason of the signal when it is aborted.
 */
export async function inSlices<T>(list: Iterable<T>, take?: (each: T) => void, signal?: AbortSignal): Promise<void> {
  for (const each of list) {
    if (performance.now() - (turnStart ?? beginTurn()) >= TURN_MS) {
      await waitForTurn();
      signal?.throwIfAborted();
    }
    take?.(each);
  }
}
