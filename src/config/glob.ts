import type { EntityMatch } from './config.ts';

/**
 * True when the pattern covers the whole text: `*` is any run of characters (also none), `?` is one, the rest is
 * literal and case counts. The work is at most pattern length times text length, for every pattern.
 */
export function globMatches(pattern: string, text: string): boolean {
  const wanted = Array.from(pattern);
  const given = Array.from(text);
  let p = 0;
  let t = 0;
  let lastStar = -1;
  let resumeAt = 0;
  while (t < given.length) {
    if (wanted[p] === '*') {
      lastStar = p;
      resumeAt = t;
      p += 1;
    } else if (p < wanted.length && (wanted[p] === '?' || wanted[p] === given[t])) {
      p += 1;
      t += 1;
    } else if (lastStar >= 0) {
      // Only the last star needs to take one more character: the stars before it took as few as possible.
      resumeAt += 1;
      p = lastStar + 1;
      t = resumeAt;
    } else {
      return false;
    }
  }
  while (wanted[p] === '*') p += 1;
  return p === wanted.length;
}

/** True when an application or key transaction is the one, or one of those, that the configuration names. */
export function matches(match: EntityMatch, entity: { readonly id: number; readonly name: string }): boolean {
  return 'id' in match ? match.id === entity.id : globMatches(match.name, entity.name);
}
