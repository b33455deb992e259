import { type Diagnostic, formatPath, issue, type Issue } from './diagnostic.ts';
import { accountFileIssues, checkConfig, type ConfigResult, readConfig } from './load.ts';
import type { Environment } from './yaml/placeholders.ts';

const VARIABLES: Readonly<Record<string, string>> = {
  'accounts[0].api_key': 'NEW_RELIC_API_KEY',
  'accounts[0].api_key_file': 'NEW_RELIC_API_KEY_FILE',
  'accounts[0].region': 'NEW_RELIC_REGION',
  'accounts[0].api': 'NEW_RELIC_API',
  'accounts[0].account_id': 'NEW_RELIC_ACCOUNT_ID',
};

/** The configuration of a program without a file: one account named `default`, and defaults for everything else. */
export function configFromEnvironment(env: Environment): ConfigResult {
  const keyFile = valueOf(env, 'NEW_RELIC_API_KEY_FILE');
  if (keyFile !== undefined && valueOf(env, 'NEW_RELIC_API_KEY') !== undefined) {
    const both = issue(['accounts', 0, 'api_key_file'], 'NEW_RELIC_API_KEY is set too: unset one of the two');
    return { diagnostics: [toDiagnostic(both)] };
  }
  const file = {
    accounts: [
      {
        name: 'default',
        region: valueOf(env, 'NEW_RELIC_REGION'),
        api: valueOf(env, 'NEW_RELIC_API'),
        account_id: numberOf(valueOf(env, 'NEW_RELIC_ACCOUNT_ID')),
        api_key: valueOf(env, 'NEW_RELIC_API_KEY'),
        api_key_file: valueOf(env, 'NEW_RELIC_API_KEY_FILE'),
      },
    ],
  };
  const { config, issues, warnings } = checkConfig(file, '', accountFileIssues);
  if (config === undefined || issues.length > 0) return { diagnostics: issues.map(toDiagnostic) };
  return { config, warnings: warnings.map(toDiagnostic) };
}

function toDiagnostic({ path, message }: Pick<Issue, 'path' | 'message'>): Diagnostic {
  const variable = VARIABLES[formatPath(path)] ?? formatPath(path);
  return { file: 'environment', line: undefined, column: undefined, path: variable, message };
}

/** The number that a text of digits stands for; any other text unchanged, so that the schema refuses it. */
function numberOf(text: string | undefined): number | string | undefined {
  return text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : text;
}

/** The value of a variable; an empty one counts as not set. */
function valueOf(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}

export const DEFAULT_CONFIG_FILE = 'config.yaml';

/**
 * Chooses the source of the configuration: the path of the named file (`--config.file`), which must exist; else config.yaml if it
 * exists; else undefined, for the environment. Without any of these, the diagnostic says what to do.
 */
export function findConfig(
  flag: string | undefined,
  env: Environment,
  exists: (path: string) => boolean,
): { readonly path: string | undefined } | { readonly diagnostics: readonly Diagnostic[] } {
  if (flag !== undefined) return { path: flag };
  if (exists(DEFAULT_CONFIG_FILE)) return { path: DEFAULT_CONFIG_FILE };
  if (valueOf(env, 'NEW_RELIC_API_KEY') ?? valueOf(env, 'NEW_RELIC_API_KEY_FILE')) return { path: undefined };
  const message =
    'there is no such file, and neither NEW_RELIC_API_KEY nor NEW_RELIC_API_KEY_FILE is set: write the file ' +
    '(config.example.yaml shows every key), name another with --config.file, or set one of the two';
  return { diagnostics: [{ file: DEFAULT_CONFIG_FILE, line: undefined, column: undefined, path: '', message }] };
}

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
