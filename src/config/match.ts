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
  const parts = pattern.split(/\*+/).map((part) => part.replace(/[\\^$.+|()[\]{}/]/g, '\\$&').replaceAll('?', '.'));
  const [first = '', last] = [parts.shift(), parts.pop()];
  // Each part takes its first place and never gives it back (a lookahead is not entered again), as the last star can make up for it.
  const middle = parts.map((part, index) => `(?=(.*?${part}))\\${index + 1}`).join('');
  return new RegExp(`^${first}${last === undefined ? '' : `${middle}.*${last}`}$`, 'su').test(text);
}

/** True when an application or key transaction matches the configured name, id or tag. */
export function matches({ id, name, tag, value }: EntityMatch, entity: Matchable): boolean {
  if (id !== undefined) return id === entity.id;
  if (name !== undefined && !globMatches(name, entity.name)) return false;
  if (tag === undefined) return true;
  const found = tagValues(entity.tags ?? [], tag);
  return found !== undefined && (value === undefined || found.some((each) => globMatches(value, each)));
}
