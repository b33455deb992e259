import { setImmediate as nextTurn } from 'node:timers/promises';

/** Steps of work, each well below a microsecond, that are done before other work may go on. */
const STEPS_PER_TURN = 8192;

/** Lets other work go on in the middle of long work, so that nothing waits for its end. */
export class Turns {
  #steps = 0;

  /** Counts steps that were done; gives something to wait for when it is time to let other work go on. */
  after(steps: number): Promise<void> | undefined {
    this.#steps += steps;
    return this.#steps < STEPS_PER_TURN ? undefined : this.next();
  }

  /** Lets other work go on now. */
  next(): Promise<void> {
    this.#steps = 0;
    return nextTurn();
  }
}
