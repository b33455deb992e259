import { nextTurn } from './turns.ts';

/** Those that `soonAfterInput` lets wait, in the order in which they came. */
const waiting: (() => void)[] = [];

/**
 * As `nextTurn`, for work that input has begun. An immediate that is set while input is handled still runs in the turn of
 * that input, so this waits for the one after it.
 */
export async function turnAfterInput(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await nextTurn();
}

/**
 * As `turnAfterInput`, for small work that comes often. Each turn is given to half of those that wait: it is shorter than
 * with all of them, and they cannot come faster than they go.
 */
export function soonAfterInput(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.length === 0) setImmediate(() => setImmediate(giveTurn));
    waiting.push(resolve);
  });
}

function giveTurn(): void {
  const half = waiting.splice(0, Math.ceil(waiting.length / 2));
  if (waiting.length > 0) setImmediate(giveTurn);
  for (const resolve of half) resolve();
}
