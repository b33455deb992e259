/** Milliseconds of work in one turn of the event loop, all callers together. */
const TURN_MS = 10;

/** Resumes the callers that wait for a turn, first come, first served. */
const waiting: (() => void)[] = [];

/** When the work of the present turn began, whichever caller does it; undefined before any. */
let began: number | undefined;

function beginTurn(): number {
  const now = performance.now();
  began = now;
  setImmediate(() => {
    if (began === now) began = undefined;
  });
  return now;
}

/** Each turn resumes one caller, so it stays short with many. */
function nextTurn(): Promise<void> {
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
 * Hands over each element, in order, and lets other work run in between. Use it where a loop can pass 10,000 elements. Without
 * `take`, it runs the steps of a generator. Rejects with the reason of the signal once that is aborted.
 */
export async function inSlices<T>(list: Iterable<T>, take?: (each: T) => void, signal?: AbortSignal): Promise<void> {
  for (const each of list) {
    if (performance.now() - (began ?? beginTurn()) >= TURN_MS) {
      await nextTurn();
      signal?.throwIfAborted();
    }
    take?.(each);
  }
}
