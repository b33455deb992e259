import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  dashboardExpressions,
  substitute,
  variableExpression,
  variableQueries,
} from '../../monitoring/dashboards/src/expressions.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';

const MONITORING = resolve(import.meta.dirname, '../../monitoring');
/** Milliseconds; promtool evaluates every rule at every step of every case. */
const LIMIT = 120_000;

await describeReal('the shipped rules and dashboards', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test.each([
      'recording.yaml',
      'alerts.yaml',
      'migration/mrf.yaml',
      'migration/contaazul.yaml',
      'migration/shadow.yaml',
    ])('promtool accepts %s', async (file) => {
      const check = await run(program('promtool'), ['check', 'rules', '--lint=all', '--lint-fatal', file], {
        cwd: join(MONITORING, 'rules'),
      });
      expect(check).toMatchObject({ status: 0, stderr: '' });
      expect(check.stdout).toMatch(/SUCCESS: \d+ rules found/);
    });

    test.each([
      'recording.yaml',
      'service-alerts.yaml',
      'long-alerts.yaml',
      'weekly-alerts.yaml',
      'exporter-alerts.yaml',
      'thresholds.yaml',
      'migration.yaml',
      'shadow.yaml',
    ])(
      'every case of %s holds',
      async (file) => {
        const folder = join(MONITORING, 'tests');
        const outcome = await run(program('promtool'), ['test', 'rules', file], { cwd: folder, limit: LIMIT });
        expect(outcome.stdout + outcome.stderr).toMatch(/SUCCESS/);
        expect(outcome.status).toBe(0);
      },
      LIMIT,
    );

    test('every expression of every dashboard and variable is well typed', async () => {
      const expressions = [
        ...dashboardExpressions().map(({ expression }) => expression),
        ...variableQueries().map(variableExpression),
      ].map((text) => substitute(text));
      const check = await checkExpressions(expressions);
      expect(check).toMatchObject({ status: 0, stderr: '' });
      expect(check.stdout).toContain(`${expressions.length} rules found`);
    });

    test('an expression of the wrong type would be noticed', async () => {
      expect(await checkExpressions(['rate(newrelic_up)'])).toMatchObject({ status: 1 });
    });

    async function checkExpressions(expressions: readonly string[]): ReturnType<typeof run> {
      const folder = mkdtempSync(join(tmpdir(), 'expressions-'));
      try {
        const rules = expressions.map((expr, index) => ({ record: `expression:${index}`, expr }));
        writeFileSync(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'expressions', rules }] }));
        return await run(program('promtool'), ['check', 'rules', join(folder, 'rules.yaml')]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    }
  },
});
