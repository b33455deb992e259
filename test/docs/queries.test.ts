import { queryFile } from '../../src/config/schema/query.ts';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config/load.ts';
import { strictYaml } from '../monitoring/ruleFiles.ts';
import { blocksOf, pageAt, ROOT, sectionOf } from './pages.ts';

const PAGE = pageAt('docs/queries.md');
const pack = z.object({
  queries: z.array(
    z.object({
      name: z.string(),
      interval: z.string().default('1m'),
      metrics: z.array(z.object({ name: z.string() })),
    }),
  ),
});

test('the recipes are queries that the configuration accepts', () => {
  const [recipes = ''] = blocksOf(sectionOf(PAGE, '## Recipes'), 'yaml');
  const indented = recipes.trimEnd().replaceAll('\n', '\n    ');
  const text = `accounts:\n  - account_id: 1\n    api_key: NRAK-EXAMPLE\n    ${indented}\n`;
  expect(loadConfig({ path: 'config.yaml', text }, {})).toHaveProperty('config');
});

test('docs/queries.md lists every pack with its number of calls, and every query with its families', () => {
  const section = sectionOf(PAGE, '## Packs').replace(/,\n(?=`)/g, ', ');
  const packs = readdirSync(join(ROOT, 'packs')).map((file) => ({
    name: file.replace('.yaml', ''),
    queries: pack.parse(strictYaml(`packs/${file}`)).queries,
  }));
  const calls = packs.map(({ name, queries }) => {
    const [interval = ''] = new Set(queries.map((query) => query.interval));
    return `\`${name}\` (${queries.length} ${interval === '1m' ? 'a minute' : `each ${interval.replace('m', '')} minutes`})`;
  });
  expect([...section.matchAll(/^- (`\w+` \([^)]*\)):/gm)].map(([, shown]) => shown).toSorted()).toEqual(
    calls.toSorted(),
  );
  const families = packs.flatMap(({ name, queries }) =>
    queries.map(
      (query) => `\`${name}/${query.name}\` gives ${query.metrics.map((each) => `\`${each.name}\``).join(', ')}:`,
    ),
  );
  expect((section.match(/^`\w+\/\w+` gives .*$/gm) ?? []).toSorted()).toEqual(families.toSorted());
});

test('docs/queries.md has the text of every query of the packs', () => {
  const oneSpace = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const page = oneSpace(PAGE.text);
  for (const file of readdirSync(join(ROOT, 'packs'))) {
    for (const { nrql } of queryFile.parse(strictYaml(`packs/${file}`)).queries) expect(page).toContain(oneSpace(nrql));
  }
});
