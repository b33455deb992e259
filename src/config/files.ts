import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, statSync, type Stats } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TextDecoder } from 'node:util';

/** Largest file that the program reads, in bytes: a larger one is a mistake, and would fill the memory. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Time in which a pipe must deliver all its text, in milliseconds. */
const PIPE_LIMIT = 5_000;

/** Pause before an empty pipe is read again, in milliseconds. */
const PIPE_PAUSE = 20;

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
interface FileProblem {
  readonly problem: string;
}

/**
 * Reads a regular file of at most 8 MB; links are followed, and a pipe or device is never waited for. `identity` changes when
 * the file is replaced or modified; it is undefined without a file.
 */
export function readFile(
  path: string,
): ({ readonly bytes: Buffer } | FileProblem) & { readonly identity: string | undefined } {
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS);
    const stats = fstatSync(file);
    const identity = identityOf(stats);
    const problem = kindProblem(stats);
    if (problem !== undefined) return { problem, identity };
    // The stated size says little: generated files such as those of /proc state 0.
    const bytes = readFileSync(file);
    return bytes.length > MAX_BYTES ? { problem: TOO_LARGE, identity } : { bytes, identity };
  } catch (error) {
    return { problem: fileProblem(error), identity: undefined };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Like readFile, for a file of UTF-8 text. */
export function readText(path: string): { readonly text: string } | FileProblem {
  const read = readFile(path);
  return 'problem' in read ? read : decoded(read.bytes);
}

/** Reads text, also from a pipe such as a shell's `<(...)`, which must deliver all of it within 5 seconds. */
export async function readTextOrPipe(path: string): Promise<{ readonly text: string } | FileProblem> {
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS);
    if (!fstatSync(file).isFIFO()) return readText(path);
    const read = await readPipe(file);
    return 'problem' in read ? read : decoded(read.bytes);
  } catch (error) {
    return { problem: fileProblem(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The identity of the file that is at a path now; undefined without a file. */
export function identityAt(path: string): string | undefined {
  try {
    return identityOf(statSync(path));
  } catch {
    return undefined;
  }
}

/** The reason of a failed file operation, as the end of a sentence that begins with the file's name. */
function fileProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  return SENTENCES[code] ?? `cannot be read (${code})`;
}

function kindProblem(stats: Stats): string | undefined {
  if (stats.isDirectory()) return 'is a directory, not a file';
  if (!stats.isFile()) return 'is not a regular file';
  return stats.size > MAX_BYTES ? TOO_LARGE : undefined;
}

async function readPipe(file: number): Promise<{ readonly bytes: Buffer } | FileProblem> {
  const pieces: Buffer[] = [];
  const begin = performance.now();
  for (let size = 0; size <= MAX_BYTES;) {
    const piece = Buffer.allocUnsafe(65_536);
    const count = readNow(file, piece);
    // A named pipe reads as ended until a writer has opened it, so an empty one is read again.
    if (count === 0 && size > 0) return { bytes: Buffer.concat(pieces) };
    if (count === undefined || count === 0) {
      if (performance.now() - begin > PIPE_LIMIT) return { problem: 'is a pipe that did not end within 5 seconds' };
      await sleep(PIPE_PAUSE);
      continue;
    }
    pieces.push(piece.subarray(0, count));
    size += count;
  }
  return { problem: TOO_LARGE };
}

/** The number of bytes read without waiting; 0 at the end, undefined when more may come later. */
function readNow(file: number, into: Buffer): number | undefined {
  try {
    return readSync(file, into);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return undefined;
    throw error;
  }
}

function decoded(bytes: Buffer): { readonly text: string } | FileProblem {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8 text: save it as UTF-8' };
  }
}

function identityOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
}
