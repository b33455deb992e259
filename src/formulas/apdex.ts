import type { Values } from './inputs.ts';

/** `Apdex` or `EndUser/Apdex`: the score from 0 to 1; how many requests were satisfied (s), tolerating (t), frustrated (f). */
type ApdexValues = Values<'score' | 'count' | 's' | 't' | 'f'>;

/**
 * The Apdex score; absent with 0 requests. The sum of the zones stands in for an absent count. Where neither is known, a
 * score of 0 is absent, because it may be that of 0 requests.
 */
export function apdexScore(apdex: ApdexValues | undefined): number | undefined {
  const count = apdex?.count ?? zoneSum(apdex);
  if (count === undefined) return apdex?.score === 0 ? undefined : apdex?.score;
  return count > 0 ? apdex?.score : undefined;
}

function zoneSum({ s, t, f }: ApdexValues = {}): number | undefined {
  return s === undefined || t === undefined || f === undefined ? undefined : s + t + f;
}
