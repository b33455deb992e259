import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

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

describe('the files of dist', () => {
  const files = readdirSync(DIST);

  it('are plain ASCII, because other source takes two bytes of memory for each character', () => {
    const scripts = files.filter((file) => file.endsWith('.js'));
    expect(scripts).toContain('main.js');
    expect(scripts.filter((file) => readFileSync(join(DIST, file)).some((byte) => byte > 0x7f))).toEqual([]);
  });

  it('contain the licence of every bundled library', () => {
    const licences = readFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const { name, release } of builtIn()) expect(licences).toContain(`${name} ${release} (`);
    expect(licences).not.toContain('(see below)');
  });

  it('contain a bill of materials that names the bundled libraries and no build tool', () => {
    const libraries = builtIn();
    for (const name of ['commander', 'express', 'pino', 'prom-client', 'undici', 'yaml', 'zod']) {
      expect(libraries).toContainEqual({ name, release: devDependencies[name] });
    }
    for (const name of ['esbuild', 'vitest']) {
      expect(libraries.map((library) => library.name)).not.toContain(name);
    }
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
