import { setTimeout as sleep } from 'node:timers/promises';

/** What a condition throws when it cannot come true any more: the program that it is about has ended. */
export class ProgramEnded extends Error {}

type NotYet = undefined | false;

/**
 * Waits until the condition gives something other than undefined and false, and gives that back. A condition that throws counts
 * as not yet met, but for a program that has ended; the last fault is named when the limit (milliseconds) has passed.
 */
export async function until<T>(
  what: string,
  condition: () => T | NotYet | Promise<T | NotYet>,
  limit = 180_000,
): Promise<Exclude<T, NotYet>> {
  const end = Date.now() + limit;
  let fault = '';
  // Short at first, then longer: what takes seconds need not be asked for twenty times in each.
  let pause = 10;
  while (Date.now() < end) {
    try {
      const result = await condition();
      if (result !== undefined && result !== false) return result as Exclude<T, NotYet>;
    } catch (error) {
      if (error instanceof ProgramEnded) throw error;
      fault = `; last fault: ${String(error)}`;
    }
    await sleep(pause);
    pause = Math.min(300, pause * 1.3);
  }
  throw new Error(`waited ${limit / 1000} s in vain for ${what}${fault}`);
}
