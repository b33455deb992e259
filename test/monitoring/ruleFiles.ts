import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

export const ROOT = resolve(import.meta.dirname, '../..');

const rule = z.strictObject({
  record: z.string().optional(),
  alert: z.string().optional(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.record(z.string(), z.string()).default({}),
  annotations: z.record(z.string(), z.string()).default({}),
});
const ruleFile = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), interval: z.string().optional(), rules: z.array(rule) })),
});
const testFile = z.object({
  tests: z.array(
    z.object({
      name: z.string(),
      alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })).default([]),
      promql_expr_test: z.array(z.object({ expr: z.string(), exp_samples: z.array(z.unknown()) })).default([]),
    }),
  ),
});

export type Rule = z.infer<typeof rule>;
export type RuleTest = z.infer<typeof testFile>['tests'][number];

/** The rules of a file under monitoring/rules, in order. */
export function rulesOf(file: string): Rule[] {
  return ruleFile.parse(strictYaml(`monitoring/rules/${file}`)).groups.flatMap(({ rules }) => rules);
}

/** The test cases of a file under monitoring/tests. */
export function ruleTestsOf(file: string): RuleTest[] {
  return testFile.parse(strictYaml(`monitoring/tests/${file}`)).tests;
}

/** A YAML file of the repository; duplicate keys and unknown tags are errors. */
export function strictYaml(path: string): unknown {
  return parse(readFileSync(resolve(ROOT, path), 'utf8'), { strict: true, uniqueKeys: true, logLevel: 'error' });
}
