import { queryFile } from '../../src/config/schema/query.ts';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config/load.ts';
import { strictYaml } from '../monitoring/ruleFiles.ts';
import { blocksOf, pageAt, ROOT, rowsOf, sectionOf } from './pages.ts';

const PAGE = pageAt('docs/queries.md');
const pack = z.object({
  queries: z.array(z.object({ interval: z.string().default('1m'), metrics: z.array(z.object({ name: z.string() })) })),
});

test('the recipes are queries that the configuration takes', () => {
  const [recipes = ''] = blocksOf(sectionOf(PAGE, '## Recipes'), 'yaml');
  const indented = recipes.trimEnd().replaceAll('\n', '\n    ');
  const text = `accounts:\n  - account_id: 1\n    api_key: NRAK-EXAMPLE\n    ${indented}\n`;
  expect(loadConfig({ path: 'config.yaml', text }, {})).toHaveProperty('config');
});

test('the page has every pack with its families, and the calls that it makes', () => {
  const rows = rowsOf(sectionOf(PAGE, '## Packs'));
  const packs = readdirSync(join(ROOT, 'packs')).map((file) => {
    const { queries } = pack.parse(strictYaml(`packs/${file}`));
    const [interval = ''] = new Set(queries.map((query) => query.interval));
    const families = queries.flatMap(({ metrics }) => metrics.map(({ name }) => `\`${name}\``));
    const often = interval === '1m' ? 'a minute' : `each ${interval.replace('m', '')} minutes`;
    return [`\`${file.replace('.yaml', '')}\``, `${queries.length} ${often}`, families.sort().join(', ')];
  });
  const shown = rows.map(([name = '', calls = '', families = '']) => [
    name,
    calls,
    families.split(', ').sort().join(', '),
  ]);
  expect(shown.sort()).toEqual(packs.sort());
});

test('the page has the text of every query of the packs', () => {
  const oneSpace = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const page = oneSpace(PAGE.text);
  for (const file of readdirSync(join(ROOT, 'packs'))) {
    for (const { nrql } of queryFile.parse(strictYaml(`packs/${file}`)).queries) expect(page).toContain(oneSpace(nrql));
  }
});
