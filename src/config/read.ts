import { createReadStream } from 'node:fs';
import { TextDecoder } from 'node:util';
import { accountFileIssues } from './accountFiles.ts';
import { fileProblem } from './fileProblem.ts';
import { loadConfig } from './load.ts';
import type { Loaded } from './load.ts';
import type { Environment } from './placeholders.ts';

const MAX_BYTES = 1_048_576;

export type ConfigResult = Loaded;

/**
 * Reads and validates a configuration file, with the key files and certificate files that it names: those that are
 * missing, unreadable or empty are faults at the place where they are named. All faults are told at once.
 */
export async function readConfig(path: string, env: Environment): Promise<ConfigResult> {
  const read = await readText(path);
  if ('problem' in read) {
    return { faults: [{ file: path, line: undefined, column: undefined, path: '', message: read.problem }] };
  }
  return loadConfig({ path, text: read.text }, env, accountFileIssues);
}

async function readText(path: string): Promise<{ readonly text: string } | { readonly problem: string }> {
  const chunks: Buffer[] = [];
  try {
    // One byte more than is allowed tells that there is more, whatever kind of file it is.
    for await (const chunk of createReadStream(path, { end: MAX_BYTES })) chunks.push(chunk as Buffer);
  } catch (error) {
    return { problem: `the configuration file ${fileProblem(error)}` };
  }
  const bytes = Buffer.concat(chunks);
  if (bytes.length > MAX_BYTES) return { problem: 'the configuration file is larger than 1 MiB' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'the configuration file is not UTF-8 text: save it as UTF-8' };
  }
}
