import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadWebConfig } from '../../src/web/webConfig/webConfig.ts';
import { account } from '../e2e/support/config.ts';
import { exporterForTest } from '../e2e/support/forTest.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { authority, certificate, LOCALHOST, type KeyPair } from '../support/certificates.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startPrometheus } from './support/servers.ts';

const PASSWORD = 'correct horse';
const HASH = hashSync(PASSWORD, 4);
const TLS = 'tls_server_config: {cert_file: server.pem, key_file: server.key';

/** Files on which promtool and we must agree. */
const CASES: readonly (readonly [what: string, text: string])[] = [
  ['TLS alone', `${TLS}}\n`],
  ['a client authority', `${TLS}, client_ca_file: ca.pem, client_auth_type: RequireAndVerifyClientCert}\n`],
  ['versions and suites', `${TLS}, min_version: TLS12, cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]}\n`],
  ['a password', `basic_auth_users: {scraper: '${HASH}'}\n`],
  ['a header', 'http_server_config: {headers: {X-Frame-Options: deny}}\n'],
  ['an unknown field', `${TLS}}\nauthentication: none\n`],
  ['a certificate that is missing', 'tls_server_config: {cert_file: none.pem, key_file: server.key}\n'],
  ['a key that is missing', 'tls_server_config: {cert_file: server.pem, key_file: none.key}\n'],
  ['a certificate without a key', 'tls_server_config: {cert_file: server.pem}\n'],
  ['a client authority that is not asked for', `${TLS}, client_ca_file: ca.pem, client_auth_type: NoClientCert}\n`],
  ['an unknown version', `${TLS}, min_version: TLS14}\n`],
  ['an unknown suite', `${TLS}, cipher_suites: [TLS_NONE]}\n`],
  ['a hash that is none', 'basic_auth_users: {scraper: plain}\n'],
  ['an unknown header', 'http_server_config: {headers: {X-Other: a}}\n'],
  ['a wrong value of a header', 'http_server_config: {headers: {X-Frame-Options: maybe}}\n'],
];

const BODY = HASH.slice(7);
const flow = (key: string, values: readonly string[]) => values.map((value) => `${key.replace('?', value)}\n`);
const http2 = (...values: string[]) => flow('http_server_config: {http2: ?}', values);
const header = (...values: string[]) => flow('http_server_config: {headers: {X-XSS-Protection: ?}}', values);
const frame = (...values: string[]) => flow('http_server_config: {headers: {X-Frame-Options: ?}}', values);
const hash = (...values: string[]) => flow('basic_auth_users: {scraper: ?}', values);
const user = (...names: string[]) => names.map((name) => `basic_auth_users:\n  ${name}: ${HASH}\n`);
const tls = (...lines: string[]) => flow(`${TLS}, ?}`, lines);
const interval = (...values: string[]) => flow('rate_limit: {interval: ?, burst: 20}', values);
const burst = (...values: string[]) => flow('rate_limit: {interval: 1s, burst: ?}', values);

