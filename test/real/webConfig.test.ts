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
  ['versions and suites', `${TLS}, min_version: TLS12, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}\n`],
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

/** What only the newest programs know: promtool 2.42 refuses it. */
const NEWEST_CASES: typeof CASES = [
  ['a limit of requests', 'rate_limit: {interval: 1s, burst: 20}\n'],
  ['a limit without a burst that is a number', 'rate_limit: {interval: 1s, burst: many}\n'],
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

    // All files at once: to start promtool takes longer than to read one of them.
    test('is valid to us where it is valid to promtool', async () => {
      const cases = (line === 'newest' ? NEWEST_CASES : CASES).map(([what, text], index) => {
        const file = join(folder, `${index}.yaml`);
        writeFileSync(file, text);
        return { what, file };
      });
      const check = await run(program('promtool'), ['check', 'web-config', ...cases.map(({ file }) => file)]);
      const theirs = cases.filter(({ file }) => (check.stdout + check.stderr).includes(`${file} SUCCESS`));
      expect(theirs.length).toBeGreaterThan(0);
      expect(cases.filter(({ file }) => !('diagnostics' in loadWebConfig(file)))).toEqual(theirs);
    });

    test('lets a real Prometheus in with certificate and password, and nobody without', async ({ onTestFinished }) => {
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
