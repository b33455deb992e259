import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codeSpansOf, pageAt, ROOT, sectionOf } from './pages.ts';

const PAGE = pageAt('docs/architecture.md');

test('docs/architecture.md names only existing files, and every file of src/collect', () => {
  const files = ['src', 'bench'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => `/${folder}/${file}`),
  );
  const named = codeSpansOf(PAGE.text).filter((span) => /^[\w/]+\.ts$/.test(span));
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([]);
  const ofCollect = files.filter((file) => /^\/src\/collect\/.*\.ts$/.test(file));
  expect(ofCollect.length).toBeGreaterThan(20);
  expect(ofCollect.filter((file) => !named.some((name) => file.endsWith(`/${name}`)))).toEqual([]);
});

test('the path of one value has at most thirty steps, each an existing function of its file', () => {
  const steps = sectionOf(PAGE, '## The way of one value').match(/^\d+\. .*$/gm) ?? [];
  const isThere = (step: string): boolean => {
    const [, name = '', file = ''] = /^\d+\. `(#?\w+)` \(`(src\/[\w/]+\.ts)`\)/.exec(step) ?? [];
    const definition = new RegExp(String.raw`(?:\bfunction\*? |^ {2}(?:static |async |\*)*)${name}[(<]`, 'm');
    return file !== '' && definition.test(readFileSync(join(ROOT, file), 'utf8'));
  };
  expect(steps.length).toBeGreaterThan(20);
  expect(steps.length).toBeLessThanOrEqual(30);
  expect(steps.filter((step) => !isThere(step))).toEqual([]);
});
