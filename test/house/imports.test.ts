import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** What the check of the imports says of a folder with these files, and its status. */
function check(files: Readonly<Record<string, string>>): { readonly status: number | null; readonly text: string } {
  const folder = mkdtempSync(join(tmpdir(), 'imports-'));
  try {
    for (const name of ['node_modules', 'tsconfig.json', '.dependency-cruiser.mjs', 'package.json']) {
      symlinkSync(join(ROOT, name), join(folder, name));
    }
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'src'], { cwd: folder, encoding: 'utf8' });
    return { status, text: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const VALUE = 'export const value = 1;\n';
const importing = (path: string): string => `import { value } from '${path}';\nexport const other = value;\n`;

const WRONG: readonly (readonly [what: string, from: string, to: string, path: string])[] = [
  ['from a nested folder', 'src/formulas/deep/deeper/rates.ts', 'src/metrics/row.ts', '../../../metrics/row.ts'],
  ['of the log', 'src/log/logger.ts', 'src/config/load.ts', '../config/load.ts'],
  ['of the simulator', 'src/simulator/rest/records.ts', 'src/api/types.ts', '../../api/types.ts'],
  ['from one interface to the other', 'src/api/rest/reader.ts', 'src/api/nerdgraph/nrql.ts', '../nerdgraph/nrql.ts'],
];

describe('the check of the imports', () => {
  it('is content with imports that point one way', () => {
    const { status, text } = check({
      'src/formulas/rates.ts': VALUE,
      'src/metrics/deep/row.ts': importing('../../formulas/rates.ts'),
    });
    expect([status, text]).toEqual([0, expect.stringContaining('no dependency violations')]);
  });

  // All at once: to start the tool takes longer than to look at the files.
  describe('with wrong imports', () => {
    let said: ReturnType<typeof check>;
    beforeAll(() => {
      const wrong = WRONG.flatMap(([, from, to, path]) => [[to, VALUE] as const, [from, importing(path)] as const]);
      said = check({
        ...Object.fromEntries(wrong),
        'src/web/a.ts': "import type { B } from './b.ts';\nexport interface A {\n  b: B;\n}\n",
        'src/web/b.ts': "import type { A } from './a.ts';\nexport interface B {\n  a: A;\n}\n",
      });
    });

    it('fails', () => {
      expect(said.status).toBeGreaterThan(0);
    });

    it.each(WRONG)('names an import %s', (_, from, to) => {
      expect(said.text).toContain(`${from} → ${to}`);
    });

    it('names a circle of files, also one of types only', () => {
      expect(said.text).toMatch(/no-circle: src\/web\/[ab]\.ts/);
    });
  });
});
