import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TextDecoder } from 'node:util';

/** No file that the program reads has more bytes than this: a larger one is a mistake, and would fill the memory. */
const MOST_BYTES = 8 * 1024 * 1024;

/** A pipe must have given all its text within this time, in milliseconds. */
const PIPE_LIMIT = 5_000;

/** How often a pipe without text is looked at again, in milliseconds. */
const PIPE_PAUSE = 20;

/** Without O_NONBLOCK a named pipe in the place of a file would hold the whole process. */
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

/** Why a file cannot be used, as the end of a sentence that begins with its name. */
interface FileProblem {
  readonly problem: string;
}

/**
 * Reads a file that a configuration, a flag or a variable names. Links are followed; what they end at must be a regular
 * file of at most 8 MB. It never waits for a pipe or a device. `identity` changes when the file is another one or has
 * changed; it is undefined without a file.
 */
export function readFile(
  path: string,
): ({ readonly bytes: Buffer } | FileProblem) & { readonly identity: string | undefined } {
  let file: number;
  try {
    file = openSync(path, FLAGS);
  } catch (error) {
    return { problem: fileProblem(error), identity: undefined };
  }
  try {
    const stats = fstatSync(file);
    const identity = identityOf(stats);
    const problem = kindProblem(stats);
    return problem === undefined ? { ...readAll(file), identity } : { problem, identity };
  } catch (error) {
    return { problem: fileProblem(error), identity: undefined };
  } finally {
    closeSync(file);
  }
}

/** As readFile, for a file of UTF-8 text. */
export function readText(path: string): { readonly text: string } | FileProblem {
  const read = readFile(path);
  return 'problem' in read ? read : decoded(read.bytes);
}

/**
 * As readText, and takes a pipe too, as a shell's `<(...)` gives: for what is read once. All of its text must come within
 * 5 seconds.
 */
export async function readTextOrPipe(path: string): Promise<{ readonly text: string } | FileProblem> {
  let file: number;
  try {
    file = openSync(path, FLAGS);
  } catch (error) {
    return { problem: fileProblem(error) };
  }
  try {
    if (!fstatSync(file).isFIFO()) return readText(path);
    const read = await readPipe(file);
    return 'problem' in read ? read : decoded(read.bytes);
  } catch (error) {
    return { problem: fileProblem(error) };
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

/** What went wrong with a file, as the end of a sentence that begins with its name. */
function fileProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  return SENTENCES[code] ?? `cannot be read (${code})`;
}

function kindProblem(stats: Stats): string | undefined {
  if (stats.isDirectory()) return 'is a directory, not a file';
  if (!stats.isFile()) return 'is not a regular file';
  return stats.size > MOST_BYTES ? TOO_LARGE : undefined;
}

/** Reads on from where the file is, also where its size was said to be smaller, as of files that the system makes up. */
function readAll(file: number): { readonly bytes: Buffer } | FileProblem {
  const pieces: Buffer[] = [];
  for (let size = 0; size <= MOST_BYTES;) {
    const piece = Buffer.allocUnsafe(65_536);
    const count = readSync(file, piece);
    if (count === 0) return { bytes: Buffer.concat(pieces) };
    pieces.push(piece.subarray(0, count));
    size += count;
  }
  return { problem: TOO_LARGE };
}

async function readPipe(file: number): Promise<{ readonly bytes: Buffer } | FileProblem> {
  const pieces: Buffer[] = [];
  const begin = performance.now();
  for (let size = 0; size <= MOST_BYTES;) {
    const piece = Buffer.allocUnsafe(65_536);
    const count = readNow(file, piece);
    // Before a writer has opened a named pipe, reading it gives its end.
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

/** How many bytes there are to read now; 0 at the end, undefined when there may be some later. */
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
