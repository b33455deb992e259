import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { INTERFACES } from './incidents/fleet.ts';
import { INCIDENTS } from './incidents/incidents.ts';
import { caseOf, QUIET_STEP, quietDay, type RuleCase } from './incidents/promtoolTest.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const LIMIT = 120_000;

/** The alerts that docs/alerts.md names for each incident. */
const named = new Map(
  readFileSync(join(ROOT, 'docs/alerts.md'), 'utf8')
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length === 5 && /\[NewRelic/.test(alertCells(cells)))
    .map((cells) => [
      cells[1] ?? '',
      [...alertCells(cells).matchAll(/\[(NewRelic\w+)\]/g)].map(([, alert = '']) => alert),
    ]),
);

function alertCells(cells: readonly string[]): string {
  return cells.slice(2).join(' ');
}

test('docs/alerts.md names every incident, and no other', () => {
  expect([...named.keys()]).toEqual(INCIDENTS.map(({ name }) => name));
});

test('every alert is named for an incident', () => {
  const rules = readFileSync(join(ROOT, 'monitoring/rules/alerts.yaml'), 'utf8');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, alert]) => alert);
  expect(new Set([...named.values()].flat())).toEqual(new Set(alerts));
});

await describeReal('incidents', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program, line) => {
    const holds = async (step: number, cases: readonly RuleCase[]): Promise<void> => {
      const folder = mkdtempSync(join(tmpdir(), 'incidents-'));
      try {
        const rules = [join(ROOT, 'monitoring/rules/alerts.yaml')];
        const file = { rule_files: rules, evaluation_interval: `${step}m`, tests: cases };
        writeFileSync(join(folder, 'test.yaml'), stringify(file, { lineWidth: 0 }));
        const outcome = await run(program('promtool'), ['test', 'rules', join(folder, 'test.yaml')], { limit: LIMIT });
        expect(outcome.stdout + outcome.stderr).toMatch(/SUCCESS/);
        expect(outcome.status).toBe(0);
      } finally {
        rmSync(folder, { recursive: true });
      }
    };

    test.each(INTERFACES)('a quiet day raises no alert (%s)', (by) => holds(QUIET_STEP, [quietDay(by)]), LIMIT);

    test.each(INCIDENTS)(
      '$name: exactly the alerts of docs/alerts.md, once',
      (incident) => {
        const alerts = named.get(incident.name) ?? [];
        // The versions of promtool differ in how they evaluate, the interfaces in what there is: not every pair is needed.
        const interfaces = line === 'stable' ? incident.interfaces : incident.interfaces.slice(-1);
        const cases = interfaces.map((by) => caseOf(incident, by, alerts));
        return holds(incident.step, cases);
      },
      LIMIT,
    );
  },
});
