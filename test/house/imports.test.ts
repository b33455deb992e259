import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand, type Finished } from '../real/support/processes.ts';
import { inFolder } from '../support/folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** What the check of the imports says of a folder with these files, and its status. */
function check(files: Readonly<Record<string, string>>): Promise<Finished> {
  return inFolder((folder) => {
    for (const name of ['node_modules', 'tsconfig.json', '.dependency-cruiser.mjs', 'package.json']) {
      symlinkSync(join(ROOT, name), join(folder, name));
    }
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
    return runCommand([process.execPath, program, 'src'], { cwd: folder });
  });
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
  it('is content with imports that point one way', async () => {
    const { status, stdout } = await check({
      'src/formulas/rates.ts': VALUE,
      'src/metrics/deep/row.ts': importing('../../formulas/rates.ts'),
    });
    expect([status, stdout]).toEqual([0, expect.stringContaining('no dependency violations')]);
  });

  // All at once: to start the tool takes longer than to look at the files.
  describe('with wrong imports', () => {
    let said: Finished;
    beforeAll(async () => {
      const wrong = WRONG.flatMap(([, from, to, path]) => [[to, VALUE] as const, [from, importing(path)] as const]);
      said = await check({
        ...Object.fromEntries(wrong),
        'src/web/a.ts': "import type { B } from './b.ts';\nexport interface A {\n  b: B;\n}\n",
        'src/web/b.ts': "import type { A } from './a.ts';\nexport interface B {\n  a: A;\n}\n",
      });
    });

    it('fails', () => {
      expect(said.status).toBeGreaterThan(0);
    });

    it.each(WRONG)('names an import %s', (_, from, to) => {
      expect(said.stdout + said.stderr).toContain(`${from} → ${to}`);
    });

    it('names a circle of files, also one of types only', () => {
      expect(said.stdout + said.stderr).toMatch(/no-circle: src\/web\/[ab]\.ts/);
    });
  });
});
