import { describe, expect, it } from 'vitest';
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
