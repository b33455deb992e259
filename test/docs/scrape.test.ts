import { expect, test } from 'vitest';
import { SECTIONS } from '../../src/metrics/catalogue.ts';
import { blocksOf, pageAt } from './pages.ts';

const LINES = blocksOf(pageAt('docs/metrics.md').text, '')[0]?.trimEnd().split('\n') ?? [];

test('README and docs/metrics.md begin with the same five lines of a scrape', () => {
  expect(LINES).toHaveLength(5);
  expect(pageAt('README.md').text).toContain(LINES.join('\n'));
});

test.each(LINES)('the catalogue contains the family and the labels of the line %s', (line) => {
  const [, name = '', labels = ''] = /^(\w+)\{(.*)\} [\d.]+$/.exec(line) ?? [];
  const section = SECTIONS.find(({ families }) => families.some((family) => family.name === name));
  const family = section?.families.find((each) => each.name === name);
  const expected = [...(section?.carried ?? []), ...(family?.labelNames ?? [])];
  expect([...labels.matchAll(/(\w+)="/g)].map(([, label]) => label)).toEqual(expected);
  expect(expected.length).toBeGreaterThan(2);
});
