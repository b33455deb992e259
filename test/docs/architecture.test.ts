import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pageAt, ROOT, sectionOf } from './pages.ts';

test('the way of one value has at most fifty steps, each a function that its file has', () => {
  const steps = sectionOf(pageAt('docs/architecture.md'), '## The way of one value').match(/^\d+\. .*$/gm) ?? [];
  const isThere = (step: string): boolean => {
    const [, name = '', file = ''] = /^\d+\. `(#?\w+)` \(`(src\/[\w/]+\.ts)`\)/.exec(step) ?? [];
    const definition = new RegExp(String.raw`(?:\bfunction\*? |^ {2}(?:static |async )*)${name}[(<]`, 'm');
    return file !== '' && definition.test(readFileSync(join(ROOT, file), 'utf8'));
  };
  expect(steps.length).toBeGreaterThan(30);
  expect(steps.length).toBeLessThanOrEqual(50);
  expect(steps.filter((step) => !isThere(step))).toEqual([]);
});
