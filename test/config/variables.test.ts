import { describe, expect, it } from 'vitest';
import { configFromEnvironment, readFrom } from '../../src/config/load.ts';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import type { Environment } from '../../src/config/yaml/placeholders.ts';
import { configOf, faultsOf, withAccount } from './reading.ts';

const KEY = { NEW_RELIC_API_KEY: 'NRAK-ABCD' };

function faultsIn(env: Environment): string[] {
  const result = configFromEnvironment(env);
  return 'diagnostics' in result ? result.diagnostics.map(formatDiagnostic) : [];
}

describe('an environment variable', () => {
  it.each<[string, Environment]>([
    ['spaces', { NEW_RELIC_ACCOUNT_ID: ' 1234567 ', NEW_RELIC_REGION: ' eu ', NEW_RELIC_API: ' rest ' }],
    ['line ends', { NEW_RELIC_ACCOUNT_ID: '1234567\r', NEW_RELIC_REGION: 'eu\r\n', NEW_RELIC_API: 'rest\n' }],
    ['tabs', { NEW_RELIC_ACCOUNT_ID: '\t1234567', NEW_RELIC_REGION: 'eu\t', NEW_RELIC_API: '\trest' }],
    [
      'no-break spaces and byte order marks',
      { NEW_RELIC_ACCOUNT_ID: '\u{a0}1234567\u{a0}', NEW_RELIC_REGION: '\u{feff}eu', NEW_RELIC_API: 'rest\u{202f}' },
    ],
  ])('is read without the %s around its value', (_, env) => {
    expect(configFromEnvironment({ NEW_RELIC_API_KEY: ' NRAK-ABCD\r\n', ...env })).toMatchObject({
      config: { accounts: [{ account_id: 1_234_567, region: 'eu', api: 'rest', api_key: 'NRAK-ABCD' }] },
    });
  });

  it('counts as unset with white space alone', () => {
    const env = { NEW_RELIC_API_KEY: 'NRAK-ABCD', NEW_RELIC_API_KEY_FILE: ' ', NEW_RELIC_ACCOUNT_ID: '\r' };
    expect(configFromEnvironment({ ...env, NEW_RELIC_REGION: '\t' })).toMatchObject({
      config: { accounts: [{ account_id: undefined, region: 'us' }] },
    });
  });

  const QUOTES =
    'has quotes around its value, which became a part of it: remove them (`docker run --env-file` keeps quotes)';
  const EXPONENT =
    'has an exponent, as YAML and Helm write large numbers: put the account number in quotes where it is set';
  it.each([
    ['NEW_RELIC_ACCOUNT_ID', '"1234567"', QUOTES],
    ['NEW_RELIC_ACCOUNT_ID', "'1234567'", QUOTES],
    ['NEW_RELIC_ACCOUNT_ID', '“1234567”', QUOTES],
    ['NEW_RELIC_REGION', '"eu"', QUOTES],
    ['NEW_RELIC_API', '"rest"', QUOTES],
    ['NEW_RELIC_API_KEY', '"NRAK-ABCD"', QUOTES],
    ['NEW_RELIC_ACCOUNT_ID', '1.234567e+06', EXPONENT],
    ['NEW_RELIC_ACCOUNT_ID', '1.234567E+06', EXPONENT],
    ['NEW_RELIC_ACCOUNT_ID', '12e5', EXPONENT],
    ['NEW_RELIC_ACCOUNT_ID', '1234\u{a0}567', 'holds the invisible character U+00A0 (no-break space): remove it'],
    ['NEW_RELIC_ACCOUNT_ID', '1234567\u{200b}', 'holds the invisible character U+200B (zero width space): remove it'],
    ['NEW_RELIC_REGION', 'e\u{200d}u', 'holds the invisible character U+200D (zero width joiner): remove it'],
    ['NEW_RELIC_API_KEY', 'NRAK-\u{ad}AB', 'holds the invisible character U+00AD (soft hyphen): remove it'],
    [
      'NEW_RELIC_API_KEY',
      'NRAK-AB\rNRAK-CD',
      'holds the invisible character U+000D (carriage return, as Windows ends lines): remove it',
    ],
    ['NEW_RELIC_ACCOUNT_ID', '1,234,567', 'is not an account number, which has digits alone'],
    ['NEW_RELIC_ACCOUNT_ID', '0x12d687', 'is not an account number, which has digits alone'],
    ['NEW_RELIC_ACCOUNT_ID', '1234567.5', 'must be a whole number'],
    ['NEW_RELIC_ACCOUNT_ID', '-1', 'must be at least 1'],
  ])('has a fault that explains what is wrong with it: %s=%j', (name, value, message) => {
    expect(faultsIn({ ...KEY, [name]: value })).toEqual([`environment: ${name}: ${message}`]);
  });
});

