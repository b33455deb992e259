import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { INTERFACE_OF, type Interface } from './incidents/fleet.ts';
import { INCIDENTS, type Incident } from './incidents/incidents.ts';
import { caseName, caseOf, QUIET_STEP, quietDay } from './incidents/promtoolTest.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { testRules } from './support/rules.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const LIMIT = 600_000;

/** The alerts that docs/alerts.md names for each incident. */
const named = new Map(
  readFileSync(join(ROOT, 'docs/alerts.md'), 'utf8')
    .replaceAll('\n  ', ' ')
    .split('\n')
    .map((line) => /^- (.*?): ((?:page|ticket) \[NewRelic.*)$/.exec(line))
    .filter((found) => found !== null)
    .map(([, incident = '', alerts = '']) => [
      incident,
      [...alerts.matchAll(/\[(NewRelic\w+)\]/g)].map(([, alert = '']) => alert),
    ]),
);

test('docs/alerts.md names every incident, and no other', () => {
  expect([...named.keys()]).toEqual(INCIDENTS.map(({ name }) => name));
});

test('every alert belongs to an incident', () => {
  const rules = readFileSync(join(ROOT, 'monitoring/rules/alerts.yaml'), 'utf8');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, alert]) => alert);
  expect(new Set([...named.values()].flat())).toEqual(new Set(alerts));
});

await describeReal('incidents', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program, line) => {
    // The stable line judges every incident, over both interfaces where the incident tells them apart. Those are enough for
    // the newest one: to it, they show that it reads the rules in the same way.
    const interfaces = ({ interfaces: all, change }: Incident): readonly Interface[] => {
      if (change.length === 2) return line === 'newest' ? all.slice(-1) : all;
      return line === 'newest' ? [] : all.slice(0, 1);
    };
    const judged = INCIDENTS.filter((incident) => interfaces(incident).length > 0);
    const cases = [
      { step: QUIET_STEP, content: quietDay(INTERFACE_OF[line]) },
      ...judged.flatMap((incident) =>
        interfaces(incident).map((by) => ({
          step: incident.step,
          content: caseOf(incident, by, named.get(incident.name) ?? []),
        })),
      ),
    ];
    /** The findings of promtool, by the names of the cases that it refuses; it is started once for each step. */
    let refused: Map<string, string>;

    const rules = [join(ROOT, 'monitoring/rules/alerts.yaml')];

    beforeAll(async () => {
      const files = [...new Set(cases.map(({ step }) => step))].map((step) => {
        const tests = cases.filter((each) => each.step === step).map(({ content }) => content);
        return { rule_files: rules, evaluation_interval: `${step}m`, tests };
      });
      const outcome = await testRules(program('promtool'), files);
      const words = outcome.stdout + outcome.stderr;
      refused = refusals(words);
      // Every file is judged, and what is wrong with one has the name of its case.
      expect(words.match(/SUCCESS|FAILED/g), words).toHaveLength(files.length);
      expect(outcome.status === 0, words).toBe(refused.size === 0);
    }, LIMIT);

    test('a quiet day raises no alert', () => {
      expect(refused.get(quietDay(INTERFACE_OF[line]).name)).toBeUndefined();
    });

    test.each(judged)('$name fires exactly the alerts of docs/alerts.md, once', (incident) => {
      const wrong = interfaces(incident).map((by) => refused.get(caseName(incident, by)));
      expect(wrong.filter((words) => words !== undefined)).toEqual([]);
    });
  },
});

/** What promtool prints of each case that does not hold, by the name of the case. */
function refusals(words: string): Map<string, string> {
  const [, ...parts] = words.split(/^ +expr: ".* # (.*)", time: /m);
  return new Map(parts.flatMap((name, index) => (index % 2 === 0 ? [[name, parts[index + 1] ?? ''] as const] : [])));
}
