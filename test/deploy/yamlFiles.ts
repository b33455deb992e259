import { readFileSync, readdirSync, type Dirent } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT } from '../monitoring/ruleFiles.ts';

/** Everything under deploy/, folders and links too. */
export function deployEntries(): Dirent[] {
  return readdirSync(resolve(ROOT, 'deploy'), { recursive: true, withFileTypes: true });
}

/** Every file under deploy/, relative to the repository. */
export function deployFiles(): string[] {
  return deployEntries()
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .sort();
}

export function textOf(path: string): string {
  return readFileSync(resolve(ROOT, path), 'utf8');
}
