import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { readFile as readToEnd } from 'node:fs/promises';
import { TextDecoder } from 'node:util';

/** Largest file that the program reads, in bytes: a larger one is a mistake, and would fill the memory. */
const MAX_BYTES = 8 * 1024 * 1024;

/** O_NONBLOCK, because a named pipe instead of a file would block the whole process. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  EISDIR: 'is a directory, not a file',
  ELOOP: 'cannot be read: its symbolic links lead in a circle',
};

const TOO_LARGE = 'is larger than 8 MB';

/** The reason why a file cannot be used, as the end of a sentence that begins with its name. */
export interface FileProblem {
  readonly problem: string;
}

/** Reads a regular file of at most 8 MB; links are followed, and a pipe or device is never waited for. */
export function readFile(path: string): { readonly bytes: Buffer } | FileProblem {
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS);
    const stats = fstatSync(file);
    // A directory is opened, but reading it fails with a reason of its own.
    if (!stats.isFile() && !stats.isDirectory()) return { problem: 'is not a regular file' };
    if (stats.size > MAX_BYTES) return { problem: TOO_LARGE };
    // The stated size says little: generated files such as those of /proc state 0.
    const bytes = readFileSync(file);
    return bytes.length > MAX_BYTES ? { problem: TOO_LARGE } : { bytes };
  } catch (error) {
    return { problem: fileProblem(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Like readFile, for a file of UTF-8 text. */
export function readText(path: string): { readonly text: string } | FileProblem {
  const read = readFile(path);
  return 'problem' in read ? read : decoded(read.bytes);
}

/** Reads text, also from a pipe such as a shell's `<(...)`, whose end it waits for. */
export async function readTextOrPipe(path: string): Promise<{ readonly text: string } | FileProblem> {
  try {
    return statSync(path).isFIFO() ? decoded(await readToEnd(path)) : readText(path);
  } catch (error) {
    return { problem: fileProblem(error) };
  }
}

/** The identity of the file that is at a path now, which changes when it is replaced or modified; undefined without a file. */
export function identityAt(path: string): string | undefined {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return undefined;
  }
}

/** The reason of a failed file operation, as the end of a sentence that begins with the file's name. */
function fileProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  return SENTENCES[code] ?? `cannot be read (${code})`;
}

function decoded(bytes: Buffer): { readonly text: string } | FileProblem {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8 text: save it as UTF-8' };
  }
}
