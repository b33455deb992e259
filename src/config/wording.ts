import leven from 'leven';

/** `1 name`, `2 names`, `1,000 names`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${withCommas(count)} ${count === 1 ? noun : plural}`;
}

/** `12,345`, for a whole number. The first `toLocaleString` of a process would hold the event loop for 30 ms. */
export function withCommas(count: number): string {
  if (count < 1000) return String(count);
  return `${withCommas(Math.floor(count / 1000))},${String(count % 1000).padStart(3, '0')}`;
}

/** "; did you mean ...?" with the known name nearest to a misspelt or shortened one, or nothing when none, or no single one, is nearest. */
export function suggest(name: string, known: readonly string[]): string {
  const written = name.toLowerCase();
  const limit = Math.max(2, Math.floor(name.length / 3));
  const isNear = (candidate: string, distance: number): boolean => {
    if (distance <= limit && distance < candidate.length) return true;
    if (name.length < 2) return false;
    const begins = leven(written, candidate.slice(0, name.length)) <= name.length / 5;
    return begins || candidate.split(/[^\p{L}\p{N}]/u).some((word) => leven(written, word) <= name.length / 5);
  };
  const [best, next] = known
    .map((candidate) => ({ candidate, distance: leven(written, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => isNear(candidate.toLowerCase(), distance))
    .toSorted((a, b) => a.distance - b.distance);
  return best === undefined || best.distance === next?.distance ? '' : `; did you mean "${best.candidate}"?`;
}
