import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { substitute, variableExpression, variableQueries } from '../../monitoring/dashboards/src/expressions.ts';
import { testFile } from '../docs/pages.ts';
import { exampleRatios } from '../monitoring/sloExamples.ts';
import { inFolder } from '../support/folder.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { testRules } from './support/rules.ts';

const MONITORING = resolve(import.meta.dirname, '../../monitoring');
const LIMIT = 600_000;

const rule = z.looseObject({ alert: z.string().optional(), expr: z.string() });
const ruleFile = z.looseObject({ groups: z.array(z.looseObject({ rules: z.array(rule) })) });
const oneCase = z.looseObject({
  promql_expr_test: z.array(z.looseObject({ expr: z.string() })).default([]),
});
const caseFile = z.looseObject({ rule_files: z.array(z.string()), tests: z.array(oneCase) });

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

    // The stable line judges every case; the first one of each file shows that the newest reads the rules in the same way.
    const most = line === 'stable' ? Infinity : 1;

    test(
      'every case of monitoring/tests passes',
      () =>
        inFolder(async (folder) => {
          const cwd = join(MONITORING, 'tests');
          const files = yamlFiles(cwd).flatMap((file) => divided(join(cwd, file), folder).slice(0, most));
          const outcome = await run(program('promtool'), ['test', 'rules', ...files], { limit: LIMIT });
          expect(outcome).toMatchObject({ status: 0, stderr: '' });
          expect(outcome.stdout.match(/SUCCESS/g)).toHaveLength(files.length);
        }),
      LIMIT,
    );

    test('the dashboard variable for applications distinguishes two applications of one name', async () => {
      const [variable] = variableQueries().filter(({ variable }) => variable === 'app');
      const applications = [
        ['production', '101'],
        ['production', '102'],
        ['staging', '103'],
      ] as const;
      const series = applications.map(([account, id]) => ({
        series: `newrelic_application_info{job="a", instance="b", account="${account}", app="Checkout (API)", app_id="${id}"}`,
        values: '1x5',
      }));
      const exp_samples = applications.map(([account, id]) => ({
        labels: `{app="Checkout (API) (${account}, ${id})", app_id="${id}"}`,
        value: 1,
      }));
      const expr = variable === undefined ? '' : substitute(variableExpression(variable));
      const file = testFile([], series, [{ expr, eval_time: '1m', exp_samples }]);
      expect(await testRules(program('promtool'), [file])).toMatchObject({ status: 0 });
    });

    // Those of the dashboards and their variables are queried: test/real/scrape.test.ts.
    test('every expression of the examples for Sloth and Pyrra is well typed', () =>
      inFolder(async (folder) => {
        const rules = exampleRatios().map(({ bad, all }, index) => ({
          record: `expression:${index}`,
          expr: `(${bad}) / (${all})`,
        }));
        writeFileSync(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'expressions', rules }] }));
        const check = await run(program('promtool'), ['check', 'rules', join(folder, 'rules.yaml')]);
        expect(check).toMatchObject({ status: 0, stderr: '' });
      }));
  },
});

/**
 * Writes each case of a file into a file of its own, and gives their paths. Each file has only the rules that matter for its
 * case, because promtool evaluates every rule at every step: the recording rules, and the alerts that the case names.
 */
function divided(path: string, folder: string): string[] {
  const { tests, rule_files: names, ...others } = caseFile.parse(parse(readFileSync(path, 'utf8')));
  const contents = names.map((name) => ruleFile.parse(parse(readFileSync(resolve(path, '..', name), 'utf8'))));
  return tests.map((each, index) => {
    const wanted = alertsOf(each, contents);
    const files = contents.map(({ groups, ...rest }, position) => {
      const isNeeded = ({ alert }: z.output<typeof rule>): boolean => alert === undefined || wanted.has(alert);
      const needed = groups.map((group) => ({ ...group, rules: group.rules.filter(isNeeded) }));
      const rules = join(folder, `${basename(path)}.${index}.rules.${position}.yaml`);
      writeFileSync(rules, stringify({ ...rest, groups: needed }));
      return rules;
    });
    const test = join(folder, `${basename(path)}.${index}.yaml`);
    writeFileSync(test, stringify({ ...others, rule_files: files, tests: [each] }));
    return test;
  });
}

/** The alerts that a case names, with every alert in their expressions; all, for a case that asks which alerts there are. */
function alertsOf(each: z.output<typeof oneCase>, files: readonly z.output<typeof ruleFile>[]): ReadonlySet<string> {
  const rules = files.flatMap(({ groups }) => groups.flatMap((group) => group.rules));
  const asksForAll = each.promql_expr_test.some(({ expr }) => /\bALERTS\b(?!\{alertname=")/.test(expr));
  const text = JSON.stringify(each);
  const alerts = new Set(rules.flatMap(({ alert }) => (alert && (asksForAll || text.includes(alert)) ? [alert] : [])));
  // The loop also visits the names that it adds.
  for (const name of alerts) {
    const expressions = rules.filter(({ alert }) => alert === name).map(({ expr }) => expr);
    for (const { alert } of rules) if (alert !== undefined && expressions.join(' ').includes(alert)) alerts.add(alert);
  }
  return alerts;
}
