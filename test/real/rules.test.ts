import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  dashboardExpressions,
  substitute,
  variableExpression,
  variableQueries,
} from '../../monitoring/dashboards/src/expressions.ts';
import { exampleRatios } from '../monitoring/sloExamples.ts';
import { inFolder } from '../support/folder.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';

const MONITORING = resolve(import.meta.dirname, '../../monitoring');
/** Files of tests that take promtool several seconds. The slow ones of service levels are tested on both lines all the same. */
const SLOW = new Set(['exporter', 'long', 'service', 'weekly'].map((name) => `${name}-alerts.yaml`));
/** Milliseconds; promtool evaluates every rule at every step of every case. */
const LIMIT = 600_000;

/** The YAML files under a folder, relative to it. */
function yamlFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .sort();
}

await describeReal('the shipped rules and dashboards', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program, line) => {
    // All files at once: to start promtool takes longer than to read one of them.
    test('promtool accepts every file of rules', async () => {
      const cwd = join(MONITORING, 'rules');
      const files = yamlFiles(cwd);
      expect(files).toEqual(expect.arrayContaining(['alerts.yaml', 'recording.yaml', 'migration/shadow.yaml']));
      const check = await run(program('promtool'), ['check', 'rules', '--lint=all', '--lint-fatal', ...files], { cwd });
      expect(check).toMatchObject({ status: 0, stderr: '' });
      expect(check.stdout.match(/SUCCESS: \d+ rules found/g)).toHaveLength(files.length);
    });

    describe('the cases of monitoring/tests', () => {
      const cwd = join(MONITORING, 'tests');
      // One line judges every case; to the other, the quick ones show that it reads the rules in the same way.
      const files = yamlFiles(cwd).filter((file) => line === 'stable' || !SLOW.has(file));
      let verdicts: Map<string, string>;

      beforeAll(async () => {
        const { stdout, stderr } = await run(program('promtool'), ['test', 'rules', ...files], { cwd, limit: LIMIT });
        // One verdict for each file, in their order; not every version of promtool says the name of the file.
        const [, ...parts] = `${stdout}${stderr}`.split(/^ +(?=SUCCESS$|FAILED:$)/m);
        expect(parts).toHaveLength(files.length);
        verdicts = new Map(files.map((file, index) => [file, parts[index] ?? '']));
      }, LIMIT);

      test.each(files)('every case of %s holds', (file) => {
        expect(verdicts.get(file)).toMatch(/^SUCCESS/);
      });
    });

    test('every expression of every dashboard and variable is well typed', async () => {
      const expressions = [
        ...dashboardExpressions().map(({ expression }) => expression),
        ...variableQueries().map(variableExpression),
      ].map((text) => substitute(text));
      const check = await checkExpressions(expressions);
      expect(check).toMatchObject({ status: 0, stderr: '' });
      expect(check.stdout).toContain(`${expressions.length} rules found`);
    });

    test('every expression of the examples for Sloth and Pyrra is well typed', async () => {
      const check = await checkExpressions(exampleRatios().map(({ bad, all }) => `(${bad}) / (${all})`));
      expect(check).toMatchObject({ status: 0, stderr: '' });
    });

    function checkExpressions(expressions: readonly string[]): ReturnType<typeof run> {
      return inFolder((folder) => {
        const rules = expressions.map((expr, index) => ({ record: `expression:${index}`, expr }));
        writeFileSync(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'expressions', rules }] }));
        return run(program('promtool'), ['check', 'rules', join(folder, 'rules.yaml')]);
      });
    }
  },
});
