import fc from 'fast-check';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { formatDiagnostic, mayBeSecret } from '../../src/config/diagnostic.ts';
import { readFrom } from '../../src/config/load.ts';
import { temporaryFolders } from './folder.ts';
import { faultsOf } from './reading.ts';

const KEY = 'NRAK-7F3KQ9X2M4B8C6D1Z5R0T7Y3W9V';
const HEX = 'c0ffee5eed1234567890abcdef0123456789abcdef01234';

const newFolder = temporaryFolders();

/** The faults that `check`, the log and the response to a reload show of a file. */
async function told(text: string): Promise<string[]> {
  const file = join(newFolder(), 'config.yaml');
  writeFileSync(file, text);
  const result = await readFrom(file, {}, false);
  return ('diagnostics' in result ? result.diagnostics : result.warnings).map(formatDiagnostic);
}

const SLIPS: readonly (readonly [string, string])[] = [
  ['a space forgotten in a flow mapping', 'accounts: [{name: a, api_key:KEY}]'],
  ['a space forgotten on a line', 'accounts:\n  - name: a\n    api_key:KEY\n'],
  ['a space forgotten before a quoted key', 'accounts: [{name: a, "api_key:KEY"}]'],
  ['= for a colon', 'accounts: [{name: a, api_key=KEY}]'],
  ['= for a colon, with a colon after it', 'accounts:\n  - name: a\n    api_key=KEY:\n'],
  ['spaces around =', 'accounts: [{name: a, api_key = KEY}]'],
  ['key and value swapped', 'accounts:\n  - name: a\n    KEY: api_key\n'],
  ['key and value swapped in a flow mapping', 'accounts: [{name: a, KEY: api_key}]'],
  ['the key alone, as a key without a value', 'accounts: [{name: a, KEY}]'],
  ['the key as the name of a label', 'accounts: [{api_key: abcd, labels: {KEY: x}}]'],
  ['the key as the name of a label whose value is wrong', 'accounts: [{api_key: abcd, labels: {KEY: 1}}]'],
  ['the key as the name of a label that is given twice', 'accounts: [{api_key: abcd, labels: {KEY: x, KEY: y}}]'],
  ['the key as the value of a label that is no text', 'accounts: [{api_key: abcd, labels: {team: [KEY]}}]'],
  ['the key as the path of the key file', 'accounts: [{api_key_file: KEY}]'],
  ['the key as the path of the key file, in a folder', 'accounts: [{api_key_file: /run/secrets/KEY}]'],
  ['the key as the path of the certificates', 'accounts: [{api_key: abcd, tls: {ca_file: KEY}}]'],
  ['the key written twice', 'accounts:\n  - KEY: x\n    KEY: x\n'],
  ['the key as the name of a variable', 'accounts: [{api_key: "${KEY}"}]'],
  ['the key as the default of a variable, left open', 'accounts: [{api_key: "${A:-KEY"}]'],
  ['the key at the top of the file', 'accounts: [{api_key: abcd}]\nKEY: x\n'],
  ['the key under an unknown key that is the key', 'accounts: [{api_key: abcd, KEY: {KEY: "${KEY}"}}]'],
  ['the key as the region', 'accounts: [{api_key: abcd, region: KEY}]'],
  ['the key as the interface', 'accounts: [{api_key: abcd, api: KEY}]'],
  ['the key as the number of the account', 'accounts: [{api_key: abcd, account_id: KEY}]'],
  ['the key as the header', 'accounts: [{api_key: abcd, api_key_header: KEY}]'],
  ['the key in the address', 'accounts: [{api_key: abcd, base_url: "http://x.example/KEY"}]'],
  ['the key as a duration', 'accounts: [{api_key: abcd, limits: {request_timeout: KEY}}]'],
  ['the key as a limit', 'accounts: [{api_key: abcd, limits: {KEY: 1}}]'],
  ['the key as a match', 'accounts: [{api_key: abcd, applications: {include: [KEY, {KEY: x}]}}]'],
  [
    'the key in every part of a custom metric',
    'accounts: [{api_key: abcd, custom_metrics: [{name: "KEY", match: "KEY*", value: KEY, scope: KEY, KEY: x}]}]',
  ],
  [
    'the key as a capture',
    'accounts: [{api_key: abcd, custom_metrics: [{name: a, match: "Custom/{KEY}/{KEY}", value: v}]}]',
  ],
  ['the key behind a closed quote', 'accounts:\n  - api_key: "abcd" KEY\n'],
  ['the key behind a backslash', 'accounts:\n  - api_key: "\\KEY"\n'],
  ['the key behind the mark of a folded text', 'accounts:\n  - api_key: >KEY\n'],
  ['the key behind a second colon', 'accounts:\n  - api_key: x: KEY\n'],
  ['nothing but the key', 'KEY'],
  ['the key as a tag', 'accounts: [{api_key: !KEY abcd}]'],
  ['the key as an alias', 'accounts: [{api_key: *KEY}]'],
  ['the key as a merge key', 'accounts: [{<<: KEY, api_key: abcd}]'],
  ['the key as a key of two lines', 'accounts: [{api_key: abcd, ? "KEY\n KEY" : x}]'],
];

