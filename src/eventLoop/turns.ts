/** At most this many milliseconds of work are done in one turn of the event loop. */
const TURN = 4;

/** Functions that wait for their turn, first come, first served. */
const waiting: (() => void)[] = [];

/** Functions that wait to begin long work. Work that has begun goes first, so that little unfinished work is in memory. */
const waitingToBegin: (() => void)[] = [];

/** The number of turns in a row that other work may take before one of `waitingToBegin` has its turn. */
const MAX_TURNS_BEFORE = 8;

let turnsBefore = 0;

/** The time at which the work of this turn of the event loop began, whichever caller does it. */
let began: number | undefined;

/**
 * Resolves once other work of the event loop has had its turn. Each turn resumes one waiter, so it stays short with many.
 *
 * @param waiters where it waits: with the work that has begun, or to begin
 */
export function yieldToEventLoop(waiters = waiting): Promise<void> {
  return new Promise((resolve) => {
    const isFirst = waiting.length + waitingToBegin.length === 0;
    waiters.push(resolve);
    if (isFirst) giveNextTurn();
  });
}

/**
 * The turns of the event loop that input gets before long work continues: Node accepts one connection in each, so a flood of
 * connections would keep a probe of health in the backlog for seconds. Empty turns take microseconds.
 */
const TURNS_FOR_INPUT = 12;

function giveNextTurn(turns = waiting.length > 0 ? TURNS_FOR_INPUT : 1): void {
  setImmediate(turns === 1 ? giveTurn : () => giveNextTurn(turns - 1));
}

function giveTurn(): void {
  const begins = waitingToBegin.length > 0 && (waiting.length === 0 || turnsBefore >= MAX_TURNS_BEFORE);
  turnsBefore = begins || waitingToBegin.length === 0 ? 0 : turnsBefore + 1;
  const resolve = (begins ? waitingToBegin : waiting).shift();
  if (waiting.length + waitingToBegin.length > 0) giveNextTurn();
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

/** A promise to await in the middle of long work once this turn has done its milliseconds, for any caller; undefined before. */
export function yieldIfDue(): Promise<void> | undefined {
  return performance.now() - (began ?? beginTurn()) < TURN ? undefined : yieldToEventLoop();
}

/**
 * Hands over each element, in order, and lets other work run in between; without `take`, runs the steps of a generator. Rejects with
 * the reason of the signal once that is aborted.
 */
export async function inSlices<T>(list: Iterable<T>, take?: (each: T) => void, signal?: AbortSignal): Promise<void> {
  for (const each of list) {
    const yielded = yieldIfDue();
    if (yielded !== undefined) {
      await yielded;
      signal?.throwIfAborted();
    }
    take?.(each);
  }
}

const waitingForInput: (() => void)[] = [];

/**
 * Like `yieldToEventLoop`, for long work that input has started: work that has begun goes first, for some turns. An immediate
 * that is set while input is handled still runs in the turn of that input, so this function waits for one more.
 */
export async function yieldAfterInput(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await yieldToEventLoop(waitingToBegin);
}

/**
 * Like `yieldAfterInput`, for small, frequent work. Each turn resumes half of the waiters: a turn is shorter than with all of
 * them, and new ones cannot arrive faster than old ones are resumed.
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