/** Forms of YAML 1.1 and of Go, on which promtool and we must agree. */
const FORMS: readonly string[] = [
  ...http2('on', 'off', 'yes', 'no', 'y', 'N', 'On', 'YES', 'TRUE', '"true"', 'tRUE', '0', '~', '', '!!bool yes'),
  ...header('yes', 'off', '0', '1.5', '~', '', '0x10', '2001-01-01', '"1; mode=block"', '[a]', '${HOST}', '!!int 0'),
  ...frame('deny', '!!str deny', '~', '""', 'Deny', '${HOST}'),
  ...hash(`$2x$04$${BODY}`, `$2a$04$${BODY}`, `$2$04$${BODY}`, `$2z$04$${BODY}`, `$3y$04$${BODY}`, `'${HASH} '`),
  ...hash(`$2y$03$${BODY}`, `$2y$32$${BODY}`, '""', '~', `|\n    ${HASH}`),
  ...['|', '>-', '|+'].map((style) => `basic_auth_users:\n  a: ${style}\n    ${HASH}\n\n`),
  ...user('1', 'yes', '~', 'null', '"a b"', '2001-01-01', '[a]', 'a: b\n  a'),
  ...tls('prefer_server_cipher_suites: yes', 'prefer_server_cipher_suites: "no"', 'client_auth_type: ""'),
  ...tls('client_auth_type: ~', 'client_auth_type: no', 'client_ca_file: ""', 'client_ca_file: ~', 'min_version: ~'),
  ...tls('min_version: ""', 'max_version: tls13', 'cipher_suites: ~', 'cipher_suites: []', 'curve_preferences: ~'),
  ...tls('cipher_suites: TLS_AES_128_GCM_SHA256', 'client_ca_file: ca.pem, client_auth_type: ""'),
  ...['{}', '~', '""', '[]', '{min_version: TLS13}', '{cert_file: "", key_file: ""}'].map(
    (section) => `tls_server_config: ${section}\n`,
  ),
  'tls_server_config: {client_auth_type: NoClientCert}\n',
  'tls_server_config: {cert_file: server.pem, key_file: ""}\n',
  'tls_server_config:\n  <<: {cert_file: server.pem, key_file: server.key}\n',
  'tls_server_config:\n  <<: [{cert_file: server.pem}, {key_file: server.key}]\n',
  'tls_server_config:\n  "<<": {cert_file: server.pem, key_file: server.key}\n',
  'tls_server_config:\n  <<: server.pem\n',
  `basic_auth_users:\n  <<: {a: ${HASH}}\n  b: ${HASH}\n`,
  `basic_auth_users:\n  <<: {b: ${HASH}}\n  b: ${HASH}\n`,
  `basic_auth_users: &users\n  <<: *users\n  b: ${HASH}\n`,
  `basic_auth_users: {a: &hash ${HASH}, b: *hash}\n`,
  ...['', '~\n', '""\n', '[]\n', '{}\n', '---\n', '---\n...\n', '# nothing\n', 'a\n'],
  ...['1.1', '1.2'].map((version) => `%YAML ${version}\n---\nhttp_server_config:\n`),
  'http_server_config:\n  headers:\n    Content-Security-Policy: >\n      default-src\n      none\n',
  'http_server_config: {headers: {Content-Security-Policy: "a\\r\\nb"}}\n',
  'http_server_config: {http2: false}\r\nbasic_auth_users: {}\r\n',
];

/** The same, of keys that only the newest promtool knows. */
const NEWEST_FORMS: readonly string[] = [
  ...interval('0.5s', '1.5s', '250us', '250µs', '100ns', '1d', '1w', '1m1h', '1s1s', '.5s', '1.s', '+1s', '"1s"'),
  ...interval('0', '"0"', '"5"', '~', '""', 'yes', '1 s', 's'),
  ...burst('1_000', '1_', '010', '08', '0x10', '0b11', '0o17', '+5', '1.5', '5.', '1e3', '1:30', '"5"', 'yes', 'many'),
  ...burst('!!int 5', '!!int "5"', '!!float 5', '!!str 5', '.inf', '.nan'),
  ...tls('cert: ""', 'client_ca: ""', 'client_allowed_sans: []', 'client_allowed_sans: a'),
  ...tls('client_allowed_sans: [1, yes], client_auth_type: RequireAnyClientCert'),
];

/** What promtool takes and we refuse on purpose, as docs/operations.md says. */
const STRICTER: readonly string[] = [
  ...hash(`$1y$04$${BODY}`, `${HASH}x`, `$2y$04$${BODY.slice(1)}`, `"$2y$04$!!${BODY.slice(2)}"`),
  ...user('""', '"a:b"', '!!str a'),
  ...tls('client_ca_file: server.key, client_auth_type: RequireAndVerifyClientCert'),
  ...tls('min_version: TLS13, max_version: TLS12', 'cipher_suites: [~]', 'curve_preferences: [~]'),
  'tls_server_config:\n  <<: {cert_file: other.pem, key_file: server.key}\n  cert_file: server.pem\n',
  'http_server_config:\n---\nfoo: bar\n',
  'http_server_config: !foo {http2: true}\n',
  ...header('!foo x', '!!binary AQ==', '"\\x01"'),
];
const NEWEST_STRICTER: readonly string[] = [
  ...interval('5', '-1s'),
  ...burst('-1', '0', '.5', '~'),
  ...tls('client_allowed_sans: [a]', 'client_allowed_sans: [a], client_auth_type: RequestClientCert', 'cert: abc'),
];

