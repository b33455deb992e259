/**
 * Which families are left out so that no more than `limit` series remain (`collection.max_series` in
 * docs/configuration.md): the largest first, of equally large ones the first by name. Gives the number of series of each.
 *
 * @param series number of series by family
 */
export function familiesOverLimit(limit: number, series: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  let total = 0;
  for (const count of series.values()) total += count;
  const dropped = new Map<string, number>();
  if (total <= limit) return dropped;
  const largestFirst = [...series].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  for (const [name, count] of largestFirst) {
    if (total <= limit) break;
    dropped.set(name, count);
    total -= count;
  }
  return dropped;
}
