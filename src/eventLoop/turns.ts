/** So many milliseconds of work are done before other work of the event loop gets its turn. */
const SLICE = 4;

/** Those that wait for their turn, in the order in which they came. */
const waiting: (() => void)[] = [];

/**
 * Resolves once other work of the event loop has had its turn. One turn of the loop is given to one of those that wait: it
 * is as short with many works under way as with one.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.length === 0) setImmediate(giveTurn);
    waiting.push(resolve);
  });
}

function giveTurn(): void {
  const resolve = waiting.shift();
  if (waiting.length > 0) setImmediate(giveTurn);
  resolve?.();
}

/** Lets other work go on in the middle of long work, so that nothing waits for its end. */
export class TimeSlice {
  #began = performance.now();

  /** Something to wait for once the work has had its time; undefined while it has not. */
  over(): Promise<void> | undefined {
    return performance.now() - this.#began < SLICE ? undefined : this.#next();
  }

  async #next(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
  }
}

/** Hands each element over, in order, and lets other work go on in between. */
export async function inSlices<T>(list: readonly T[], take: (each: T) => void): Promise<void> {
  const slice = new TimeSlice();
  for (const each of list) {
    const turn = slice.over();
    if (turn !== undefined) await turn;
    take(each);
  }
}
