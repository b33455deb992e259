import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { queryYaml } from '../../src/tools/tryQuery.ts';
import { faultsOf } from '../config/reading.ts';

it('the YAML of any query and columns passes check', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 12 }),
    fc.constantFrom(...'orders_total newrelic_up a_count 1 up scrape_x ${X} alert_events/open 日本 _'.split(' ')),
  );
  const facets = 'appName|`x y`|account|percentile|instance|buckets(a, 5)|a.b|a_b|team|__x|1'.split('|');
  fc.assert(
    fc.property(
      name,
      fc.uniqueArray(name, { minLength: 1, maxLength: 5 }),
      fc.uniqueArray(fc.constantFrom(...facets), { maxLength: 5 }),
      (query, columns, chosen) => {
        const columnsText = columns.map((_, index) => `max(a${String(index)})`).join(', ');
        const nrql = `SELECT ${columnsText} FROM T WHERE x = '\${Y}'${chosen.length === 0 ? '' : ` FACET ${chosen.join(', ')}`}`;
        const text = queryYaml({ name: query, nrql, metrics: [], interval: 60_000, max_series: 5_000 }, columns, [
          'team',
        ]);
        const { queries } = parse(text) as { readonly queries: readonly object[] };
        const file = JSON.stringify({ accounts: [{ api_key: 'abcd', account_id: 7, labels: { team: 'x' }, queries }] });
        expect(faultsOf(file)).toEqual([]);
      },
    ),
  );
});
