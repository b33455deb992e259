import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatDiagnostic } from '../../../src/config/diagnostic.ts';
import { loadWebConfig } from '../../../src/web/webConfig/webConfig.ts';
import { certificate, LOCALHOST, type KeyPair } from '../../support/certificates.ts';

const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';
let folder: string;
let file: string;
let one: KeyPair;
let two: KeyPair;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'web-config-'));
  file = join(folder, 'web.yaml');
  [one, two] = await Promise.all([certificate('one', LOCALHOST), certificate('two', LOCALHOST)]);
  writeFileSync(join(folder, 'one.crt'), one.cert);
  writeFileSync(join(folder, 'one.key'), one.key);
  writeFileSync(join(folder, 'two.key'), two.key);
  writeFileSync(join(folder, 'text.crt'), 'not a certificate');
});

afterAll(() => rmSync(folder, { recursive: true }));

function load(text: string) {
  writeFileSync(file, text);
  const result = loadWebConfig(file);
  return 'config' in result ? { config: result.config } : { faults: result.diagnostics };
}

/** The faults as they are printed, without the folder. */
function faults(text: string): string[] {
  const result = load(text);
  return 'faults' in result ? result.faults.map((fault) => formatDiagnostic(fault).replaceAll(`${folder}/`, '')) : [];
}

const TLS = 'tls_server_config:\n  cert_file: one.crt\n  key_file: one.key\n';

test('all faults of a web configuration and of its files are reported at once', () => {
  const text = `tls_server_config:
  cert_file: nowhere.crt
  key_file: one.key
  client_allowed_sans: [a]
  min_vershion: TLS13
basic_auth_users:
  alice: secret
rate_limit: {interval: 1s}
`;
  expect(faults(text)).toEqual([
    'web.yaml:2:14: tls_server_config.cert_file: nowhere.crt does not exist',
    expect.stringContaining('web.yaml:4:24: tls_server_config.client_allowed_sans: needs client_auth_type'),
    'web.yaml:5:3: tls_server_config.min_vershion: unknown key; did you mean "min_version"?',
    'web.yaml:7:10: basic_auth_users.alice: must be a bcrypt hash such as `htpasswd -nB` prints',
    expect.stringContaining('web.yaml:8:'),
  ]);
});

