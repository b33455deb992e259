import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolders } from './folder.ts';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import { loadConfig } from '../../src/config/load.ts';
import { withAccount as withShortKey } from './reading.ts';

const newFolder = temporaryFolders();

const withAccount = (keys: string): string => withShortKey(keys).replace('abcd', 'NRAK-A');

function warningsOf(text: string): string[] {
  const result = loadConfig({ path: 'c.yaml', text }, {});
  if ('diagnostics' in result) throw new Error(result.diagnostics.map(formatDiagnostic).join('\n'));
  return result.warnings.map(formatDiagnostic);
}

describe('a valid configuration warns', () => {
  it('about a key in a file that is not a user key', () => {
    const file = join(newFolder(), 'key');
    writeFileSync(file, `${'0a'.repeat(20)}\n`);
    const text = `accounts: [{api_key_file: "${file}"}]`;
    expect(warningsOf(text)).toEqual([
      expect.stringMatching(/^c\.yaml:1:27: accounts\[0\]\.api_key_file: is not a user key/),
    ]);
    writeFileSync(file, 'NRAK-ABCD\n');
    expect(warningsOf(text)).toEqual([]);
  });

  it('about a request timeout that is short for NerdGraph, at its place', () => {
    expect(warningsOf(withAccount('api: nerdgraph, limits: {request_timeout: 6s999ms}'))).toEqual([
      'c.yaml:1:72: accounts[0].limits.request_timeout: is short for NerdGraph, whose queries take longer: set at least 7s',
    ]);
  });

  it('at most ten times with the same message, and then gives the number of further warnings', () => {
    const warnings = warningsOf(withAccount(`query_files: [${'none*,'.repeat(500)}]`));
    expect(warnings).toHaveLength(11);
    expect(warnings[9]).toContain('query_files[9]: no file matches');
    expect(warnings[10]).toBe('c.yaml: 490 further warnings like these: mend these first');
  });

  it('about a key header that NerdGraph does not accept', () => {
    expect(warningsOf(withAccount('api: nerdgraph, api_key_header: X-Api-Key'))).toEqual([
      'c.yaml:1:62: accounts[0].api_key_header: NerdGraph takes its key in the header Api-Key: remove this key, or set it to Api-Key',
    ]);
  });

  it.each(['abc', 'NRAA-123456', 'NRRA-123456', '0123456789abcdef0123456789abcdef01234567'])(
    'about a key that is not a user key, without showing it: %s',
    (key) => {
      const warnings = warningsOf(`accounts: [{api_key: ${key}}]`);
      expect(warnings).toEqual([
        'c.yaml:1:22: accounts[0].api_key: is not a user key: only user keys (NRAK-...) work, because REST API keys ended on 1 March 2025',
      ]);
      expect(warningsOf('accounts: [{api_key: NRAK-ABCDEF}]')).toEqual([]);
      expect(warningsOf('accounts: [{api_key: abc, base_url: "https://proxy.example/graphql"}]')).toEqual([]);
    },
  );

  it.each([
    ['api: rest, limits: {requests_per_minute: 1001}', 1_000],
    ['api: nerdgraph, limits: {requests_per_minute: 3001}', 3_000],
  ])('about more calls a minute than New Relic allows an account, with %s', (keys, allowed) => {
    expect(warningsOf(withAccount(keys))).toEqual([
      expect.stringMatching(
        new RegExp(`^c\\.yaml:1:\\d+: accounts\\[0\\]\\.limits\\.requests_per_minute: .*set at most ${allowed},`),
      ),
    ]);
  });

  it.each([
    'api: rest, limits: {requests_per_minute: 1000}',
    'api: nerdgraph, limits: {requests_per_minute: 3000}',
    'base_url: "https://proxy.example/graphql", limits: {requests_per_minute: 5000}',
    'api: nerdgraph',
    'api: nerdgraph, api_key_header: Api-Key, limits: {request_timeout: 7s}',
    'api: rest, api_key_header: X-Api-Key, limits: {request_timeout: 1s}',
  ])('about nothing with %s', (keys) => {
    expect(warningsOf(withAccount(keys))).toEqual([]);
  });
});