await describeReal('the web configuration', {
  tools: ['promtool', 'prometheus'],
  lines: BOTH_LINES,
  define: (program, line) => {
    let folder = '';
    let ca: KeyPair;
    let server: KeyPair;
    let client: KeyPair;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'web-config-'));
      ca = await authority('test authority');
      server = await certificate('localhost', LOCALHOST, ca);
      client = await certificate('prometheus', [{ type: 2, value: 'prometheus' }], ca);
      writeFileSync(join(folder, 'ca.pem'), ca.cert);
      writeFileSync(join(folder, 'server.pem'), server.cert);
      writeFileSync(join(folder, 'server.key'), server.key);
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    /** Gives the texts that promtool and the exporter take. One promtool reads all, because it starts slowly. */
    const judge = async (texts: readonly string[]) => {
      const files = texts.map((text, index) => {
        const file = join(folder, `${index}.yaml`);
        writeFileSync(file, text);
        return { text, file };
      });
      const check = await run(program('promtool'), ['check', 'web-config', ...files.map(({ file }) => file)]);
      const taken = (test: (file: string) => boolean) => files.filter(({ file }) => test(file)).map(({ text }) => text);
      return {
        theirs: taken((file) => (check.stdout + check.stderr).includes(`${file} SUCCESS`)),
        ours: taken((file) => !('diagnostics' in loadWebConfig(file))),
      };
    };

    test('is valid where promtool accepts it', async () => {
      const texts = [...CASES.map(([, text]) => text), ...FORMS, ...(line === 'newest' ? NEWEST_FORMS : [])];
      const { theirs, ours } = await judge(texts);
      expect(theirs.length).toBeGreaterThan(40);
      expect(ours).toEqual(theirs);
    });

    test('is refused although promtool accepts it only where it cannot work', async () => {
      const texts = [...STRICTER, ...(line === 'newest' ? NEWEST_STRICTER : [])];
      expect(await judge(texts)).toEqual({ theirs: texts, ours: [] });
    });

    test('lets a real Prometheus in with certificate and password, and no client without them', async ({
      onTestFinished,
    }) => {
      const simulator = await simulatorForTest({ applications: 12 }, onTestFinished);
      const web = `${TLS}, client_ca_file: ca.pem, client_auth_type: RequireAndVerifyClientCert}\nbasic_auth_users: {scraper: '${HASH}'}\n`;
      writeFileSync(join(folder, 'web.yaml'), web);
      const exporter = await exporterForTest(
        {
          config: { accounts: [account(simulator, 'default', { hosts: false })] },
          flags: [`--web.config.file=${join(folder, 'web.yaml')}`],
        },
        onTestFinished,
      );
      const withClient = { ca_file: 'ca.pem', cert_file: 'client.pem', key_file: 'client.key' };
      const basic_auth = { username: 'scraper', password: PASSWORD };
      const jobs = {
        right: { tls_config: withClient, basic_auth },
        'no-password': { tls_config: withClient },
        'no-certificate': { tls_config: { ca_file: 'ca.pem' }, basic_auth },
      };
      const target = { scheme: 'https', static_configs: [{ targets: [`127.0.0.1:${exporter.port}`] }] };
      const prometheus = await startPrometheus(program('prometheus'), {
        config: stringify({
          global: { scrape_interval: '1s', scrape_timeout: '1s' },
          scrape_configs: Object.entries(jobs).map(([job_name, job]) => ({ job_name, ...target, ...job })),
        }),
        files: { 'ca.pem': ca.cert, 'client.pem': client.cert, 'client.key': client.key },
      });
      onTestFinished(prometheus.stop);
      await prometheus.some('(up{job="right"} == 1) and on () (count(up) == 3)');
      expect(await prometheus.query('up{job!="right"} == 1')).toEqual([]);
      await prometheus.some('count(newrelic_application_info{job="right"}) == 12');
    });
  },
});