describe('a valid web configuration', () => {
  test.each([
    ...['', '\n', '# nothing yet\n\n  # at all\n', 'tls_server_config:', 'http_server_config:', 'rate_limit:'],
    ...['http_server_config: {headers: }', 'basic_auth_users:', 'rate_limit: {interval: 0}'],
    'rate_limit: {interval: 0s, burst: 5}',
  ])('is empty or has empty sections: %j', (text) => {
    expect(load(text)).toEqual({ config: { tls: undefined, headers: {}, users: undefined, rateLimit: undefined } });
  });

  test('gives users, headers and the rate limit', () => {
    const headers = {
      ...{ 'X-Frame-Options': 'deny', 'X-Content-Type-Options': 'nosniff' },
      'Strict-Transport-Security': 'max-age=31536000',
    };
    const text = `
basic_auth_users: {alice: ${HASH}, 'bob builder': "${HASH}"}
http_server_config: {http2: false, headers: ${JSON.stringify({ ...headers, 'X-XSS-Protection': '' })}}
rate_limit: {interval: 1m30s, burst: 20}
`;
    const users = new Map(['alice', 'bob builder'].map((name) => [name, HASH]));
    expect(load(text)).toEqual({
      config: { tls: undefined, headers, users, rateLimit: { intervalMs: 90_000, burst: 20 } },
    });
  });

  test.each([
    ['0.5s', 500],
    ['1.5s', 1_500],
    ['250us', 0.25],
    ['250µs', 0.25],
    ['1m1h', 3_660_000],
    ['.5s', 500],
    ['+1s', 1_000],
    ['"1s1s"', 2_000],
  ])('reads the duration %s as Go does', (text, intervalMs) => {
    expect(load(`rate_limit: {interval: ${text}, burst: 1}`)).toMatchObject({ config: { rateLimit: { intervalMs } } });
  });

  test.each([
    ['1_000', 1_000],
    ['010', 8],
    ['08', 8],
    ['0x10', 16],
    ['0b11', 3],
    ['0o17', 15],
    ['+5', 5],
    ['1.9', 1],
    ['1e3', 1_000],
    ['!!int "5"', 5],
  ])('reads the number %s as Go does', (text, burst) => {
    expect(load(`rate_limit: {interval: 1s, burst: ${text}}`)).toMatchObject({ config: { rateLimit: { burst } } });
  });

  test.each([
    ['0', '0'],
    ['0x10', '0x10'],
    ['yes', 'yes'],
    ['2001-01-01', '2001-01-01'],
    ['"${HOST}"', '${HOST}'],
    ['"a\\r\\nSet-Cookie: x"', 'a  Set-Cookie: x'],
    ['"a\\n"', 'a'],
  ])('reads the header value %s as Go does', (text, value) => {
    expect(load(`http_server_config: {headers: {X-XSS-Protection: ${text}}}`)).toMatchObject({
      config: { headers: { 'X-XSS-Protection': value } },
    });
  });

  test.each(['$2$', '$2x$', '$2z$', '$2y$'])(
    'gives a hash of the revision %s in a form that bcrypt can compare',
    (start) => {
      const known = start === '$2y$' ? start : '$2b$';
      const result = load(`basic_auth_users:\n  alice: |\n    ${start}${HASH.slice(4)}\n`);
      expect(result).toMatchObject({ config: { users: new Map([['alice', `${known}${HASH.slice(4)}`]]) } });
    },
  );

  test.each(['{}', '~', '{cert_file: "", key_file: ""}', '{min_version: TLS13, client_auth_type: ""}'])(
    'means plain HTTP with the TLS section %s',
    (section) => expect(load(`tls_server_config: ${section}`)).toMatchObject({ config: { tls: undefined } }),
  );

  test('reads users and certificates from merge keys', () => {
    const text = `tls_server_config:\n  <<: [{cert_file: one.crt}, {key_file: one.key}]\nbasic_auth_users:\n  <<: {alice: ${HASH}}\n  bob: ${HASH}\n`;
    expect(load(text)).toMatchObject({
      config: {
        tls: { context: { cert: one.cert } },
        users: new Map([
          ['alice', HASH],
          ['bob', HASH],
        ]),
      },
    });
  });

  test('reads certificate and key, and names only cipher suites and curves that this system knows', () => {
    const suites = [
      'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
      'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
      'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
      'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, TLS_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_256_GCM_SHA384',
      'TLS_RSA_WITH_AES_128_CBC_SHA, TLS_RSA_WITH_AES_256_CBC_SHA, TLS_AES_128_GCM_SHA256, TLS_CHACHA20_POLY1305_SHA256',
    ].join(', ');
    const text = `${TLS}  cipher_suites: [${suites}]\n  curve_preferences: [CurveP256, CurveP384, CurveP521, X25519]\n`;
    expect(load(text)).toMatchObject({
      config: { tls: { clientAuth: undefined, context: { cert: one.cert, key: one.key, minVersion: 'TLSv1.2' } } },
    });
  });
});

