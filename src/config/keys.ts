import { findInvisible, isQuoted } from '../text/invisible.ts';
import { identityAt, readFile } from './files.ts';

interface KeyConfig {
  readonly api_key?: string | undefined;
  readonly api_key_file?: string | undefined;
}

const MAX_KEY_FILE_BYTES = 16_384;

/** Keys that only send data: licence keys end in NRAL; keys for events, browsers and mobile apps have a prefix. */
const SENDING_KEY = /NRAL$|^NR(?:II|JS|BR)-/;

/** A key with what stands before it in an env-file, a shell or a header: `NEW_RELIC_API_KEY=`, `export API_KEY=`, `Api-Key: `. */
const ASSIGNED = /^(?:export\s+|set\s+)?(?:[a-z]+[_-])+key\s*[=:]/i;

/** A variable that nothing has replaced: `$NAME`, `$(NAME)`, `%NAME%`, `{{ name }}`, or only its name. */
const UNREPLACED = /^(?:\$[A-Z]+(?:_[A-Z]+)+|\$\(.*\)|%\w+%|\{\{.*\}\}|NEW_?RELIC_[A-Z_]*KEY(?:_FILE)?)$/;

/** The reason why a text cannot be sent as a key, as the end of a sentence, without the text; undefined when it can. */
export function keyProblem(key: string): string | undefined {
  if (key === '') return 'must not be empty';
  if (isQuoted(key)) return 'has quotes around it, which became a part of the key: remove them';
  const invisible = findInvisible(key);
  if (invisible !== undefined) return `holds the invisible character ${invisible}: remove it`;
  if (ASSIGNED.test(key)) return 'has a name and a separator before the key: keep what comes after them';
  if (UNREPLACED.test(key)) {
    return 'names a variable that nothing has replaced: write ${NAME} in a configuration file, elsewhere the key itself';
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
/** New Relic keys that can no longer read, by their prefix or their form: admin and REST API keys. */
const OUTDATED_KEYS = /^NR(?!AK-)[A-Z]{2}-|^[0-9a-f]{40}(?:[0-9a-f]{7})?$/i;

/** The key of an account now; undefined where there is none, or its file cannot be used. */
export function keyOf({ api_key, api_key_file }: KeyConfig): string | undefined {
  if (api_key_file === undefined) return api_key;
  const read = readKeyFile(api_key_file);
  return 'key' in read ? read.key : undefined;
}

/** The end of a sentence about a key that New Relic does not accept; undefined for a user key. */
export function keyWarning(account: KeyConfig & { readonly region?: string | undefined }): string | undefined {
  const key = keyOf(account);
  // A proxy at an address of its own may take keys of its own.
  const isFine = account.region === undefined ? !OUTDATED_KEYS.test(key ?? '') : USER_KEY.test(key ?? '');
  if (key === undefined || isFine) return undefined;
  return 'is no user key: only user keys work, which begin with NRAK- (REST API keys ended on 1 March 2025)';
}

/** The reason why the key in a file cannot be used, as the end of a sentence that begins with the file. */
export function keyFileProblem(path: string): string | undefined {
  const read = readKeyFile(path);
  return 'problem' in read ? read.problem : undefined;
}

/**
 * Reads the key in a file, without the white space around it. A missing, unreadable or too large file and an unusable key give a
 * problem, which never quotes the key.
 */
function readKeyFile(path: string): { readonly key: string } | { readonly problem: string } {
  const read = readFile(path);
  if ('problem' in read) return read;
  if (read.bytes.length > MAX_KEY_FILE_BYTES) return { problem: 'is larger than a key can be' };
  const key = read.bytes.toString('utf8').trim();
  const problem = key === '' ? 'is empty' : keyProblem(key);
  return problem === undefined ? { key } : { problem };
}

const MILLISECONDS_BETWEEN_LOOKS = 1_000;

/**
 * Opens the key of an account, whose `current` checks the key file at most once a second, and reads it again when it was replaced
 * or modified (an editor's rename as well as the swapped link of a mounted secret). A problem says why there is no key at the
 * start. `onKey` gets each key before its use, so that logs can hide it; `onProblem` is called once when the file can no longer
 * be used, while the last good key stays in use. `now` gives Unix milliseconds.
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
  // Taken before reading, so that a change in between is seen the next time.
  let identity = identityAt(path);
  const first = readKeyFile(path);
  if ('problem' in first) return { problem: `the key file ${path} ${first.problem}` };
  let { key } = first;
  let problem: string | undefined;
  let lastLook = now();
  onKey(key);
  const current = (): string => {
    if (Math.abs(now() - lastLook) < MILLISECONDS_BETWEEN_LOOKS) return key;
    lastLook = now();
    const present = identityAt(path);
    if (present !== undefined && present === identity) return key;
    identity = present;
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
