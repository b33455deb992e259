import { readFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { describe, expect, it } from 'vitest';
import { markdownTable } from '../../scripts/generate/markdownTable.ts';
import { metricsPage } from '../../scripts/generate/metricsPage.ts';
import { BUILT_IN_NAMES } from '../../src/metrics/catalogue.ts';

const PAGE = new URL('../../docs/metrics.md', import.meta.url);

describe('docs/metrics.md', () => {
  it('is what the catalogue gives: npm run generate writes it', async () => {
    expect(await readFile(PAGE, 'utf8')).toBe(metricsPage());
  });

  it('is laid out as prettier does', async () => {
    const options = { ...(await resolveConfig(PAGE)), filepath: PAGE.pathname };
    expect(await format(metricsPage(), options)).toBe(metricsPage());
  });

  it('names every family', () => {
    const page = metricsPage();
    const families = [...BUILT_IN_NAMES].filter((name) => !/_duration_seconds_(bucket|sum|count)$/.test(name));
    for (const name of families) expect(page).toContain(`| \`${name}\` `);
  });

  it('uses only names of the catalogue in its queries', () => {
    const queries = [...metricsPage().matchAll(/```promql\n([^`]*)```/g)].map(([, query = '']) => query);
    const names = queries.join('').match(/\bnewrelic_\w+/g) ?? [];
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) expect(BUILT_IN_NAMES).toContain(name);
  });
});

describe('markdownTable', () => {
  it('makes every column as wide as its widest cell, and escapes what would end a cell', () => {
    expect(markdownTable(['A', 'Long'], [['a|b', '']])).toBe('| A    | Long |\n| ---- | ---- |\n| a\\|b |      |');
  });
});
