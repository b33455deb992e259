import { dirname, isAbsolute, join } from 'node:path';
import type { AccountConfig, Config } from './config.ts';
import { sortFaults } from './fault.ts';
import type { Fault, Path } from './fault.ts';
import type { Issue } from './issues.ts';
import type { Environment } from './placeholders.ts';
import { validate } from './validate.ts';
import { warningsOf } from './warnings.ts';
import { readYaml } from './yaml/readYaml.ts';

/** A valid configuration with its warnings, or everything that is wrong with it, in file order. */
export type Loaded =
  { readonly config: Config; readonly warnings: readonly Fault[] } | { readonly faults: readonly Fault[] };

/**
 * Reads the text of a configuration file : YAML 1.2, placeholders replaced from the environment, validated,
 * defaults filled in. `fileIssues` looks at the files that it names. Relative file names in it are relative to the folder it is in. Never throws for what a text may hold. No fault quotes a value of the file.
 */
export function loadConfig(
  source: { readonly path: string; readonly text: string },
  env: Environment,
  fileIssues: (file: unknown, folder: string) => readonly Issue[] = () => [],
): Loaded {
  const file = readYaml(source, env);
  const { value, faults } = file;
  if (value === undefined) return { faults };
  const result = validate(value, (path) => file.textAt(path));
  const issues = [...('issues' in result ? result.issues : []), ...fileIssues(value, dirname(source.path))].filter(
    ({ path }) => !file.isFaulty(path),
  );
  const all = sortFaults([...faults, ...issues.map(({ path, message, at }) => file.fault(path, message, at))]);
  if ('issues' in result || all.length > 0) return { faults: all };
  const config = { ...result.config, accounts: result.config.accounts.map((account) => besides(source.path, account)) };
  const faultAt = (path: Path, message: string): Fault => file.fault(path, message, 'value');
  return { config, warnings: warningsOf(config, faultAt) };
}

function besides(file: string, account: AccountConfig): AccountConfig {
  const locate = (path: string | undefined): string | undefined =>
    path === undefined || isAbsolute(path) ? path : join(dirname(file), path);
  const { api_key_file, tls } = account;
  return { ...account, api_key_file: locate(api_key_file), tls: { ...tls, ca_file: locate(tls.ca_file) } };
}
