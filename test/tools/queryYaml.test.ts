import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderQueryYaml } from '../../src/tools/tryQuery.ts';
import { faultsOf } from '../config/reading.ts';

/** The faults of a configuration that has the YAML of a query with these columns. */
function faultsOfYaml(name: string, nrql: string, columns: readonly string[]): string[] {
  const definition = { name, nrql, metrics: [], interval: 60_000, max_series: 5_000 };
  const { queries } = parse(renderQueryYaml(definition, columns, ['team'])) as { readonly queries: readonly object[] };
  return faultsOf(JSON.stringify({ accounts: [{ api_key: 'abcd', account_id: 7, labels: { team: 'x' }, queries }] }));
}

describe('the YAML of a query passes check, whatever keys its rows have', () => {
  it.each([
    ['getField(percentile(x, 99.5), 99.5) AS a', ['a', 'percentile[99.5]']],
    ['getField(percentile(x, 99.5), 99.5)', ['percentile[99.5]']],
    ['apdex(duration, t: 0.5) AS a', ['a', 'score', 's', 't', 'f', 'count']],
    ['apdex(duration, t: 0.5)', ['apdex.duration', 'score', 's', 't', 'f', 'count']],
    ["funnel(session, WHERE page = 'a' AS 'first', WHERE page = 'b' AS 'second') AS way", ['steps', 'way']],
    ["funnel(session, WHERE page = 'a' AS 'first')", ['steps', 'first']],
    ['histogram(d, 1000, 10) AS h', ['h']],
    ['histogram(d, 1000, 10)', ['histogram.d']],
    ['latest(name) AS name, earliest(a) AS a', ['name', 'a']],
    ['latest(a), earliest(a)', ['latest.a', 'earliest.a']],
    ['uniques(a, 10) AS names', ['names', 'members']],
    ['percentile(d, 50, 95, 99) AS took, percentile(e, 95) AS wait', ['took', 'wait']],
    ['percentile(d, 50), percentile(e, 95)', ['percentile.d', 'percentile.e']],
    ['filter(percentile(cls, 75), WHERE a = 1) AS cls', ['cls']],
    ['filter(count(*), WHERE a = 1), count(*)', ['filter', 'count']],
    ['rate(count(*), 1 minute)', ['rate.count', '']],
    ['rate(sum(a), 1 minute) AS per_minute', ['per_minute', 'result']],
    ['cdfPercentage(d, 1, 5) AS shares', ['shares', 'cdfPercentage.d']],
    ['keyset()', ['key', 'type', 'allKeys', 'stringKeys']],
    ['stddev(d) AS spread, stdvar(d)', ['spread', 'stdvar.d']],
    ['percentage(count(*), WHERE error IS TRUE) AS bad', ['bad', 'result']],
    ['bucketPercentile(b, 50, 95) AS took', ['took', 'bucketPercentile']],
    ['eventType(), count(*) AS n', ['eventType', 'n']],
    ['derivative(a, 1 minute) AS d, predictLinear(a, 1 hour) AS p', ['d', 'p', 'beginTimeSeconds']],
    ['aggregationendtime() AS end, max(a) AS a_total', ['end', 'a_total', 'a total', '${A}']],
  ])('%s', (select, columns) => {
    for (const facets of ['', ' FACET appName', ' FACET tags, cases(WHERE a = 1 AS one)']) {
      expect(faultsOfYaml('query', `SELECT ${select} FROM T${facets}`, columns.filter(Boolean))).toEqual([]);
    }
  });
});

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
      fc.boolean(),
      (query, columns, chosen, isNamed) => {
        const columnsText = columns
          .map((_, index) => `max(a${String(index)})${isNamed ? ` AS c${String(index)}` : ''}`)
          .join(', ');
        const nrql = `SELECT ${columnsText} FROM T WHERE x = '\${Y}'${chosen.length === 0 ? '' : ` FACET ${chosen.join(', ')}`}`;
        expect(faultsOfYaml(query, nrql, columns)).toEqual([]);
      },
    ),
  );
});
