/** `Apdex` or `EndUser/Apdex`: the score from 0 to 1 and the counts of the window. */
interface ApdexValues {
  readonly score: number | undefined;
  readonly count: number | undefined;
  readonly satisfied: number | undefined;
  readonly tolerating: number | undefined;
  readonly frustrated: number | undefined;
}

/**
 * The Apdex score where it is a verdict: absent where `count` is 0 (contract 5.4). The zones stand in for an absent
 * count; where neither is known, a score of 0 may be a verdict over nothing and is absent.
 */
export function apdexScore(apdex: ApdexValues): number | undefined {
  const count = apdex.count ?? zoneSum(apdex);
  if (count === undefined) return apdex.score === 0 ? undefined : apdex.score;
  return count > 0 ? apdex.score : undefined;
}

function zoneSum({ satisfied, tolerating, frustrated }: ApdexValues): number | undefined {
  if (satisfied === undefined || tolerating === undefined || frustrated === undefined) return undefined;
  return satisfied + tolerating + frustrated;
}
