import process from 'node:process';
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../cli/process.ts';

/** Checks the file of `--output`. Throws a UsageError if the command cannot write or replace it. */
export function checkOutput(file: string, force: boolean): void {
  const refuse = (problem: string, remedy = ''): never => {
    throw new UsageError(`--output: ${problem}: ${remedy}choose another name`);
  };
  const folder = dirname(file);
  if (!isFolder(folder)) refuse(`there is no folder ${folder}`, 'make it, or ');
  if (/(?:^|[/\\])$/.test(file) || isFolder(file)) refuse(`${file} is a folder, not a file`);
  // A dangling link counts as existing: writing would replace it, or follow it.
  const exists = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  if (exists && !force) refuse(`${file} would be replaced`, 'give --force, or ');
  const unwritable = [folder, ...(exists ? [file] : [])].find((path) => !isWritable(path));
  if (unwritable !== undefined) refuse(`${unwritable} cannot be written`, 'change its permissions, or ');
}

export function noteWritten(file: string, content: string, next: string): void {
  process.stderr.write(`Wrote ${file}: ${content}. Next: ${next}\n`);
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
