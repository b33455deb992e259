import type { Values } from './inputs.ts';

/** `Apdex` or `EndUser/Apdex`: the score from 0 to 1; how many requests were satisfied (s), tolerating (t), frustrated (f). */
type ApdexValues = Values<'score' | 'count' | 's' | 't' | 'f'>;

/**
 * The Apdex score where it is a verdict: absent where `count` is 0. The zones stand in for an absent count; where neither
 * is known, a score of 0 may be a verdict over nothing and is absent.
 */
export function apdexScore(apdex: ApdexValues | undefined): number | undefined {
  const count = apdex?.count ?? zoneSum(apdex);
  if (count === undefined) return apdex?.score === 0 ? undefined : apdex?.score;
  return count > 0 ? apdex?.score : undefined;
}

function zoneSum({ s, t, f }: ApdexValues = {}): number | undefined {
  return s === undefined || t === undefined || f === undefined ? undefined : s + t + f;
}
