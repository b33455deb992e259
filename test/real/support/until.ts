import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until the condition gives something other than undefined, and gives that back. A condition that throws counts
 * as not yet met; the last fault is named when the limit (milliseconds) has passed.
 */
export async function until<T>(what: string, condition: () => Promise<T | undefined>, limit = 180_000): Promise<T> {
  const end = Date.now() + limit;
  let fault = '';
  // Short at first, then longer: what takes seconds need not be asked for twenty times in each.
  let pause = 50;
  while (Date.now() < end) {
    try {
      const result = await condition();
      if (result !== undefined) return result;
    } catch (error) {
      fault = `; last fault: ${String(error)}`;
    }
    await sleep(pause);
    pause = Math.min(300, pause * 1.2);
  }
  throw new Error(`waited ${limit / 1000} s in vain for ${what}${fault}`);
}
