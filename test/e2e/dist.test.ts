import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { until } from '../real/support/until.ts';
import { runProgram, startProgram } from './support/program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');
const PACKAGE = z.object({ version: z.string(), devDependencies: z.record(z.string(), z.string()) });
const { version, devDependencies } = PACKAGE.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

/** The parts of a CycloneDX document that are looked at; the build has checked it against the schema. */
const BILL = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }),
  components: z.array(z.object({ group: z.string().optional(), name: z.string(), version: z.string() })),
});

describe('dist and package.json alone, without node_modules', () => {
  let folder = '';
  let main = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'dist-'));
    cpSync(DIST, join(folder, 'dist'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
    main = join(folder, 'dist/main.js');
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('are the program', async () => {
    expect(await runProgram({ main, args: ['--version'] })).toMatchObject({
      status: 0,
      output: expect.stringContaining(version) as string,
    });
  });

  it.each([
    'check',
    'check --live',
    'plan',
    'discover',
    'metric-names --app 1',
    'backfill --app 1 --from 7d --to now --output x',
  ])('have all that %s needs to say that there is no configuration', async (command) => {
    const { status, output } = await runProgram({ main, cwd: folder, args: command.split(' ') });
    expect(output).toContain('config.yaml');
    expect(status).toBe(2);
  });

  it('have all that the exporter and the simulator need', async () => {
    const program = startProgram({ main, cwd: folder, args: ['demo', '--web.listen-address', '127.0.0.1:0'] });
    try {
      const address = await until('the demo listens', () => {
        return Promise.resolve(/(http:\/\/127\.0\.0\.1:\d+)\/metrics/.exec(program.output())?.[1]);
      });
      const metrics = await (await fetch(`${address}/metrics`)).text();
      expect(metrics).toContain('newrelic_up{account="demo"} 1');
    } finally {
      program.signal('SIGTERM');
      expect((await program.ended).status).toBe(0);
    }
  });
});

describe('the files of dist', () => {
  const files = readdirSync(DIST);

  it('are plain ASCII: any other source takes two bytes of memory for each of its characters', () => {
    const scripts = files.filter((file) => file.endsWith('.js'));
    expect(scripts).toContain('main.js');
    expect(scripts.filter((file) => readFileSync(join(DIST, file)).some((byte) => byte > 0x7f))).toEqual([]);
  });

  it('carry the licence of every library that is built in', () => {
    const licences = readFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const { name, release } of builtIn()) expect(licences).toContain(`${name} ${release} (`);
    expect(licences).not.toContain('(see below)');
  });

  it('carry a bill of materials that names the libraries which are built in, and no tool of the build', () => {
    const libraries = builtIn();
    for (const name of ['commander', 'express', 'pino', 'prom-client', 'undici', 'yaml', 'zod']) {
      expect(libraries).toContainEqual({ name, release: devDependencies[name] });
    }
    expect(libraries.map(({ name }) => name)).not.toContain('esbuild');
    expect(libraries.map(({ name }) => name)).not.toContain('vitest');
    // A folder of a library that says of its files whether they are modules has a package.json without a version.
    expect(libraries.filter(({ release }) => release === '')).toEqual([]);
  });
});

/** The libraries of the bill of materials. */
function builtIn(): { readonly name: string; readonly release: string }[] {
  const bill = BILL.parse(JSON.parse(readFileSync(join(DIST, 'sbom.cdx.json'), 'utf8')));
  expect(bill.metadata.component).toEqual({ name: 'newrelic-apm-exporter', version });
  return bill.components.map((component) => ({
    name: component.group === undefined ? component.name : `${component.group}/${component.name}`,
    release: component.version,
  }));
}
