import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { unknownNames } from './names.ts';
import { ROOT } from './ruleFiles.ts';
import { exampleRatios, slothObjectives } from './sloExamples.ts';

test('the examples for Sloth and Pyrra fit the definitions of their resources, and each has both service levels', () => {
  expect(exampleRatios().map(({ name }) => name)).toEqual([
    ...['sloth availability', 'sloth apdex', 'pyrra checkout-availability', 'pyrra checkout-apdex'],
  ]);
});

test.each(exampleRatios())('$name reads only counters that exist', ({ bad, all }) => {
  expect(unknownNames(`${bad} / ${all}`)).toEqual([]);
  for (const query of [bad, all]) expect(query).toMatch(/^sum\(rate\(newrelic_application_[a-z_]+_total\{/);
});

test('a page alert that cannot fire at its objective is switched off', () => {
  for (const { spec } of slothObjectives()) {
    for (const { name, objective, alerting } of spec.slos) {
      const canFire = 14.4 * (1 - objective / 100) < 1;
      expect([name, alerting.pageAlert?.disable === true]).toEqual([name, !canFire]);
    }
  }
});

test('docs/service-levels.md names both files, and the objectives below which a pair cannot fire', () => {
  const page = readFileSync(resolve(ROOT, 'docs/service-levels.md'), 'utf8');
  for (const file of ['sloth.yaml', 'pyrra.yaml']) expect(page).toContain(`monitoring/slo/${file}`);
  const limits = [14.4, 6].map((factor) => (100 * (1 - 1 / factor)).toFixed(2));
  expect(limits).toEqual(['93.06', '83.33']);
  for (const limit of limits) expect(page).toContain(`${limit} %`);
});
