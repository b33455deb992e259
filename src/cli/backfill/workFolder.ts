import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * The folder beside the output in which a run keeps what it has read and calculated. A file is either there whole or not
 * at all, so what an interrupted run left can be trusted.
 */
export class WorkFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  file(name: string): string {
    return join(this.path, name);
  }

  has(name: string): boolean {
    return existsSync(this.file(name));
  }

  async read(name: string): Promise<unknown> {
    return JSON.parse(await readFile(this.file(name), 'utf8'));
  }

  async write(name: string, value: unknown): Promise<void> {
    const file = this.file(name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, JSON.stringify(value));
    await rename(`${file}.new`, file);
  }

  /** Removes a file or a folder in it, or all of it. */
  async remove(name = '.'): Promise<void> {
    await rm(this.file(name), { recursive: true, force: true });
  }
}
