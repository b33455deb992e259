import { randomUUID } from 'node:crypto';
import { createWriteStream, existsSync, statSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { UsageError } from '../process/usageError.ts';
import { WorkFolder } from './workFolder.ts';

export interface TargetOptions {
  /** Undefined: standard output. */
  readonly output: string | undefined;
  readonly force: boolean;
  readonly resume: boolean;
}

/** Where the document goes, and the folder it is made in. */
export interface Target {
  readonly folder: WorkFolder;
  /** True when what is in the folder can be resumed after a failure. */
  readonly resumable: boolean;
  /** Makes the folder, empty unless a run is resumed. */
  open(): Promise<void>;
  /** Writes the document; a file has its name only once it is complete. */
  write(pieces: AsyncIterable<string>, signal: AbortSignal): Promise<void>;
}

/**
 * Throws a UsageError where the output cannot be a file or would overwrite something, or there is nothing to resume. `stdout` is where the
 * document goes without an output file.
 */
export function chooseTarget({ output, force, resume }: TargetOptions, stdout: NodeJS.WritableStream): Target {
  if (output === undefined) {
    if (resume) throw new UsageError('--resume needs the --output of the run that was interrupted');
    return toStandardOutput(stdout);
  }
  if (isFolder(output)) throw new UsageError(`--output: ${output} is a folder: name a file in it`);
  const folder = new WorkFolder(`${output}.backfill`);
  const isThere = existsSync(folder.path);
  const refuseToOverwrite = (): void => {
    if (existsSync(output) && !force) throw new UsageError(`${output} exists: --force overwrites it`);
  };
  refuseToOverwrite();
  if (resume && !isThere) throw new UsageError(`there is no run to resume: ${folder.path} does not exist`);
  const place = dirname(output);
  if (!isFolder(place)) throw new UsageError(`--output: there is no folder ${place}: make it, or name another file`);
  if (isThere && !resume && !force) {
    throw new UsageError(`an interrupted run is in ${folder.path}: go on with --resume, or start anew with --force`);
  }
  return {
    folder,
    resumable: true,
    open: async () => {
      if (!resume) await folder.remove();
      await mkdir(folder.path, { recursive: resume });
    },
    write: async (pieces, signal) => {
      const unfinished = folder.file('document');
      // Flushed, so that after a power cut the name stands for the whole document.
      await pipeline(pieces, createWriteStream(unfinished, { flush: true }), { signal });
      refuseToOverwrite();
      await rename(unfinished, output);
    },
  };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function toStandardOutput(stdout: NodeJS.WritableStream): Target {
  const folder = new WorkFolder(join(tmpdir(), `newrelic-apm-exporter-backfill-${randomUUID()}`));
  return {
    folder,
    resumable: false,
    open: () => mkdir(folder.path, { mode: 0o700 }),
    write: (pieces, signal) => pipeline(pieces, stdout, { end: false, signal }),
  };
}
