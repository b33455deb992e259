/** So many milliseconds of work are done in one turn of the event loop before other work gets its turn. */
const TURN = 4;

/** Those that wait for their turn, in the order in which they came. */
const waiting: (() => void)[] = [];

/** When the work of this turn of the event loop began: one answer may be read, taken over and written in the same turn. */
let began: number | undefined;

/**
 * Resolves once other work of the event loop has had its turn. One turn of the loop is given to one of those that wait: it
 * is as short with many works under way as with one.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.length === 0) setImmediate(giveTurn);
    waiting.push(resolve);
  });
}

function giveTurn(): void {
  const resolve = waiting.shift();
  if (waiting.length > 0) setImmediate(giveTurn);
  beginTurn();
  resolve?.();
}

function beginTurn(): number {
  const now = performance.now();
  began = now;
  setImmediate(() => {
    if (began === now) began = undefined;
  });
  return now;
}

/**
 * For the middle of long work, so that nothing waits for its end: something to wait for once this turn of the event loop has
 * done its milliseconds of work, whoever asked for it; undefined before.
 */
export function yieldIfDue(): Promise<void> | undefined {
  return performance.now() - (began ?? beginTurn()) < TURN ? undefined : yieldToEventLoop();
}

/** Hands each element over, in order, and lets other work go on in between; without `take`, runs the steps of a generator. */
export async function inSlices<T>(list: Iterable<T>, take?: (each: T) => void): Promise<void> {
  for (const each of list) {
    const yielded = yieldIfDue();
    if (yielded !== undefined) await yielded;
    take?.(each);
  }
}

/** The same of `yieldSoonAfterInput`. */
const waitingForInput: (() => void)[] = [];

/**
 * As `yieldToEventLoop`, for work that input has begun. An immediate that is set while input is handled still runs in the turn of
 * that input, so this waits for the one after it.
 */
export async function yieldAfterInput(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await yieldToEventLoop();
}

/**
 * As `yieldAfterInput`, for small work that comes often. Each turn is given to half of those that wait: it is shorter than
 * with all of them, and they cannot come faster than they go.
 */
export function yieldSoonAfterInput(): Promise<void> {
  return new Promise((resolve) => {
    if (waitingForInput.length === 0) setImmediate(() => setImmediate(giveTurns));
    waitingForInput.push(resolve);
  });
}

function giveTurns(): void {
  const half = waitingForInput.splice(0, Math.ceil(waitingForInput.length / 2));
  if (waitingForInput.length > 0) setImmediate(giveTurns);
  for (const resolve of half) resolve();
}
