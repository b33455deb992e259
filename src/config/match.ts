import type { Tag } from '../api/types.ts';
import { tagValues } from '../metrics/family.ts';

/**
 * Matches by id, or by name, tag or both. `name` and `value` are globs (`*` any run of characters, `?` one, case-sensitive).
 * `tag` is the key of a tag, not case-sensitive; without `value` any value of the tag matches.
 */
export interface EntityMatch {
  readonly id?: number | undefined;
  readonly name?: string | undefined;
  readonly tag?: string | undefined;
  readonly value?: string | undefined;
}

/** The properties that a match compares; no id where there is no number, no tags where the interface does not give them. */
export interface Matchable {
  readonly id?: number;
  readonly name: string;
  readonly tags?: readonly Tag[] | undefined;
}

/**
 * True when the pattern covers the whole text: `*` is any run of characters (also none), `?` is one, the rest is literal and
 * case-sensitive. The work is at most pattern length times text length, for every pattern.
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
      // Only the last star takes one more character, because the earlier stars took as few as possible.
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

/** True when an application or key transaction matches the configured name, id or tag. */
export function matches({ id, name, tag, value }: EntityMatch, entity: Matchable): boolean {
  if (id !== undefined) return id === entity.id;
  if (name !== undefined && !globMatches(name, entity.name)) return false;
  if (tag === undefined) return true;
  const found = tagValues(entity.tags ?? [], tag);
  return found !== undefined && (value === undefined || found.some((each) => globMatches(value, each)));
}
