import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configFromEnvironment, configPath, describeOrigin, readFrom } from '../../src/config/configSource.ts';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import type { Environment } from '../../src/config/yaml/placeholders.ts';
import { temporaryFolders } from './folder.ts';

const newFolder = temporaryFolders();

const faultsOf = (env: Environment): string[] => {
  const result = configFromEnvironment(env);
  return 'diagnostics' in result ? result.diagnostics.map(formatDiagnostic) : [];
};

describe('the place of the configuration', () => {
  it.each<[string, flag: string | undefined, hasFile: boolean, path: string | undefined]>([
    ['the file that is named', 'other.yaml', true, 'other.yaml'],
    ['the file that is named, though it does not exist', 'other.yaml', false, 'other.yaml'],
    ['config.yaml where there is one', undefined, true, 'config.yaml'],
    ['the environment where there is no file', undefined, false, undefined],
  ])('is %s', (_, flag, hasFile, path) => {
    expect(configPath(flag, (name) => hasFile && name === 'config.yaml')).toBe(path);
  });

  it.each([{}, { NEW_RELIC_API_KEY: '' }, { NEW_RELIC_REGION: 'eu' }])('is told to be missing with %j', (env) => {
    expect(faultsOf(env)).toEqual([
      'config.yaml: there is no such file, and neither NEW_RELIC_API_KEY nor NEW_RELIC_API_KEY_FILE is set: write the file (config.example.yaml shows every key), name another with --config.file, or set one of the two',
    ]);
  });

  it('is said in one line', () => {
    expect(describeOrigin('a.yaml')).toBe('configuration from a.yaml');
    expect(describeOrigin(undefined)).toBe(
      'no configuration file: one account named "default" from the environment variables, all else by default',
    );
  });

  it('is read, whichever it is', async () => {
    const path = join(newFolder(), 'c.yaml');
    writeFileSync(path, 'accounts: [{name: filed, api_key: abcd}]');
    expect(await readFrom(path, {}, false)).toMatchObject({
      config: { accounts: [{ name: 'filed' }] },
    });
    expect(await readFrom(undefined, { NEW_RELIC_API_KEY: 'abcd' }, false)).toMatchObject({
      config: { accounts: [{ name: 'default' }] },
    });
  });
});

describe('a configuration from the environment', () => {
  it.each([
    [undefined, 'us', 'https://api.newrelic.com/graphql'],
    ['', 'us', 'https://api.newrelic.com/graphql'],
    ['eu', 'eu', 'https://api.eu.newrelic.com/graphql'],
    ['EU', 'eu', 'https://api.eu.newrelic.com/graphql'],
  ])('has one account named default, with region %j as %s', (given, region, base_url) => {
    expect(configFromEnvironment({ NEW_RELIC_API_KEY: ' abcd ', NEW_RELIC_REGION: given })).toMatchObject({
      config: {
        accounts: [{ name: 'default', region, base_url, api_key: 'abcd', hosts: true }],
        collection: { window: 300_000 },
      },
    });
  });

  it('has the interface and the number of the account', () => {
    const env = { NEW_RELIC_API_KEY: 'NRAK-ABCD', NEW_RELIC_API: 'REST', NEW_RELIC_ACCOUNT_ID: '1234567' };
    expect(configFromEnvironment({ ...env, NEW_RELIC_REGION: 'eu' })).toMatchObject({
      config: {
        accounts: [{ api: 'rest', account_id: 1_234_567, base_url: 'https://api.eu.newrelic.com/v2' }],
      },
      warnings: [],
    });
    expect(
      configFromEnvironment({ NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_API: '', NEW_RELIC_ACCOUNT_ID: '' }),
    ).toMatchObject({
      config: { accounts: [{ api: 'nerdgraph', account_id: undefined }] },
    });
  });

  it('takes the key from a file', () => {
    const file = join(newFolder(), 'key');
    writeFileSync(file, 'abcd\n');
    expect(configFromEnvironment({ NEW_RELIC_API_KEY_FILE: file })).toMatchObject({
      config: { accounts: [{ api_key: undefined, api_key_file: file }] },
    });
  });

  it.each<[Environment, string[]]>([
    [
      { NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_API_KEY_FILE: '/x' },
      ['environment: NEW_RELIC_API_KEY_FILE: NEW_RELIC_API_KEY is set too: unset one of the two'],
    ],
    [
      { NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_REGION: 'mars' },
      ['environment: NEW_RELIC_REGION: must be us, eu, gov or jp'],
    ],
    [
      { NEW_RELIC_API_KEY: 'S3CR3T S3CR3T', NEW_RELIC_REGION: 'mars' },
      [
        'environment: NEW_RELIC_REGION: must be us, eu, gov or jp',
        'environment: NEW_RELIC_API_KEY: has a character that a key cannot have (a space, a line break or one beyond ASCII): check how it was copied',
      ],
    ],
    [
      { NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_API: 'soap', NEW_RELIC_ACCOUNT_ID: 'x1' },
      [
        'environment: NEW_RELIC_API: must be rest or nerdgraph',
        'environment: NEW_RELIC_ACCOUNT_ID: expected a number, not text',
      ],
    ],
    [
      { NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_ACCOUNT_ID: '0' },
      ['environment: NEW_RELIC_ACCOUNT_ID: must be at least 1'],
    ],
    [
      { NEW_RELIC_API_KEY_FILE: '/nowhere/key' },
      ['environment: NEW_RELIC_API_KEY_FILE: the key file /nowhere/key does not exist'],
    ],
  ])('tells of faults by the name of the variable: %j', (env, faults) => {
    expect(faultsOf(env)).toEqual(faults);
  });

  it('takes the values as they are, without placeholders', () => {
    expect(configFromEnvironment({ NEW_RELIC_API_KEY: '${A}' })).toMatchObject({
      config: { accounts: [{ api_key: '${A}' }] },
    });
  });
});
