import { createReadStream } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { TextDecoder } from 'node:util';
import { accountFileIssues } from './accountFiles.ts';
import type { AccountConfig, Config } from './config.ts';
import { sortFaults } from './fault.ts';
import type { Fault, Path } from './fault.ts';
import { fileProblem } from './fileProblem.ts';
import type { Issue } from './issues.ts';
import type { Environment } from './placeholders.ts';
import { validate } from './validate.ts';
import { warningsOf } from './warnings.ts';
import { readYaml } from './yaml/readYaml.ts';

const MAX_BYTES = 1_048_576;

/** A valid configuration with its warnings, or everything that is wrong with it, in file order. */
export type ConfigResult =
  { readonly config: Config; readonly warnings: readonly Fault[] } | { readonly faults: readonly Fault[] };

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

/**
 * Reads the text of a configuration file: YAML 1.2, placeholders replaced from the environment, validated, defaults
 * filled in. Relative file names in it are relative to the folder it is in; `fileIssues` looks at the files. Never
 * throws for what a text may hold. No fault repeats a value of the file.
 */
export function loadConfig(
  source: { readonly path: string; readonly text: string },
  env: Environment,
  fileIssues: (file: unknown, folder: string) => readonly Issue[] = () => [],
): ConfigResult {
  const file = readYaml(source, env);
  const { value, faults } = file;
  if (value === undefined) return { faults };
  const result = validate(value, (path) => file.textAt(path));
  const issues = [...('issues' in result ? result.issues : []), ...fileIssues(value, dirname(source.path))].filter(
    ({ path }) => !file.isFaulty(path),
  );
  const all = sortFaults([...faults, ...issues.map(({ path, message, at }) => file.fault(path, message, at))]);
  if ('issues' in result || all.length > 0) return { faults: all };
  const config = {
    ...result.config,
    accounts: result.config.accounts.map((account) => resolveFiles(source.path, account)),
  };
  const faultAt = (path: Path, message: string): Fault => file.fault(path, message, 'value');
  return { config, warnings: warningsOf(config, faultAt) };
}

/** The account with its file names resolved against the folder of the configuration file. */
function resolveFiles(file: string, account: AccountConfig): AccountConfig {
  const locate = (path: string | undefined): string | undefined =>
    path === undefined || isAbsolute(path) ? path : join(dirname(file), path);
  const { api_key_file, tls } = account;
  return { ...account, api_key_file: locate(api_key_file), tls: { ...tls, ca_file: locate(tls.ca_file) } };
}

async function readText(path: string): Promise<{ readonly text: string } | { readonly problem: string }> {
  const chunks: Buffer[] = [];
  try {
    // Reading one byte more than is allowed shows that a file is too large, also for a pipe.
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
