import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { readFile as readToEnd } from 'node:fs/promises';
import { TextDecoder } from 'node:util';

/** Maximum size of a file in bytes. Larger files are mistakes, and would fill the memory. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Without O_NONBLOCK, opening a named pipe blocks the whole process until a writer opens it. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

const PROBLEM_BY_CODE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  EISDIR: 'is a directory, not a file',
  ELOOP: 'cannot be read: its symbolic links lead in a circle',
};

const TOO_LARGE = 'is larger than 8 MB';

/** Why a file cannot be used: the end of a sentence that begins with its name. */
export interface FileProblem {
  readonly problem: string;
}

/** Reads a regular file of at most 8 MB. Follows links, and never waits for a pipe or device. */
export function readFile(path: string): { readonly bytes: Buffer } | FileProblem {
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS);
    const stats = fstatSync(file);
    // A directory passes this check. Reading it then fails with EISDIR, whose message says more.
    if (!stats.isFile() && !stats.isDirectory()) return { problem: 'is not a regular file' };
    if (stats.size > MAX_BYTES) return { problem: TOO_LARGE };
    // Check the bytes too: generated files, such as those in /proc, report size 0.
    const bytes = readFileSync(file);
    return bytes.length > MAX_BYTES ? { problem: TOO_LARGE } : { bytes };
  } catch (error) {
    return { problem: describeFailure(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

export function readText(path: string): { readonly text: string } | FileProblem {
  const read = readFile(path);
  return 'problem' in read ? read : decode(read.bytes);
}

/** Reads UTF-8 text from a file. Reads a pipe, such as `<(...)` of a shell, until its end. */
export async function readTextOrPipe(path: string): Promise<{ readonly text: string } | FileProblem> {
  try {
    return statSync(path).isFIFO() ? decode(await readToEnd(path)) : readText(path);
  } catch (error) {
    return { problem: describeFailure(error) };
  }
}

/** Returns a text that changes when the file is replaced or modified; undefined without a file. */
export function readIdentity(path: string): string | undefined {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return undefined;
  }
}

function describeFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  return PROBLEM_BY_CODE[code] ?? `cannot be read (${code})`;
}

function decode(bytes: Buffer): { readonly text: string } | FileProblem {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8 text: save it as UTF-8' };
  }
}
