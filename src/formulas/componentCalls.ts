import { perSecond } from './perSecond.ts';

/** Calls of a component per second, from its `call_count` and the length of its timeslice (contract 5.4). */
export function componentCalls(calls: number | undefined, seconds: number): number | undefined {
  return perSecond(calls, seconds);
}
