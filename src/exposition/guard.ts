/**
 * Which families are left out so that no more than `limit` series remain: whole ones, the largest first (of equal ones the
 * first by name), with the number of their series (contract 2, `max_series`).
 */
export function overflowing(series: ReadonlyMap<string, number>, limit: number): ReadonlyMap<string, number> {
  let total = [...series.values()].reduce((sum, count) => sum + count, 0);
  const dropped = new Map<string, number>();
  const largestFirst = [...series].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  for (const [name, count] of largestFirst) {
    if (total <= limit) {
      break;
    }
    dropped.set(name, count);
    total -= count;
  }
  return dropped;
}
