import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configFromEnvironment, chooseConfigPath, describeOrigin } from '../../src/config/load.ts';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import type { Environment } from '../../src/config/yaml/placeholders.ts';
import { temporaryFolders } from './folder.ts';

const newFolder = temporaryFolders();

const faultsOf = (env: Environment): string[] => {
  const result = configFromEnvironment(env);
  return 'diagnostics' in result ? result.diagnostics.map(formatDiagnostic) : [];
};

describe('the source of the configuration', () => {
  it.each<[string, flag: string | undefined, hasFile: boolean, path: string | undefined]>([
    ['the named file', 'other.yaml', true, 'other.yaml'],
    ['the named file although it does not exist', 'other.yaml', false, 'other.yaml'],
    ['config.yaml where it exists', undefined, true, 'config.yaml'],
    ['the environment without a file', undefined, false, undefined],
  ])('is %s', (_, flag, hasFile, path) => {
    expect(chooseConfigPath(flag, (name) => hasFile && name === 'config.yaml')).toBe(path);
  });

  it.each([{}, { NEW_RELIC_API_KEY: '' }, { NEW_RELIC_REGION: 'eu' }])(
    'is missing, and the fault names all ways to give it: %j',
    (env) => {
      expect(faultsOf(env)).toEqual([
        'config.yaml: there is no such file, and neither NEW_RELIC_API_KEY nor NEW_RELIC_API_KEY_FILE is set: write the file (the command init writes one of what a key sees, config.example.yaml shows every key), name another with --config.file, or set one of the two; the command demo needs none of them',
      ]);
    },
  );

  it('is described in one line', () => {
    expect(describeOrigin('a.yaml')).toBe('configuration from a.yaml');
    expect(describeOrigin(undefined)).toBe(
      'no configuration file: one account named "default" from the environment variables, all else by default',
    );
  });
});

describe('a configuration from the environment', () => {
  it.each([
    [undefined, 'us', 'https://api.newrelic.com/graphql'],
    ['', 'us', 'https://api.newrelic.com/graphql'],
    ['eu', 'eu', 'https://api.eu.newrelic.com/graphql'],
    ['EU', 'eu', 'https://api.eu.newrelic.com/graphql'],
  ])('has one account named default, with region %j as %s', (variable, region, base_url) => {
    expect(configFromEnvironment({ NEW_RELIC_API_KEY: ' abcd ', NEW_RELIC_REGION: variable })).toMatchObject({
      config: { accounts: [{ name: 'default', region, base_url, api_key: 'abcd' }], collection: { window: 300_000 } },
    });
  });

  it('has the interface and the account number of the variables', () => {
    const env = { NEW_RELIC_API_KEY: 'NRAK-ABCD', NEW_RELIC_API: 'REST', NEW_RELIC_ACCOUNT_ID: '1234567' };
    const account = { api: 'rest', account_id: 1_234_567, base_url: 'https://api.eu.newrelic.com/v2' };
    expect(configFromEnvironment({ ...env, NEW_RELIC_REGION: 'eu' })).toMatchObject({
      config: { accounts: [account] },
      warnings: [],
    });
    const empty = { NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_API: '', NEW_RELIC_ACCOUNT_ID: '' };
    const accounts = [{ api: 'nerdgraph', account_id: undefined }];
    expect(configFromEnvironment(empty)).toMatchObject({ config: { accounts } });
  });

  it('takes the key from a file, or literally without expanding placeholders', () => {
    const file = join(newFolder(), 'key');
    writeFileSync(file, 'abcd\n');
    const accounts = [{ api_key: undefined, api_key_file: file }];
    expect(configFromEnvironment({ NEW_RELIC_API_KEY_FILE: file })).toMatchObject({ config: { accounts } });
    const asItIs = { accounts: [{ api_key: '${A}' }] };
    expect(configFromEnvironment({ NEW_RELIC_API_KEY: '${A}' })).toMatchObject({ config: asItIs });
  });

  const KEY = { NEW_RELIC_API_KEY: 'abcd' };
  it.each<[Environment, ...string[]]>([
    [{ ...KEY, NEW_RELIC_API_KEY_FILE: '/x' }, 'API_KEY_FILE: NEW_RELIC_API_KEY is set too: unset one of the two'],
    [
      { NEW_RELIC_API_KEY: 'S3CR3T S3CR3T', NEW_RELIC_REGION: 'mars' },
      'REGION: must be us, eu, gov or jp',
      'API_KEY: has a character that a key cannot have (a space, a line break or one beyond ASCII): check how it was copied',
    ],
    [
      { ...KEY, NEW_RELIC_API: 'soap', NEW_RELIC_ACCOUNT_ID: 'x1' },
      'ACCOUNT_ID: is not an account number, which has digits alone',
      'API: must be rest or nerdgraph',
    ],
    [{ ...KEY, NEW_RELIC_ACCOUNT_ID: '0' }, 'ACCOUNT_ID: must be at least 1'],
    [{ NEW_RELIC_API_KEY_FILE: '/nowhere/key' }, 'API_KEY_FILE: the key file /nowhere/key does not exist'],
  ])('names the variable in each fault: %j', (env, ...faults) => {
    expect(faultsOf(env)).toEqual(faults.map((fault) => `environment: NEW_RELIC_${fault}`));
  });
});
