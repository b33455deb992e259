import { createWriteStream, existsSync, lstatSync, readdirSync } from 'node:fs';
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { checkOutput } from '../outputFiles.ts';
import { UsageError } from '../../cli/process.ts';
import type { BackfillOptions } from './backfillFlags.ts';

/** The folder with the data of a run. Only runs write JSON files in it, complete or not at all. */
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

  /** Rejects with a UsageError if the file is damaged, as after a full disk. */
  async read<T>(name: string): Promise<T> {
    const text = await readFile(this.file(name), 'utf8');
    try {
      return JSON.parse(text) as T;
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
    await mkdir(dirname(this.file(name)), { recursive: true });
    await appendFile(this.file(name), text);
  }

  /** Removes a file or folder, or the whole checkpoint. */
  async remove(name = '.'): Promise<void> {
    await rm(this.file(name), { recursive: true, force: true });
  }
}

/** Chooses the checkpoint and the output of a run. Throws a UsageError if it cannot write, replace or resume it. */
export function chooseTarget({ output, force, resume }: BackfillOptions, stdout: NodeJS.WritableStream) {
  if (output === undefined && resume) {
    throw new UsageError('--resume needs the --output of the run that was interrupted');
  }
  const temporary = join(tmpdir(), `newrelic-apm-exporter-backfill-${randomUUID()}`);
  const checkpoint = new Checkpoint(output === undefined ? temporary : `${output}.backfill`);
  const exists = existsSync(checkpoint.path);
  if (resume && !exists) throw new UsageError(`there is no run to resume: ${checkpoint.path} does not exist`);
  const link = resume ? findLink(checkpoint.path) : undefined;
  if (link !== undefined) {
    throw new UsageError(`${link} is a symbolic link, and no run creates links: start anew with --force`);
  }
  if (output !== undefined) checkOutput(output, force);
  if (exists && !resume && !force) {
    const advice = 'continue with --resume, or start anew with --force';
    throw new UsageError(`an interrupted run is in ${checkpoint.path}: ${advice}`);
  }
  return {
    checkpoint,
    /** Creates the folder. Empties it unless the run resumes. */
    open: async (): Promise<void> => {
      if (!resume) await checkpoint.remove();
      await mkdir(checkpoint.path, { recursive: resume, mode: 0o700 });
    },
    /** Writes the document. An output file appears only once it is complete. */
    write: async (pieces: AsyncIterable<string>, signal: AbortSignal): Promise<void> => {
      if (output === undefined) return pipeline(pieces, stdout, { end: false, signal });
      const unfinished = checkpoint.file('document');
      // Flushes before the rename, so that the file is complete even after a power cut.
      await pipeline(pieces, createWriteStream(unfinished, { flush: true }), { signal });
      checkOutput(output, force);
      await rename(unfinished, output);
    },
  };
}

/** Finds a symbolic link at the path of the folder or in it. A resumed run would write through the link. */
function findLink(folder: string): string | undefined {
  if (lstatSync(folder).isSymbolicLink()) return folder;
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).find((entry) => entry.isSymbolicLink());
  return found === undefined ? undefined : join(found.parentPath, found.name);
}
