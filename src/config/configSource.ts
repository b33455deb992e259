import { type Diagnostic, formatPath, issue, type Issue } from './diagnostic.ts';
import { accountFileIssues, checkConfig, type ConfigResult, readConfig } from './load.ts';
import type { Environment } from './yaml/placeholders.ts';

/** The environment variables, by the keys of an account that they stand for. */
const VARIABLES: Readonly<Record<string, string>> = {
  region: 'NEW_RELIC_REGION',
  api: 'NEW_RELIC_API',
  account_id: 'NEW_RELIC_ACCOUNT_ID',
  api_key: 'NEW_RELIC_API_KEY',
  api_key_file: 'NEW_RELIC_API_KEY_FILE',
};

/** The configuration of a program without a file: one account named `default`, and all defaults. Without a key, a fault says what to do. */
export function configFromEnvironment(env: Environment): ConfigResult {
  // An empty variable counts as not set.
  const account = Object.fromEntries(Object.entries(VARIABLES).map(([key, name]) => [key, env[name] || undefined]));
  const { api_key: key, api_key_file: keyFile, account_id: id = '' } = account;
  if (key === undefined && keyFile === undefined) {
    const missing = { file: DEFAULT_CONFIG_FILE, line: undefined, column: undefined, path: '' };
    return { diagnostics: [{ ...missing, message: NO_CONFIGURATION }] };
  }
  if (key !== undefined && keyFile !== undefined) {
    const both = issue(['accounts', 0, 'api_key_file'], 'NEW_RELIC_API_KEY is set too: unset one of the two');
    return { diagnostics: [toDiagnostic(both)] };
  }
  // Any other text stays one, so that the schema refuses it.
  const number = /^[0-9]+$/.test(id) ? { account_id: Number(id) } : {};
  const file = { accounts: [{ name: 'default', ...account, ...number }] };
  const { config, issues, warnings } = checkConfig(file, '', accountFileIssues);
  if (config === undefined || issues.length > 0) return { diagnostics: issues.map(toDiagnostic) };
  return { config, warnings: warnings.map(toDiagnostic) };
}

function toDiagnostic({ path, message }: Pick<Issue, 'path' | 'message'>): Diagnostic {
  const place = formatPath(path);
  const variable = VARIABLES[place.replace('accounts[0].', '')] ?? place;
  return { file: 'environment', line: undefined, column: undefined, path: variable, message };
}

export const DEFAULT_CONFIG_FILE = 'config.yaml';

/** The file of the configuration: the named one (`--config.file`), else config.yaml if it exists; undefined for the environment. */
export function configPath(flag: string | undefined, exists: (path: string) => boolean): string | undefined {
  return flag ?? (exists(DEFAULT_CONFIG_FILE) ? DEFAULT_CONFIG_FILE : undefined);
}

const NO_CONFIGURATION =
  'there is no such file, and neither NEW_RELIC_API_KEY nor NEW_RELIC_API_KEY_FILE is set: write the file ' +
  '(config.example.yaml shows every key), name another with --config.file, or set one of the two';

/** Reads the configuration from a file or the environment. One that is read `once`, and not at a reload, may be a pipe. */
export function readFrom(path: string | undefined, env: Environment, once: boolean): Promise<ConfigResult> {
  return path === undefined ? Promise.resolve(configFromEnvironment(env)) : readConfig(path, env, once);
}

/** The source of the configuration, for the log line of the start. */
export function describeOrigin(path: string | undefined): string {
  return path === undefined
    ? 'no configuration file: one account named "default" from the environment variables, all else by default'
    : `configuration from ${path}`;
}
