import { findInvisible, isQuoted } from '../text/invisible.ts';
import { readIdentity, readFile } from './files.ts';

interface KeyConfig {
  readonly api_key?: string | undefined;
  readonly api_key_file?: string | undefined;
}

const MAX_KEY_FILE_BYTES = 16_384;

/** Keys that only send data. Licence keys end in NRAL; keys for events, browsers and mobile apps have a prefix. */
const SENDING_KEY = /NRAL$|^NR(?:II|JS|BR)-/;

/** A key after a name, as in an env-file, a shell or a header: `NEW_RELIC_API_KEY=`, `export API_KEY=`, `Api-Key: `. */
const ASSIGNED = /^(?:export\s+|set\s+)?(?:[a-z]+[_-])+key\s*[=:]/i;

/** A variable without its value: `$NAME`, `$(NAME)`, `%NAME%`, `{{ name }}`, or only the name. */
const UNREPLACED = /^(?:\$[A-Z]+(?:_[A-Z]+)+|\$\(.*\)|%\w+%|\{\{.*\}\}|NEW_?RELIC_[A-Z_]*KEY(?:_FILE)?)$/;

/** Returns why a text cannot be a key, without the text; undefined for a valid key. The result ends a sentence. */
export function findKeyProblem(key: string): string | undefined {
  if (key === '') return 'must not be empty';
  if (isQuoted(key)) return 'has quotes around it, which became a part of the key: remove them';
  const invisible = findInvisible(key);
  if (invisible !== undefined) return `holds the invisible character ${invisible}: remove it`;
  if (ASSIGNED.test(key)) return 'begins with a name and "=" or ":": remove both, and keep only the key';
  if (UNREPLACED.test(key)) {
    return 'is the name of a variable, not its value: write ${NAME} in a configuration file, elsewhere the key itself';
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return 'has a character that a key cannot have (a space, a line break or one beyond ASCII): check how it was copied';
  }
  if (SENDING_KEY.test(key)) {
    return 'is a licence key or another key that only sends data: use a user key, which begins with NRAK-';
  }
  return undefined;
}

const USER_KEY = /^NRAK-/i;
/** Admin and REST API keys, by prefix or form. They can no longer read. */
const OUTDATED_KEYS = /^NR(?!AK-)[A-Z]{2}-|^[0-9a-f]{40}(?:[0-9a-f]{7})?$/i;

/** Returns the current key of an account; undefined without a key or a usable key file. */
export function readKey({ api_key, api_key_file }: KeyConfig): string | undefined {
  if (api_key_file === undefined) return api_key;
  const read = readKeyFile(api_key_file);
  return 'key' in read ? read.key : undefined;
}

/** Returns why New Relic does not accept a key, as the end of a sentence; undefined for a user key. */
export function warnOfKey(account: KeyConfig & { readonly region?: string | undefined }): string | undefined {
  const key = readKey(account);
  // A proxy at a `base_url` may take its own keys.
  const isFine = account.region === undefined ? !OUTDATED_KEYS.test(key ?? '') : USER_KEY.test(key ?? '');
  if (key === undefined || isFine) return undefined;
  return 'is not a user key: only user keys (NRAK-...) work, because REST API keys ended on 1 March 2025';
}

/** Reads the key in a file, without surrounding white space. A problem ends a sentence, and never quotes the key. */
export function readKeyFile(path: string): { readonly key: string } | { readonly problem: string } {
  const read = readFile(path);
  if ('problem' in read) return read;
  if (read.bytes.length > MAX_KEY_FILE_BYTES) return { problem: 'is larger than a key can be' };
  const key = read.bytes.toString('utf8').trim();
  const problem = key === '' ? 'is empty' : findKeyProblem(key);
  return problem === undefined ? { key } : { problem };
}

const CHECK_INTERVAL_MS = 1_000;

/**
 * Opens the key of an account. `current` checks the key file at most once a second, and reads it again after a
 * change: a modification, a rename by an editor, or the swapped link of a mounted secret. `onKey` gets each key before
 * its use, so that logs can hide it. `onProblem` is called once when the file becomes unusable; the last good key
 * stays in use. `now` gives Unix milliseconds.
 */
export function openKey(
  { api_key, api_key_file: path }: KeyConfig,
  options: {
    readonly now: () => number;
    readonly onKey: (key: string) => void;
    readonly onProblem: (problem: string) => void;
  },
): { readonly current: () => string } | { readonly problem: string } {
  const { now, onKey, onProblem } = options;
  if (api_key !== undefined) {
    onKey(api_key);
    return { current: () => api_key };
  }
  if (path === undefined) return { problem: 'there is neither a key nor a key file' };
  // Take the identity before reading the key. Then the next check notices a change during the read.
  let identity = readIdentity(path);
  const first = readKeyFile(path);
  if ('problem' in first) return { problem: `the key file ${path} ${first.problem}` };
  let { key } = first;
  let problem: string | undefined;
  let lastCheck = now();
  onKey(key);
  const current = (): string => {
    if (Math.abs(now() - lastCheck) < CHECK_INTERVAL_MS) return key;
    lastCheck = now();
    const currentIdentity = readIdentity(path);
    if (currentIdentity !== undefined && currentIdentity === identity) return key;
    identity = currentIdentity;
    const read = readKeyFile(path);
    if ('problem' in read) {
      if (problem === undefined) onProblem(`the key file ${path} ${read.problem}`);
      problem = read.problem;
      return key;
    }
    problem = undefined;
    if (read.key !== key) onKey(read.key);
    key = read.key;
    return key;
  };
  return { current };
}
