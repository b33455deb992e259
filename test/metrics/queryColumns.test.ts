import { expect, it } from 'vitest';
import { prepareQueries } from '../../src/metrics/queryFamilies.ts';

it.each([
  ['percentile(d, 50) AS p, count(*)', 'p', true],
  ['percentile(d, 50) AS p, count(*)', 'count', false],
  ['percentile(d, 50), count(*)', 'percentile.d', true],
  ['PERCENTILE(d, 50, 95), count(*)', 'percentile.d', true],
  ['Percentile(d, 50, 95), AVERAGE(d)', 'Percentile.d', true],
  ['percentile(d, 50, 95), average(d)', 'PERCENTILE.d', true],
  ['Percentile(d, 50, 95), AVERAGE(d)', 'average.d', false],
  ['percentile(d, 50) AS p, count(*) AS P', 'P', false],
  ['percentile(d, 50) AS p, filter(count(*), WHERE a = 1)', 'P', false],
  ['filter(percentile(d, 50), WHERE a = 1), count(*)', 'filter', true],
  ['filter(percentile(d, 50), WHERE a = 1), filter(histogram(d, 9, 3), WHERE a = 1)', 'filter', false],
  ['getField(percentile(d, 50), 50) AS p, count(*)', 'percentile[50]', false],
  ['histogram(d, 9, 3), percentile(d, 50)', undefined, false],
  ['percentile(d, 50)', undefined, true],
])('in SELECT %s the value %s has the label percentile: %s', (select, value, hasPercentiles) => {
  const metrics = [{ name: 'm', help: 'M', value, scale: 1 }];
  const nrql = `SELECT ${select} FROM T`;
  const [query] = prepareQueries([{ name: 'q', nrql, metrics, interval: 60_000, max_series: 5_000 }]);
  expect(query?.rules.metrics[0]?.hasPercentiles).toBe(hasPercentiles);
  expect(query?.families[0]?.labelNames).toEqual(hasPercentiles ? ['percentile'] : []);
});