describe('a key of the service is never shown', () => {
  it.each(SLIPS.flatMap(([slip, text]) => [KEY, HEX].map((key) => [slip, key, text] as const)))(
    'with %s: %s',
    async (_slip, key, text) => {
      const faults = await told(text.replaceAll('KEY', key));
      // A hexadecimal key is a valid name of a label, so the file may have no fault.
      if (key === KEY || !text.includes('labels: {KEY: x}}')) expect(faults).not.toEqual([]);
      expect(faults.join('\n')).not.toContain(key);
      expect(faults.join('\n')).not.toContain(key.slice(5));
    },
  );

  it('where a colon lacks the space after it, and the fault says so', () => {
    expect(faultsOf(`accounts: [{name: a, api_key:${KEY}}]`)).toEqual([
      'c.yaml:1:12: accounts[0].api_key: is required, or api_key_file: without a key nothing can be read',
      'c.yaml:1:22: accounts[0].<hidden>: unknown key: write "api_key: ", with a colon and a space',
    ]);
    expect(faultsOf(`accounts: [{name: a, api_key=${KEY}}]`)).toContain(
      'c.yaml:1:22: accounts[0].<hidden>: unknown key: write "api_key: ", with a colon and a space',
    );
  });

  it('where it is an unknown setting, which the fault names by place', () => {
    expect(faultsOf(`accounts: [{api_key: abcd, ${KEY}: api_key}]`)).toEqual([
      'c.yaml:1:28: accounts[0].<hidden>: unknown key, not shown because it may hold a secret: write the name of a key, a colon, a space and the value',
    ]);
  });

  it('as the name of a key file, while names that cannot be keys are shown', async () => {
    expect(await told(`accounts: [{api_key_file: ${KEY}}]`)).toEqual([
      expect.stringMatching(/accounts\[0\]\.api_key_file: the key file does not exist$/),
    ]);
    expect(await told('accounts: [{api_key_file: /nowhere/new_relic_key}]')).toEqual([
      expect.stringMatching(/the key file \/nowhere\/new_relic_key does not exist$/),
    ]);
  });

  it('where random keys stand in any places of a valid file', async () => {
    const key = fc.oneof(
      fc.stringMatching(/^NRAK-[A-Z0-9]{27}$/),
      fc.stringMatching(/^[0-9a-f]{40}NRAL$/),
      fc.stringMatching(/^[0-9a-f]{47}$/),
      fc.stringMatching(/^[A-Za-z0-9_-]{32}$/).filter((text) => /[0-9]/.test(text)),
    );
    const change = fc.record({ at: fc.nat(), how: fc.constantFrom(...HOWS), key });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        const text = changes.reduce((file, { at: position, how, key }) => insert(file, position, how, key), FILE);
        const output = (await told(text)).join('\n');
        for (const { key } of changes) expect(output).not.toContain(key);
      }),
      { numRuns: 150 },
    );
  });
});

const FILE = stringify({
  accounts: [
    {
      name: 'a',
      api_key: 'abcd',
      labels: { team: 'x' },
      tls: { ca_file: 'none.pem' },
      limits: { max_retries: 1, request_timeout: '5s' },
      applications: { include: [{ name: 'x-*' }], settings: [{ match: { id: 1 }, hosts: false }] },
      custom_metrics: [{ name: 'a', match: 'Custom/{x}/depth', value: 'count' }],
    },
    { name: 'b', api_key_file: 'none', api: 'nerdgraph', base_url: 'https://x.example/graphql' },
  ],
  collection: { window: '30m', intervals: { hosts: '5m' } },
});

const HOWS = ['value', 'key', 'text', 'beside', 'joined'] as const;

/** The file with a key that replaces one of its words, splits it, or stands beside it. */
function insert(file: string, position: number, how: (typeof HOWS)[number], key: string): string {
  const words = [...file.matchAll(/[^\s:]+/g)];
  const word = words[position % words.length];
  if (word === undefined) return file;
  const end = word.index + word[0].length;
  const inserted = {
    value: key,
    key: `${key}: 1`,
    text: `"${key}"`,
    beside: `${word[0]} ${key}`,
    joined: `${word[0]}:${key}`,
  };
  return file.slice(0, word.index) + inserted[how] + file.slice(end);
}

describe('a name in a configuration', () => {
  it.each([
    'regoin',
    'insecure_skip_verify',
    'Strict-Transport-Security',
    'http2',
    'a b.c',
    '/run/secrets/new_relic_api_key',
    'requests_per_minute_concurrent_connections_maxim',
  ])('is shown in a fault: %s', (text) => {
    expect(mayBeSecret(text)).toBe(false);
  });

  it.each([
    KEY,
    HEX,
    KEY.toLowerCase(),
    'NRAK-SECRET',
    'nrak_secret',
    'api_key:abc',
    'api_key=abc',
    'S3CR3T',
    'two words',
    'requests_per_minute_concurrent_connections_maximu',
    'a_b_c_d_e_f_g_h_i',
    'abcdefghijklmno',
  ])('is hidden in a fault if it may be a key: %s', (text) => {
    expect(mayBeSecret(text)).toBe(true);
  });
});

describe('all faults of a file', () => {
  it('are reported in one round: faults of its values beside faults of the files that it names', async () => {
    const text = `accounts:
  - name: a
    api_key_file: none
    hosts: maybe
    tls: {ca_file: none.pem, verify: false}
  - name: b
    api_key: abcd
    tls: {ca_file: none.pem}
collection: {window: 30}
`;
    const faults = (await told(text)).map((fault) => /:(\d+):\d+: (\S+):/.exec(fault)?.slice(1).join(' '));
    expect(faults).toEqual([
      '3 accounts[0].api_key_file',
      '4 accounts[0].hosts',
      '5 accounts[0].tls.ca_file',
      '5 accounts[0].tls.verify',
      '8 accounts[1].tls.ca_file',
      '9 collection.window',
    ]);
  });
});
