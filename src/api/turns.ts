import { setImmediate as nextTurn } from 'node:timers/promises';

/** Hands each element over, in order, with a pause in which other work goes on after every `perTurn`. */
export async function inTurns<T>(list: readonly T[], perTurn: number, take: (each: T) => void): Promise<void> {
  for (let start = 0; start < list.length; start += perTurn) {
    if (start > 0) await nextTurn();
    for (const each of list.slice(start, start + perTurn)) take(each);
  }
}
