/** `1 name`, `2 names`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** "; did you mean ...?" with the known name nearest to a misspelt or shortened one, or nothing when none is near. */
export function suggest(name: string, known: readonly string[]): string {
  const limit = Math.max(2, Math.floor(name.length / 3));
  const candidates = known
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate.toLowerCase(), limit) }))
    .filter(({ candidate, distance }) => distance < candidate.length)
    .toSorted((a, b) => a.distance - b.distance);
  const best =
    candidates.find((entry) => entry.distance <= limit) ??
    candidates.find(({ candidate }) => name.length > 1 && candidate.startsWith(name));
  return best === undefined ? '' : `; did you mean "${best.candidate}"?`;
}

/** Levenshtein's distance; `limit + 1` without a calculation when the lengths alone differ by more than the limit. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min((above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution));
    }
    above = current;
  }
  return above[b.length] ?? 0;
}
