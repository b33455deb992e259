import type { Tag } from '../api/types.ts';
import { tagValues } from '../metrics/family.ts';

/**
 * Matches by id, or by name, tag or both. `name` and `value` are globs: `*` is any run of characters, `?` is one,
 * case counts. `tag` is the key of a tag in any case; without `value` any value matches.
 */
export interface EntityMatch {
  readonly id?: number | undefined;
  readonly name?: string | undefined;
  readonly tag?: string | undefined;
  readonly value?: string | undefined;
}

/** The properties that a match compares. Some interfaces give no `id` or no `tags`. */
export interface Matchable {
  readonly id?: number;
  readonly name: string;
  readonly tags?: readonly Tag[] | undefined;
}

/** True if the glob covers the whole text. Takes at most pattern length times text length steps. */
export function globMatches(pattern: string, text: string): boolean {
  const wanted = Array.from(pattern);
  const characters = Array.from(text);
  let p = 0;
  let t = 0;
  let lastStar = -1;
  let resumeAt = 0;
  while (t < characters.length) {
    if (wanted[p] === '*') {
      lastStar = p;
      resumeAt = t;
      p += 1;
    } else if (p < wanted.length && (wanted[p] === '?' || wanted[p] === characters[t])) {
      p += 1;
      t += 1;
    } else if (lastStar >= 0) {
      // Only the last star takes another character: earlier stars match as little as possible.
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

export function matches({ id, name, tag, value }: EntityMatch, entity: Matchable): boolean {
  if (id !== undefined) return id === entity.id;
  if (name !== undefined && !globMatches(name, entity.name)) return false;
  if (tag === undefined) return true;
  const found = tagValues(entity.tags ?? [], tag);
  return found !== undefined && (value === undefined || found.some((each) => globMatches(value, each)));
}
