/** Those that wait for their turn, in the order in which they came. */
const waiting: (() => void)[] = [];

/**
 * Resolves once other work of the event loop has had its turn. One turn of the loop is given to one of those that wait: it
 * is as short with many works under way as with one.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => wait(() => waiting.push(resolve)));
}

/** As `nextTurn`, before all that wait already: for what upstream calls wait for. */
export function firstTurn(): Promise<void> {
  return new Promise((resolve) => wait(() => waiting.unshift(resolve)));
}

function wait(enter: () => void): void {
  if (waiting.length === 0) setImmediate(giveTurn);
  enter();
}

function giveTurn(): void {
  const resolve = waiting.shift();
  if (waiting.length > 0) setImmediate(giveTurn);
  resolve?.();
}

/** Lets other work go on in the middle of long work, so that nothing waits for its end. */
export class Turns {
  readonly #stepsPerTurn: number;
  readonly #turn: () => Promise<void>;
  #steps = 0;

  /**
   * @param stepsPerTurn steps that are done before other work may go on: a few milliseconds of work
   * @param turn gives the next turn
   */
  constructor(stepsPerTurn: number, turn = nextTurn) {
    this.#stepsPerTurn = stepsPerTurn;
    this.#turn = turn;
  }

  /** Counts steps that were done; gives something to wait for when it is time to let other work go on. */
  after(steps: number): Promise<void> | undefined {
    this.#steps += steps;
    return this.#steps < this.#stepsPerTurn ? undefined : this.next();
  }

  /** Lets other work go on now. */
  next(): Promise<void> {
    this.#steps = 0;
    return this.#turn();
  }
}

/** Hands each element over, in order, with a pause in which other work goes on after every `perTurn`. */
export async function inTurns<T>(list: readonly T[], perTurn: number, take: (each: T) => void): Promise<void> {
  for (let start = 0; start < list.length; start += perTurn) {
    if (start > 0) await nextTurn();
    for (const each of list.slice(start, start + perTurn)) take(each);
  }
}

/** So many milliseconds of work are done before other work of the event loop gets its turn. */
const SLICE = 4;

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
