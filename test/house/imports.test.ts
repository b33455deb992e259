import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imports-'));
  for (const name of ['node_modules', 'tsconfig.json', '.dependency-cruiser.mjs', 'package.json']) {
    symlinkSync(join(ROOT, name), join(folder, name));
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the check of the imports on these files; gives its status and what it says. */
function check(files: Readonly<Record<string, string>>): { readonly status: number | null; readonly text: string } {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const { status, stdout } = spawnSync('npx', ['--no-install', 'depcruise', 'src'], { cwd: folder, encoding: 'utf8' });
  return { status, text: stdout };
}

const VALUE = 'export const value = 1;\n';
const importing = (path: string): string => `import { value } from '${path}';\nexport const other = value;\n`;

describe('the check of the imports', () => {
  it('is content with imports that point one way', () => {
    const { status, text } = check({
      'src/formulas/rates.ts': VALUE,
      'src/metrics/deep/row.ts': importing('../../formulas/rates.ts'),
    });
    expect([status, text]).toEqual([0, expect.stringContaining('no dependency violations')]);
  });

  it.each([
    ['from a nested folder', 'src/formulas/deep/deeper/rates.ts', 'src/metrics/row.ts', '../../../metrics/row.ts'],
    ['of the log', 'src/log/logger.ts', 'src/config/load.ts', '../config/load.ts'],
    ['of the simulator', 'src/simulator/rest/records.ts', 'src/api/types.ts', '../../api/types.ts'],
    ['from one interface to the other', 'src/api/rest/reader.ts', 'src/api/nerdgraph/nrql.ts', '../nerdgraph/nrql.ts'],
  ])('refuses a wrong import %s', (_, from, to, path) => {
    const { status, text } = check({ [to]: VALUE, [from]: importing(path) });
    expect(status).toBeGreaterThan(0);
    expect(text).toContain(`${from} → ${to}`);
  });

  it('refuses a circle of files, also one of types only', () => {
    const { status, text } = check({
      'src/web/a.ts': "import type { B } from './b.ts';\nexport interface A {\n  b: B;\n}\n",
      'src/web/b.ts': "import type { A } from './a.ts';\nexport interface B {\n  a: A;\n}\n",
    });
    expect(status).toBeGreaterThan(0);
    expect(text).toContain('no-circle');
  });
});
