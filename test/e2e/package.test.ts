import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import { runProgram, startProgram } from './support/program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const LIMIT_MS = 300_000;

const PACKED = z.array(
  z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })), size: z.number() }),
);
const PACKAGE = z.object({
  version: z.string(),
  homepage: z.string(),
  repository: z.object({ url: z.string() }),
  scripts: z.record(z.string(), z.string()),
});
const description = PACKAGE.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

let folder = '';
let tarball = '';
let files: readonly string[] = [];

/** Runs a command of npm without the network; gives what it has written to standard output. */
function run(command: 'npm' | 'npx', args: readonly string[], cwd: string): string {
  const { PATH } = process.env;
  const env = { PATH, HOME: folder, npm_config_cache: join(folder, 'cache'), npm_config_offline: 'true' };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8', timeout: LIMIT_MS });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${String(status)}: ${stdout}${stderr}`);
  return stdout;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'package-'));
  // Without scripts: other tests run the program of dist, which was built just now.
  const args = ['pack', '--json', '--ignore-scripts', `--pack-destination=${folder}`];
  const [packed] = PACKED.parse(JSON.parse(run('npm', args, ROOT)));
  tarball = join(folder, packed?.filename ?? '');
  files = (packed?.files ?? []).map(({ path }) => path);
}, LIMIT_MS);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the package', () => {
  it('contains program, licences, bill of materials, documents, dashboards and rules, and no source or test', () => {
    const wanted = [
      ...['README.md', 'LICENSE', 'CHANGELOG.md', 'config.example.yaml', 'config.minimal.yaml', 'dist/main.js'],
      ...['dist/THIRD-PARTY-LICENSES.txt', 'dist/sbom.cdx.json', 'docs/metrics.md', 'packs/transactions.yaml'],
      ...['monitoring/dashboards/fleet.json', 'monitoring/rules/alerts.yaml'],
    ];
    expect(files).toEqual(expect.arrayContaining(wanted));
    // What a command loads, it loads from beside the program.
    const built = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' });
    const missing = built.filter((name) => name.includes('.') && !files.includes(`dist/${name}`));
    expect(missing).toEqual([]);
    expect(files.filter((name) => /\.ts$|^monitoring\/tests|^(?:src|test|bench)\//.test(name))).toEqual([]);
  });

  it('is built before it is packed, and names its repository', () => {
    expect(description.scripts['prepack']).toContain('build');
    expect(description.repository.url).toContain(description.homepage.replace(/#.*$/, ''));
  });

  it(
    'installs without the network and without other packages, and runs',
    () => {
      const home = join(folder, 'installed');
      mkdirSync(home);
      // Without it, npm installs into a folder above that has one.
      writeFileSync(join(home, 'package.json'), '{}');
      run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', tarball], home);
      const installed = readdirSync(join(home, 'node_modules')).filter((name) => !name.startsWith('.'));
      expect(installed).toEqual(['newrelic-apm-exporter']);
      expect(run('npx', ['newrelic-apm-exporter', '--version'], home)).toContain(description.version);
    },
    LIMIT_MS,
  );

  it('contains a valid example and a demo', async () => {
    const cwd = join(folder, 'installed/node_modules/newrelic-apm-exporter');
    const main = join(cwd, 'dist/main.js');
    const example = ['check', '--config.file=config.example.yaml'];
    const env = { NEW_RELIC_API_KEY: `NRAK-${'A'.repeat(27)}` };
    const checked = await runProgram(example, { main, cwd, env, limit: LIMIT_MS });
    expect([checked.status, checked.output]).toEqual([0, expect.stringContaining('valid')]);
    const demo = startProgram({ main, cwd: folder, args: ['demo', '--web.listen-address=127.0.0.1:0'] });
    try {
      const [, address] = await demo.said(/(http:\/\/127\.0\.0\.1:\d+)\/metrics/);
      await eventually(async () => {
        const metrics = await (await fetch(`${address}/metrics`)).text();
        expect(metrics).toContain('newrelic_up{account="demo"} 1');
      });
    } finally {
      demo.signal('SIGTERM');
      await demo.ended;
    }
  });
});
