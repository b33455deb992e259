import { createWriteStream, existsSync, lstatSync, readdirSync } from 'node:fs';
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { checkOutput } from '../outputFiles.ts';
import { UsageError } from '../../cli/process.ts';
import type { BackfillOptions } from './backfillFlags.ts';

/** The folder with what a run has read and calculated. A JSON file in it is complete or absent, so a resumed run can trust it. */
export class Checkpoint {
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

  /** Throws a UsageError where the file is damaged, as after a full disk or by an editor. */
  async read(name: string): Promise<unknown> {
    const text = await readFile(this.file(name), 'utf8');
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new UsageError(`${this.file(name)} is damaged: start anew with --force`);
    }
  }

  async write(name: string, value: unknown): Promise<void> {
    const file = this.file(name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, JSON.stringify(value));
    await rename(`${file}.new`, file);
  }

  async append(name: string, text: string): Promise<void> {
    const file = this.file(name);
    await mkdir(dirname(file), { recursive: true });
    await appendFile(file, text);
  }

  /** Removes a file or a folder in it, or all of it. */
  async remove(name = '.'): Promise<void> {
    await rm(this.file(name), { recursive: true, force: true });
  }
}

/**
 * The folder that a run works in, and where its document goes (standard output without a file). Throws a UsageError when the output
 * cannot be written, would replace something without `--force`, or has no run to resume.
 */
export function chooseTarget(
  { output, force, resume }: Pick<BackfillOptions, 'output' | 'force' | 'resume'>,
  stdout: NodeJS.WritableStream,
) {
  if (output === undefined && resume) {
    throw new UsageError('--resume needs the --output of the run that was interrupted');
  }
  const temporary = join(tmpdir(), `newrelic-apm-exporter-backfill-${randomUUID()}`);
  const checkpoint = new Checkpoint(output === undefined ? temporary : `${output}.backfill`);
  const exists = existsSync(checkpoint.path);
  if (resume && !exists) throw new UsageError(`there is no run to resume: ${checkpoint.path} does not exist`);
  const link = resume ? findLink(checkpoint.path) : undefined;
  if (link !== undefined) {
    throw new UsageError(`${link} is a symbolic link, and no run leaves one: start anew with --force`);
  }
  if (output !== undefined) checkOutput(output, force);
  if (exists && !resume && !force) {
    throw new UsageError(
      `an interrupted run is in ${checkpoint.path}: continue with --resume, or start anew with --force`,
    );
  }
  return {
    checkpoint,
    /** Makes the folder, empty unless a run is resumed. */
    open: async (): Promise<void> => {
      if (!resume) await checkpoint.remove();
      await mkdir(checkpoint.path, { recursive: resume, mode: 0o700 });
    },
    /** Writes the document; a file gets its name only once it is complete. */
    write: async (pieces: AsyncIterable<string>, signal: AbortSignal): Promise<void> => {
      if (output === undefined) return pipeline(pieces, stdout, { end: false, signal });
      const unfinished = checkpoint.file('document');
      // Flushed, so that after a power cut the name belongs to the whole document.
      await pipeline(pieces, createWriteStream(unfinished, { flush: true }), { signal });
      checkOutput(output, force);
      await rename(unfinished, output);
    },
  };
}

/** A symbolic link in place of the folder or in it, which a resumed run would write through. */
function findLink(folder: string): string | undefined {
  if (lstatSync(folder).isSymbolicLink()) return folder;
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).find((entry) => entry.isSymbolicLink());
  return found === undefined ? undefined : join(found.parentPath, found.name);
}
