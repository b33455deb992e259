import type { Fault, Path } from './fault.ts';
import { formatPath } from './fault.ts';
import { accountFileIssues } from './accountFiles.ts';
import type { Environment } from './placeholders.ts';
import type { ConfigResult } from './load.ts';
import { validate } from './validate.ts';
import { warningsOf } from './warnings.ts';

const VARIABLES: Readonly<Record<string, string>> = {
  'accounts[0].api_key': 'NEW_RELIC_API_KEY',
  'accounts[0].api_key_file': 'NEW_RELIC_API_KEY_FILE',
  'accounts[0].region': 'NEW_RELIC_REGION',
  'accounts[0].api': 'NEW_RELIC_API',
  'accounts[0].account_id': 'NEW_RELIC_ACCOUNT_ID',
};

/** True when a start without a configuration file is possible. A variable that is set but empty is not set. */
export function hasEnvironmentKey(env: Environment): boolean {
  return valueOf(env, 'NEW_RELIC_API_KEY') !== undefined || valueOf(env, 'NEW_RELIC_API_KEY_FILE') !== undefined;
}

/**
 * The configuration of a start without a file: one account named `default` with its key from NEW_RELIC_API_KEY or
 * NEW_RELIC_API_KEY_FILE, its region from NEW_RELIC_REGION and its interface from NEW_RELIC_API, both in either case of
 * letters, and its number from NEW_RELIC_ACCOUNT_ID; all else by default.
 */
export function configFromEnvironment(env: Environment): ConfigResult {
  const keyFile = valueOf(env, 'NEW_RELIC_API_KEY_FILE');
  if (keyFile !== undefined && valueOf(env, 'NEW_RELIC_API_KEY') !== undefined) {
    const message = 'NEW_RELIC_API_KEY is set too: unset one of the two';
    return { faults: [faultAt(['accounts', 0, 'api_key_file'], message)] };
  }
  const file = {
    accounts: [
      {
        name: 'default',
        region: valueOf(env, 'NEW_RELIC_REGION')?.toLowerCase(),
        api: valueOf(env, 'NEW_RELIC_API')?.toLowerCase(),
        account_id: numberOf(valueOf(env, 'NEW_RELIC_ACCOUNT_ID')),
        api_key: valueOf(env, 'NEW_RELIC_API_KEY'),
        api_key_file: valueOf(env, 'NEW_RELIC_API_KEY_FILE'),
      },
    ],
  };
  const result = validate(file, () => undefined);
  const issues = [...('issues' in result ? result.issues : []), ...accountFileIssues(file, '')];
  if ('issues' in result || issues.length > 0) {
    return { faults: issues.map(({ path, message }) => faultAt(path, message)) };
  }
  return { config: result.config, warnings: warningsOf(result.config, faultAt) };
}

function faultAt(path: Path, message: string): Fault {
  const variable = VARIABLES[formatPath(path)] ?? formatPath(path);
  return { file: 'environment', line: undefined, column: undefined, path: variable, message };
}

/** A text of digits as its number; any other text stays what it is, for the schema to refuse. */
function numberOf(text: string | undefined): number | string | undefined {
  return text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : text;
}

function valueOf(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}
