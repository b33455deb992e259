import { isObject } from './shapes.ts';
import { HIDDEN, KeyMask } from './keyMask.ts';

const LONGEST_TITLE = 120;
/** Bounds for the work on a body that is made to be costly. */
const LONGEST_READ = 10_000;
const LONGEST_KEY = 256;
const MOST_KEYS = 10;
const DEEPEST = 4;
/** A key of the service, or the beginning of one, whosever it is: upstream may show a part of the key that it was sent. */
const KEY_LIKE = /NR[A-Z]{2}-[A-Z0-9]+/gi;

/**
 * What an error body says, for a message: the title in the shapes that public clients read, without control characters, with
 * the key hidden, cut to 120 characters. Undefined for anything else, such as a web page.
 */
export function errorTitle(text: string, mask: KeyMask): string | undefined {
  try {
    return titleOf(JSON.parse(text), mask);
  } catch {
    return undefined;
  }
}

/** As `errorTitle`, of a body that has been parsed. */
export function titleOf(body: unknown, mask: KeyMask): string | undefined {
  const title = findTitle(body);
  if (title === undefined) return undefined;
  // A 401 echoes the key it was sent, which may be an older one than ours.
  const echoed = echoedKeys(body, DEEPEST)
    .slice(0, MOST_KEYS)
    .map((key) => new KeyMask(key));
  const shown = [mask, ...echoed]
    .reduce((text, each) => each.hide(text), withoutControls(title.slice(0, LONGEST_READ)))
    .replace(KEY_LIKE, HIDDEN);
  return shown === '' ? undefined : Array.from(shown).slice(0, LONGEST_TITLE).join('');
}

/** Whether a body reports an error, which a status of 200 does not rule out. */
export function hasError(body: Readonly<Record<string, unknown>>): boolean {
  const { error, errors } = body;
  return isGiven(error) || (Array.isArray(errors) ? errors.length > 0 : isObject(errors));
}

/** Null stands for no error, as a missing member does. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function findTitle(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const errors: readonly unknown[] = Array.isArray(body['errors']) ? body['errors'] : [];
  for (const error of [body['error'], errors[0]]) {
    if (typeof error === 'string') return error;
    if (!isObject(error)) continue;
    const title = error['title'] ?? error['message'];
    if (typeof title === 'string') return title;
  }
  return undefined;
}

function echoedKeys(body: unknown, depth: number): string[] {
  if (!isObject(body) || depth === 0) return [];
  return Object.entries(body).flatMap(([name, value]) => (isKey(name, value) ? [value] : echoedKeys(value, depth - 1)));
}

function isKey(name: string, value: unknown): value is string {
  return name === 'api_key' && typeof value === 'string' && value.length <= LONGEST_KEY;
}

function withoutControls(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim();
}
