import process from 'node:process';
import { accessSync, constants, existsSync, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../cli/process.ts';

/** Checks the file of `--output` before anything is read. Throws a UsageError where it cannot be written or replaced. */
export function checkOutput(file: string, force: boolean): void {
  if (/(?:^|[/\\])$/.test(file)) throw new UsageError('--output: the name of a file is missing behind the folder');
  const folder = dirname(file);
  if (!isFolder(folder)) {
    const problem = existsSync(folder) ? `${folder} is no folder:` : `there is no folder ${folder}: make it, or`;
    throw new UsageError(`--output: ${problem} choose another name`);
  }
  if (isFolder(file)) {
    throw new UsageError(`--output: ${file} cannot be replaced: a folder has that name. Choose another`);
  }
  // A link to nowhere exists, too: it would be replaced, or lead somewhere else.
  const exists = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  if (exists && !force) {
    throw new UsageError(`--output: ${file} would be replaced: give --force, or choose another name`);
  }
  const refusing = [folder, ...(exists ? [file] : [])].find((path) => !isWritable(path));
  if (refusing !== undefined) {
    throw new UsageError(`--output: ${refusing} cannot be written: change its permissions, or choose another name`);
  }
}

/** Says on standard error what was written, and what to do with it. */
export function noteWritten(file: string, content: string, next: string): void {
  process.stderr.write(`${file} is written: ${content}. Next: ${next}\n`);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
