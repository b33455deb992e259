import { describe, expect, it } from 'vitest';
import { markdownTable } from '../../scripts/generate/markdownTable.ts';
import { metricsPage } from '../../scripts/generate/metricsPage.ts';
import { BUILT_IN_NAMES } from '../../src/metrics/catalogue.ts';

describe('docs/metrics.md', () => {
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
