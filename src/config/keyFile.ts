import { closeSync, fstatSync, openSync, readFileSync, statSync, constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { fileProblem } from './fileProblem.ts';

/** A key without the white space around it, or why there is none, which never quotes it. */
export type KeyResult = { readonly key: string } | { readonly problem: string };

const MAX_KEY_FILE_BYTES = 16_384;

/** Why a text cannot be sent as a key, as a sentence that does not quote it; undefined when it can. */
export function keyProblem(key: string): string | undefined {
  if (key === '') return 'must not be empty';
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return 'has a character that a key cannot have (a space, a line break or one beyond ASCII): check how it was copied';
  }
  return undefined;
}

/** Why the key in a file cannot be used, as the end of a sentence that begins with the file; undefined when it can. */
export function keyFileProblem(path: string): string | undefined {
  const { result } = readKeyFile(path);
  return 'problem' in result ? result.problem : undefined;
}

/** A problem of a key file as a whole sentence. */
export function inKeyFile(path: string, problem: string): string {
  return `the key file ${path} ${problem}`;
}

export interface KeyFile {
  readonly result: KeyResult;
  /** What a later look is compared with; undefined when there is no such file. */
  readonly identity: string | undefined;
}

/** Reads a key file; a file of any other kind, a large one and an unusable key are problems. */
export function readKeyFile(path: string): KeyFile {
  const failed = (problem: string, identity?: string): KeyFile => ({
    result: { problem },
    identity,
  });
  let file: number;
  try {
    // Without O_NONBLOCK a named pipe in the file's place would hold the whole process.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return failed(fileProblem(error));
  }
  try {
    const stats = fstatSync(file);
    const identity = identityOf(stats);
    if (stats.isDirectory()) return failed('is a directory, not a file', identity);
    if (!stats.isFile()) return failed('is not a regular file', identity);
    if (stats.size > MAX_KEY_FILE_BYTES) return failed('is larger than a key can be', identity);
    const key = readFileSync(file, 'utf8').trim();
    const problem = key === '' ? 'is empty' : keyProblem(key);
    return problem === undefined ? { result: { key }, identity } : failed(problem, identity);
  } catch (error) {
    return failed(fileProblem(error));
  } finally {
    closeSync(file);
  }
}

/** The identity of the file that is at a path now; undefined when there is none. */
export function identityAt(path: string): string | undefined {
  try {
    return identityOf(statSync(path));
  } catch {
    return undefined;
  }
}

function identityOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
}
