import { KeyMask } from './keyMask.ts';
import { isList, hasMembers, type Json } from './validation.ts';
import { KEY_LIKE, MASKED } from '../../log/secrets.ts';

const LONGEST_TITLE = 120;
/** Limits for reading a hostile body, far above those of genuine errors: characters, keys, members and reasons. */
const LONGEST_READ = 10_000;
const LONGEST_KEY = 256;
const MAX_KEYS = 10;
const MAX_MEMBERS = 1_000;
const MAX_REASONS = 5;

/** The title of an error body, for a message: at most 120 characters, keys hidden. The shapes are known from public clients. */
export function errorTitle(text: string, mask: KeyMask): string | undefined {
  try {
    return titleOf(JSON.parse(text), mask);
  } catch {
    return undefined;
  }
}

/** The same for a parsed body. */
export function titleOf(body: unknown, mask: KeyMask): string | undefined {
  const title = findTitle(body);
  if (title === undefined) return undefined;
  // The body of a 401 echoes the key of its request, which `mask` does not know if the key has changed since.
  const echoed = echoedKeys(body).map((key) => new KeyMask(key));
  const plain = title.slice(0, LONGEST_READ).replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim();
  // New Relic may show a part of the received key.
  const shown = [mask, ...echoed].reduce((text, each) => each.hide(text), plain).replace(KEY_LIKE, MASKED);
  return shown === '' ? undefined : Array.from(shown).slice(0, LONGEST_TITLE).join('');
}

/** True for a body that reports an error, which is possible even with status 200. */
export function hasError(body: Json): boolean {
  const { error, errors } = body;
  return (error ?? undefined) !== undefined || (Array.isArray(errors) ? errors.length > 0 : hasMembers(errors));
}

function findTitle(body: unknown): string | undefined {
  if (!hasMembers(body)) return undefined;
  const errors: readonly unknown[] = Array.isArray(body['errors']) ? body['errors'] : [];
  for (const error of [body['error'], errors[0]]) {
    if (typeof error === 'string') return error;
    if (!hasMembers(error)) continue;
    const title = error['title'] ?? error['message'];
    const reasons = reasonsIn(error['messages']);
    if (typeof title === 'string') return [title, reasons].filter((part) => part !== '').join(': ');
    if (reasons !== '') return reasons;
  }
  return undefined;
}

/** The messages beside a title: it says what failed ("The metric data could not be read"), and they say why. */
function reasonsIn(messages: unknown): string {
  if (!isList(messages)) return '';
  const texts = messages.slice(0, MAX_REASONS).filter((each) => typeof each === 'string');
  return texts.map((each) => each.slice(0, LONGEST_READ)).join('; ');
}

/** The keys that an error body echoes in members named `api_key`, among its first 1,000 members. */
function echoedKeys(body: unknown): string[] {
  const keys: string[] = [];
  const unvisited = [body];
  let visited = 0;
  for (let each = unvisited.shift(); each !== undefined; each = unvisited.shift()) {
    if (!hasMembers(each)) continue;
    for (const name in each) {
      visited += 1;
      if (visited > MAX_MEMBERS || keys.length === MAX_KEYS) return keys;
      const value = each[name];
      if (name === 'api_key' && typeof value === 'string' && value.length <= LONGEST_KEY) keys.push(value);
      else if (hasMembers(value)) unvisited.push(value);
    }
  }
  return keys;
}