describe('a fault of the web configuration', () => {
  test.each([
    ['basic_auth_user:\n  a: b', '1:1: basic_auth_user: unknown key; did you mean "basic_auth_users"?'],
    [
      'http_server_config:\n  headers:\n    X-Powered-By: me\n    X-Frame-Options: allow\n',
      '3:5: http_server_config.headers.X-Powered-By: unknown key\n4:22: http_server_config.headers.X-Frame-Options: must be deny or sameorigin',
    ],
    [
      'http_server_config:\n  headers:\n    X-Content-Type-Options: sniff\n',
      '3:29: http_server_config.headers.X-Content-Type-Options: must be nosniff; did you mean "nosniff"?',
    ],
    [
      'http_server_config:\n  headers:\n    Content-Security-Policy: "a\\u0001"\n',
      '3:30: http_server_config.headers.Content-Security-Policy: has a character that an HTTP header cannot carry; it holds the invisible character U+0001: remove it',
    ],
    [
      `basic_auth_users: {"a:b": ${HASH}}\n`,
      '1:20: basic_auth_users["a:b"]: a user name is not empty and has no colon',
    ],
    [
      'rate_limit:\n  interval: 1s\n',
      '2:3: rate_limit.burst: must be at least 1 where an interval is set, else every request would be refused',
    ],
    ['rate_limit:\n  interval: 5\n  burst: 1\n', '2:13: rate_limit.interval: must be a duration such as 1s or 500ms'],
    ['rate_limit:\n  interval: often\n', '2:13: rate_limit.interval: must be a duration such as 1s or 500ms'],
    ['rate_limit:\n  burst: many\n', '2:10: rate_limit.burst: expected a number, not text'],
    [
      'tls_server_config: {client_auth_type: NoClientCert}\n',
      '1:1: tls_server_config: needs cert or cert_file\n1:1: tls_server_config: needs key or key_file',
    ],
    [
      `${TLS}  client_ca_file: one.crt\n`,
      '4:19: tls_server_config.client_ca_file: has no effect while client_auth_type is NoClientCert: set it to RequireAndVerifyClientCert',
    ],
    [
      `${TLS}  client_ca_file: text.crt\n  client_auth_type: RequireAndVerifyClientCert\n`,
      '4:19: tls_server_config.client_ca_file: holds no certificate in PEM form',
    ],
    [
      `${TLS}  client_allowed_sans: [a]\n  client_auth_type: VerifyClientCertIfGiven\n`,
      '4:24: tls_server_config.client_allowed_sans: needs client_auth_type RequireAndVerifyClientCert (or RequireAnyClientCert): without a certificate there is no name to match',
    ],
    [
      `${TLS}  min_version: TLS13\n  max_version: TLS12\n`,
      '4:16: tls_server_config.min_version: is above max_version (TLS12)',
    ],
    [`${TLS}  min_version: TLS14\n`, '4:16: tls_server_config.min_version: must be TLS10, TLS11, TLS12 or TLS13'],
    [`${TLS}  cert: abc\n`, '4:9: tls_server_config.cert: give cert or cert_file, not both'],
  ])('is reported with its place: %j', (text, expected) => {
    expect(faults(text)).toEqual(expected.split('\n').map((fault) => `web.yaml:${fault}`));
  });

  test.each([
    ['cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]', 'cipher_suites[0]'],
    ['curve_preferences: [P256]', 'curve_preferences[0]'],
  ])('names an unknown value: %s', (line, path) => {
    expect(faults(`${TLS}  ${line}\n`)).toEqual([expect.stringContaining(`tls_server_config.${path}: `)]);
  });

  test('names a key that does not belong to the certificate, and quotes neither', () => {
    const [fault = ''] = faults('tls_server_config:\n  cert_file: one.crt\n  key_file: two.key\n');
    expect(fault).toMatch(/^web\.yaml:3:13: tls_server_config\.key_file: is not the key of the certificate$/);
  });

  test('names a key of another kind than the certificate', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(join(folder, 'ec.key'), privateKey.export({ type: 'sec1', format: 'pem' }));
    expect(faults('tls_server_config:\n  cert_file: one.crt\n  key_file: ec.key\n')).toEqual([
      'web.yaml:3:13: tls_server_config.key_file: is not the key of the certificate',
    ]);
  });

  test('never quotes a secret', () => {
    const text = `basic_auth_users:\n  alice: hunter2\ntls_server_config:\n  key: hunter2\n  cert: hunter2\n`;
    expect(faults(text).join()).not.toContain('hunter2');
    const slip = `tls_server_config:\n  cert_file: one.crt\n  key_file: ${JSON.stringify(one.key)}\n`;
    expect(faults(slip)).toEqual([
      expect.stringMatching(
        /^web\.yaml:3:13: tls_server_config\.key_file: the file (?:does not exist|cannot be read.*)$/,
      ),
    ]);
  });

  test('names a file that is missing, or is a folder', () => {
    expect(loadWebConfig(join(folder, 'none.yaml'))).toMatchObject({
      diagnostics: [{ message: 'the web configuration does not exist' }],
    });
    expect(loadWebConfig(folder)).toMatchObject({
      diagnostics: [{ message: 'the web configuration is a directory, not a file' }],
    });
  });

  test('names a pipe in place of the file or of a certificate, without waiting for it', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(loadWebConfig(pipe)).toMatchObject({
      diagnostics: [{ message: 'the web configuration is not a regular file' }],
    });
    expect(faults('tls_server_config:\n  cert_file: pipe\n  key_file: one.key\n')).toEqual([
      expect.stringMatching(/^web\.yaml:2:14: tls_server_config\.cert_file: .*pipe is not a regular file$/),
    ]);
  });

  test('names the faults of YAML itself', () => {
    expect(faults('a: [')).toHaveLength(1);
    expect(faults('rate_limit: {}\nrate_limit: {}\n')).toHaveLength(1);
  });
});