describe('a value in the file', () => {
  it.each<[string, keys: string, env: Environment, fault: string]>([
    [
      'a no-break space behind a word',
      'region: us\u{a0}',
      {},
      'region: must be us, eu, gov or jp; it holds the invisible character U+00A0 (no-break space): remove it',
    ],
    [
      'a zero width space in a number',
      'account_id: 1234567\u{200b}',
      {},
      'account_id: expected a number, not text; it holds the invisible character U+200B (zero width space): remove it',
    ],
    [
      'a byte order mark in a header',
      'api_key_header: "X\u{feff}"',
      {},
      'api_key_header: must be X-Api-Key or Api-Key; it holds the invisible character U+FEFF (byte order mark): remove it',
    ],
    [
      'a no-break space in the name of a setting',
      '"region\u{a0}": us',
      {},
      '<hidden>: unknown key, not shown because it may hold a secret: write the name of a key, a colon, a space and the value; it holds the invisible character U+00A0 (no-break space): remove it',
    ],
    [
      'a carriage return of a variable',
      'region: "${R}"',
      { R: 'us\r' },
      'region: must be us, eu, gov or jp; it holds the invisible character U+000D (carriage return, as Windows ends lines): remove it',
    ],
    [
      'quotes of a variable',
      'account_id: "${ID}"',
      { ID: '"1234567"' },
      'account_id: expected a number, not text (its text holds quotes: remove them where it is set)',
    ],
    ['quotes of the file', 'account_id: "1234567"', {}, 'account_id: expected a number, not text (remove the quotes)'],
    ['a slip without any of these', 'region: uss', {}, 'region: must be us, eu, gov or jp; did you mean "us"?'],
  ])('has a fault that explains what is wrong with it: %s', (_, keys, env, fault) => {
    const [found, ...more] = faultsOf(withAccount(keys), env);
    expect(found?.replace(/^.*?accounts\[0\]\./, '')).toBe(fault);
    expect(more).toEqual([]);
  });

  it('accepts from a variable every number that YAML accepts', () => {
    const file = 'accounts:\n  - api_key: abcd\n    account_id: ${ID}\n';
    for (const ID of ['1234567', '1.234567e+06', '1234567\r', ' 1234567']) {
      expect(configOf(file, { ID }).accounts[0]?.account_id).toBe(1_234_567);
    }
  });
});

describe('the proxy variables', () => {
  it('are checked with the configuration, and each fault and warning names its variable', async () => {
    const env = { ...KEY, https_proxy: '', HTTPS_PROXY: 'http://user:50%off@proxy.example:3128' };
    const broken = await readFrom(undefined, env, true);
    expect('diagnostics' in broken && broken.diagnostics.map(formatDiagnostic)).toEqual([
      'environment: HTTPS_PROXY: has a "%" in its user name or password that begins no code such as %40: write %25 for a "%"',
    ]);
    const doubtful = await readFrom(
      undefined,
      { ...KEY, https_proxy: 'http://proxy.example', NO_PROXY: 'a,10.*' },
      true,
    );
    expect('warnings' in doubtful && doubtful.warnings.map(formatDiagnostic)).toEqual([
      'environment: NO_PROXY: has an entry that is not understood, so that it excludes nothing: "10.*"; write names, .example.com, *.example.com, addresses or ranges such as 10.0.0.0/8, with commas between',
    ]);
  });
});

describe('a fault about an unset variable', () => {
  const KEY = 'NRAK-ABCDEFGHIJKLMNOPQRSTUVWXYZ1';
  const env = { NEW_RELIC_API_KEY: KEY, NEW_RELIC_API_KEY_FILE: '/run/key', HOME: '/root', PATH: '/bin' };

  it.each([
    ['NEWRELIC_API_KEY', 'NEW_RELIC_API_KEY'],
    ['NEW_RELIC_APIKEY', 'NEW_RELIC_API_KEY'],
    ['NEW_RELIC_API_KYE', 'NEW_RELIC_API_KEY'],
    ['new_relic_api_key', 'NEW_RELIC_API_KEY'],
    ['NEW_RELIC_KEY_FILE', 'NEW_RELIC_API_KEY_FILE'],
    ['TEAM', undefined],
    ['AWS_REGION', undefined],
  ])('names %s and the set variable that was probably meant: %s', (name, meant) => {
    const [fault, ...others] = faultsOf(`accounts:\n  - api_key: \${${name}}\n`, env);
    const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
    const words = `the environment variable ${name} is not set: set it, or write \${${name}:-default}${hint}`;
    expect([fault, others]).toEqual([`c.yaml:2:14: accounts[0].api_key: ${words}`, []]);
  });

  it('does not show a set variable whose name may be a key', () => {
    const faults = faultsOf('accounts:\n  - api_key: ${NRAK_ABC}\n', { NRAK_ABCD: 'x' });
    expect(faults.join()).not.toMatch(/NRAK/);
  });
});
