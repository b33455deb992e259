import { setImmediate as nextTurn } from 'node:timers/promises';

/** Characters of text that are made between two turns of the event loop: about a millisecond of work. */
export const SLICE = 128 * 1024;

/** Lines whose text is about a slice long. */
export const LINES_PER_SLICE = 1024;

/**
 * Work that says where it may be interrupted: it yields undefined there, and values as they are ready. Written as
 * generators so that the same work can also run in one go, and so that no other answer can get in between two yields.
 */
export type Sliced<T, R = void> = Generator<T | undefined, R, undefined>;

/** Runs sliced work to its end, giving way to the event loop at every yield; values on the way are passed to `take`. */
export async function inSlices<T, R>(work: Sliced<T, R>, take: (value: T) => void | Promise<void>): Promise<R> {
  for (;;) {
    const step = work.next();
    if (step.done === true) {
      return step.value;
    }
    if (step.value !== undefined) {
      await take(step.value);
    }
    await nextTurn();
  }
}
