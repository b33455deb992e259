import process from 'node:process';
import { accessSync, constants, existsSync, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../cli/process.ts';

/**
 * Checks the files that `--output` names, before a command reads anything. Throws a UsageError where one of them has no
 * name, is a folder, would be replaced without `--force`, or cannot be written.
 *
 * @param options.makesFolder true if the command makes the folder of the files
 */
export function checkOutput(
  files: readonly string[],
  { force, makesFolder = false }: { readonly force: boolean; readonly makesFolder?: boolean },
): void {
  if (files.some((file) => /(?:^|[/\\])$/.test(file))) {
    throw new UsageError('--output: the name of a file is missing behind the folder');
  }
  const folderOf = (path: string): string =>
    makesFolder && !existsSync(dirname(path)) ? folderOf(dirname(path)) : dirname(path);
  const needed = [...new Set(files.map(folderOf))];
  const missing = needed.find((folder) => !isFolder(folder));
  if (missing !== undefined) {
    const problem = existsSync(missing) ? `${missing} is no folder:` : `there is no folder ${missing}: make it, or`;
    throw new UsageError(`--output: ${problem} choose another name`);
  }
  // A link to nowhere exists, too: it would be replaced, or lead somewhere else.
  const existing = files.filter((file) => lstatSync(file, { throwIfNoEntry: false }) !== undefined);
  const folders = existing.filter(isFolder);
  if (folders.length > 0) {
    throw new UsageError(`--output: ${folders.join(', ')} cannot be replaced: a folder has that name. Choose another`);
  }
  if (existing.length > 0 && !force) {
    throw new UsageError(`--output: ${existing.join(', ')} would be replaced: give --force, or choose another name`);
  }
  const refusing = [...needed, ...existing].find((path) => !isWritable(path));
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
