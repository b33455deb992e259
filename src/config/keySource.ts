import type { AccountConfig } from './config.ts';
import { identityAt, inKeyFile, readKeyFile } from './keyFile.ts';
import type { KeyResult } from './keyFile.ts';

const MILLISECONDS_BETWEEN_LOOKS = 1_000;

export interface KeySourceOptions {
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
