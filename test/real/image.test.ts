import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash } from 'bcryptjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { certificate, LOCALHOST } from '../support/certificates.ts';
import { buildImage, runImage, type Container, type Image } from './support/image.ts';
import { describeReal } from './support/realPrograms.ts';
import { until } from './support/until.ts';

const UPSTREAM = 'http://127.0.0.1:9127/v2';
const CONFIG = stringify({
  accounts: [{ name: 'production', api: 'rest', base_url: UPSTREAM, api_key: DEMO_API_KEY }],
});
const PASSWORD = 'correct horse';

/** Gets the exporter's own /metrics inside the container; prints the status, then the body. */
const SCRAPE = `
const [url, auth] = process.argv.slice(1);
require(url.split(':')[0]).get(url, { rejectUnauthorized: false, ...(auth && { auth }) }, (response) => {
  console.log(response.statusCode);
  response.pipe(process.stdout);
});`;

await describeReal('the image, built from the Dockerfile', {
  tools: ['buildah', 'mmdebstrap', 'ip', 'node24'],
  define: (program) => {
    let image: Image;
    let folder: string;

    beforeAll(async () => {
      const programs = { buildah: program('buildah'), mmdebstrap: program('mmdebstrap'), node: program('node24') };
      image = await buildImage(programs, { VERSION: '9.8.7', REVISION: 'abcdef' });
    }, 600_000);

    afterAll(() => image.remove());

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'image-config-'));
      chmodSync(folder, 0o755);
      writeFileSync(join(folder, 'config.yaml'), CONFIG);
    });

    afterAll(() => rmSync(folder, { recursive: true }));

    test('has labels that describe it, and does not run as root', () => {
      const { Labels, Env, User, ExposedPorts } = image.config;
      expect(Labels).toMatchObject({
        'org.opencontainers.image.version': '9.8.7',
        'org.opencontainers.image.revision': 'abcdef',
      });
      expect({ Env, User, ExposedPorts }).toMatchObject({
        Env: expect.arrayContaining(['NODE_ENV=production', 'REVISION=abcdef']) as unknown,
        User: '1000:1000',
        ExposedPorts: { '9126/tcp': {} },
      });
    });

    test('has no package manager, and no library outside the program', () => {
      const { root } = image;
      expect(readdirSync(join(root, 'usr/local/bin'))).toEqual(['node']);
      expect(existsSync(join(root, 'usr/local/lib/node_modules'))).toBe(false);
      expect(readdirSync(join(root, 'opt'))).toEqual([]);
      expect(readdirSync(root)).not.toContain('build');
    });

    test('has all files of the program in one folder under 20 MB', () => {
      const app = join(image.root, 'app');
      const files = readdirSync(app, { recursive: true, encoding: 'utf8' });
      expect(files).toEqual(
        expect.arrayContaining([
          'LICENSE',
          'package.json',
          'dist/main.js',
          'dist/sbom.cdx.json',
          'packs/transactions.yaml',
        ]),
      );
      const bytes = files.reduce((sum, name) => sum + statSync(join(app, name)).size, 0);
      process.stderr.write(`image: the folder of the program has ${(bytes / 1e6).toFixed(1)} MB\n`);
      expect(bytes).toBeGreaterThan(1e6);
      expect(bytes).toBeLessThan(20e6);
    });

    /** Runs the image with flags, as it is mounted; the body sees it once it listens and its own health check is content. */
    async function healthy(flags: readonly string[], body: (container: Container) => Promise<void>): Promise<void> {
      const started = performance.now();
      const container = runImage(image, program('ip'), folder, flags);
      try {
        await until('the program to listen', () => container.output().includes('Listening')).catch((error: unknown) =>
          expect.fail(`${String(error)}: ${container.output()}`),
        );
        process.stderr.write(`image: listens ${Math.round(performance.now() - started)} ms after its start\n`);
        const [form, ...check] = image.config.Healthcheck.Test;
        expect(form).toBe('CMD');
        expect(await container.exec(check)).toEqual({ status: 0, stdout: '', stderr: '' });
        await body(container);
      } finally {
        const status = await container.stop();
        expect({ status, output: container.output() }).toMatchObject({ status: 0 });
      }
    }

    async function scrape(container: Container, url: string, login = ''): Promise<{ status: string; body: string }> {
      const { stdout, stderr } = await container.exec(['node', '-e', SCRAPE, url, login], 60_000);
      const [status = stderr, ...lines] = stdout.split('\n');
      return { status, body: lines.join('\n') };
    }

    test('is healthy with a mounted configuration, a read-only file system and no capabilities', () =>
      healthy([], async (container) => {
        const state = await container.exec(['cat', '/proc/1/status']);
        const rights = /^(?:Uid|Cap(?:Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs):.*$/gm;
        expect(state.stdout.match(rights)).toEqual([
          'Uid:\t1000\t1000\t1000\t1000',
          ...['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => `${name}:\t0000000000000000`),
          'NoNewPrivs:\t1',
        ]);
        for (const path of ['/tmp/file', '/app/file', '/etc/newrelic-apm-exporter/file']) {
          const { status, stderr } = await container.exec(['touch', path]);
          expect([status, stderr]).toEqual([1, expect.stringMatching(/Read-only file system/)]);
        }
        // The image has the upstream for a rehearsal, too.
        const simulator = container.exec(['node', '/app/dist/main.js', 'simulate'], 600_000);
        await until('the simulator to be read', async () => {
          const { body } = await scrape(container, 'http://127.0.0.1:9126/metrics');
          return /^newrelic_up\{account="production"\} 1$/m.test(body);
        });
        const { body } = await scrape(container, 'http://127.0.0.1:9126/metrics');
        expect(body).toMatch(/^newrelic_exporter_build_info\{.*revision="abcdef",node_version="v24\./m);
        expect(body).toMatch(/^newrelic_application_response_time_seconds\{/m);
        // It ends with the container.
        await container.stop();
        await simulator;
      }));

    describe('behind TLS and passwords', () => {
      beforeAll(async () => {
        const { cert, key } = await certificate('exporter', LOCALHOST);
        writeFileSync(join(folder, 'tls.crt'), cert);
        writeFileSync(join(folder, 'tls.key'), key);
        const web = {
          tls_server_config: { cert_file: 'tls.crt', key_file: 'tls.key' },
          basic_auth_users: { prometheus: await hash(PASSWORD, 10) },
        };
        writeFileSync(join(folder, 'web.yaml'), stringify(web));
      });

      test('is healthy by its health check without a password, and answers scrapes only with the password', () =>
        healthy(['--web.config.file=web.yaml'], async (container) => {
          const url = 'https://127.0.0.1:9126/metrics';
          expect(await scrape(container, url)).toMatchObject({ status: '401' });
          expect(await scrape(container, url, 'prometheus:wrong')).toMatchObject({ status: '401' });
          const { status, body } = await scrape(container, url, `prometheus:${PASSWORD}`);
          expect(status).toBe('200');
          // No upstream is there, which is none of the exporter's own faults.
          expect(body).toMatch(/^newrelic_up\{account="production"\} 0$/m);
        }));
    });
  },
});
