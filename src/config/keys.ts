import type { AccountConfig } from './config.ts';
import { identityAt, readFile } from './files.ts';

/** A key without the white space around it, or why there is none, which never quotes it. */
type KeyResult = { readonly key: string } | { readonly problem: string };

const MAX_KEY_FILE_BYTES = 16_384;

/** Licence keys (for agents) end in NRAL; keys that insert events, and those of browser and mobile agents, begin so. */
const SENDING_KEY = /NRAL$|^NR(?:II|JS|BR)-/;

/** Why a text cannot be sent as a key, as a sentence that does not quote it; undefined when it can. */
export function keyProblem(key: string): string | undefined {
  if (key === '') return 'must not be empty';
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return 'has a character that a key cannot have (a space, a line break or one beyond ASCII): check how it was copied';
  }
  if (SENDING_KEY.test(key)) {
    return 'is a licence key or another key that only sends data: use a user key, which begins with NRAK-';
  }
  return undefined;
}

/** Why the key in a file cannot be used, as the end of a sentence that begins with the file; undefined when it can. */
export function keyFileProblem(path: string): string | undefined {
  const { result } = readKeyFile(path);
  return 'problem' in result ? result.problem : undefined;
}

/** A problem of a key file as a whole sentence. */
function inKeyFile(path: string, problem: string): string {
  return `the key file ${path} ${problem}`;
}

interface KeyFile {
  readonly result: KeyResult;
  /** What a later look is compared with; undefined when there is no such file. */
  readonly identity: string | undefined;
}

/** Reads a key file; a file of any other kind, a large one and an unusable key are problems. */
function readKeyFile(path: string): KeyFile {
  const read = readFile(path);
  const { identity } = read;
  if ('problem' in read) return { result: { problem: read.problem }, identity };
  if (read.bytes.length > MAX_KEY_FILE_BYTES) return { result: { problem: 'is larger than a key can be' }, identity };
  const key = read.bytes.toString('utf8').trim();
  const problem = key === '' ? 'is empty' : keyProblem(key);
  return { result: problem === undefined ? { key } : { problem }, identity };
}

const MILLISECONDS_BETWEEN_LOOKS = 1_000;

interface KeySourceOptions {
  /** Unix time in milliseconds. */
  readonly now: () => number;
  /** Called with each key, the first included, before it is used: for hiding it in logs. */
  readonly onKey: (key: string) => void;
  /** Called once when the file can no longer be used, with the reason; the last good key stays in use. */
  readonly onProblem: (problem: string) => void;
}

/**
 * The key of one account as it is now. A key file is looked at again at most once a second, when the key is asked for,
 * and read again when it is another file or has changed (an editor's rename and a mounted secret's swapped link alike).
 */
export class KeySource {
  readonly #path: string | undefined;
  readonly #options: KeySourceOptions;
  #key: string;
  #identity: string | undefined;
  #problem: string | undefined;
  #lastLook: number;

  private constructor(path: string | undefined, key: string, identity: string | undefined, options: KeySourceOptions) {
    this.#path = path;
    this.#key = key;
    this.#identity = identity;
    this.#options = options;
    this.#lastLook = options.now();
    options.onKey(key);
  }

  /** The source for an account, or why there is no key to begin with. */
  static open(
    { api_key, api_key_file }: Pick<AccountConfig, 'api_key' | 'api_key_file'>,
    options: KeySourceOptions,
  ): { readonly source: KeySource } | { readonly problem: string } {
    const path = api_key === undefined ? api_key_file : undefined;
    const { result, identity } =
      path === undefined ? { result: written(api_key), identity: undefined } : readKeyFile(path);
    if (!('problem' in result)) return { source: new KeySource(path, result.key, identity, options) };
    return { problem: path === undefined ? result.problem : inKeyFile(path, result.problem) };
  }

  /** The key to send now. */
  current(): string {
    this.#look();
    return this.#key;
  }

  #look(): void {
    const now = this.#options.now();
    if (this.#path === undefined || Math.abs(now - this.#lastLook) < MILLISECONDS_BETWEEN_LOOKS) return;
    this.#lastLook = now;
    if (this.#identity !== undefined && identityAt(this.#path) === this.#identity) return;
    const { result, identity } = readKeyFile(this.#path);
    this.#identity = identity;
    if ('problem' in result) {
      if (this.#problem === undefined) this.#options.onProblem(inKeyFile(this.#path, result.problem));
      this.#problem = result.problem;
      return;
    }
    this.#problem = undefined;
    if (result.key === this.#key) return;
    this.#options.onKey(result.key);
    this.#key = result.key;
  }
}

/** The key as the configuration has it. */
function written(key: string | undefined): KeyResult {
  return key === undefined ? { problem: 'there is neither a key nor a key file' } : { key };
}
