import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildMetricData } from '../../src/api/nerdgraph/metricData.ts';
import type { Columns } from '../../src/formulas/metricInputs.ts';
import { kindOf, valuesOf, VALUES } from '../../src/formulas/valueFormulas.ts';
import { queryNames, windowSamples } from '../../src/metrics/windowFamilies.ts';
import { allInColumns } from '../support/restColumns.ts';

const SECONDS = 1_800;
const SIGNS = 'Agent/MetricsReported/count';
const MYSQL = 'Datastore/MySQL/allWeb';
const NAMES = [...queryNames([MYSQL]), SIGNS];

const count = fc.integer({ min: 1, max: 1_000_000 });
const amount = fc.double({ min: 1e-3, max: 1e6, noNaN: true });
const row = fc.record({ count, sum: amount, exclusive: amount, min: amount, max: amount, squares: amount });
const rows = fc.tuple(...NAMES.map(() => row)).map((list) => new Map(NAMES.map((name, index) => [name, list[index]!])));

/** The values of an entity's rows by the vendor's table, in the names and units of the REST interface. */
function valuesOfAll(entityRows: ReadonlyMap<string, Columns>): Record<string, Record<string, number>> {
  const valuesOfOne = (name: string): Record<string, number> => ({
    ...valuesOf(name, [...VALUES[kindOf(name)].keys()], entityRows, SECONDS),
  });
  return Object.fromEntries([...entityRows.keys()].map((name) => [name, valuesOfOne(name)]));
}

/** The formulas of the specification, in the names and units of the REST interface. */
function specified(metricValues: Record<string, Record<string, number>>): Record<string, number> {
  const value = (metric: string, name: string): number => metricValues[metric]![name]!;
  const calls = (metric: string): number => value(metric, 'call_count');
  const mean = (metric: string): number => value(metric, 'average_response_time');
  const n = calls('HttpDispatcher');
  const perRequest = (metric: string): number => (mean(metric) * calls(metric)) / n / 1000;
  const components = [MYSQL, 'Memcache/allWeb', 'External/allWeb'];
  const apdex = (metric: string, prefix: string): Record<string, number> => ({
    [`${prefix}apdex_score`]: value(metric, 'score'),
    [`${prefix}apdex_threshold_seconds`]: value(metric, 'threshold'),
    [`${prefix}apdex_requests satisfied`]: value(metric, 's'),
    [`${prefix}apdex_requests tolerating`]: value(metric, 't'),
    [`${prefix}apdex_requests frustrated`]: value(metric, 'f'),
  });
  return {
    response_time_seconds: value('HttpDispatcher', 'average_call_time') / 1000 + perRequest('WebFrontend/QueueTime'),
    web_transaction_time_seconds: mean('HttpDispatcher') / 1000,
    queue_time_seconds: perRequest('WebFrontend/QueueTime'),
    web_requests_per_second: value('HttpDispatcher', 'requests_per_minute') / 60,
    non_web_requests_per_second: value('OtherTransaction/all', 'requests_per_minute') / 60,
    ...Object.fromEntries(
      components.flatMap((metric) => [
        [`component_time_seconds ${metric.replace('/allWeb', '')}`, perRequest(metric)],
        [`component_calls_per_second ${metric.replace('/allWeb', '')}`, calls(metric) / SECONDS],
      ]),
    ),
    total_time_seconds: components.reduce(
      (rest, metric) => rest - perRequest(metric),
      mean('WebTransactionTotalTime') / 1000,
    ),
    error_ratio: value('Errors/all', 'error_count') / (n + calls('OtherTransaction/all')),
    errors_per_second: value('Errors/all', 'error_count') / SECONDS,
    ...apdex('Apdex', ''),
    end_user_response_time_seconds: mean('EndUser') / 1000,
    end_user_page_views_per_second: calls('EndUser') / SECONDS,
    ...apdex('EndUser/Apdex', 'end_user_'),
    cpu_usage_ratio: value('CPU/User Time', 'percent') / 100,
  };
}

describe('the window families over both interfaces', () => {
  it.each([
    ['application', 'total_used_mb'],
    ['host', 'used_mb_by_host'],
  ] as const)('have the values that the specification derives from any rows: %s', (scope, memory) => {
    fc.assert(
      fc.property(rows, (found) => {
        const values = valuesOfAll(found);
        const expected = { ...specified(values), memory_used_bytes: values['Memory/Physical']![memory]! * 1_048_576 };
        const graph = buildMetricData({ names: NAMES }, found, { from: 0, to: SECONDS }).metrics;
        for (const metrics of [graph, allInColumns(values, SECONDS)]) {
          const samples = windowSamples(scope, { seconds: SECONDS, metrics }, 'datastore');
          const seen = samples.map(({ family, labels, value }) => {
            const key = [family.name.replace(`newrelic_${scope}_`, ''), ...Object.values(labels ?? {})].join(' ');
            return [key, value] as const;
          });
          // Only window.test.ts checks the other families.
          const judged = seen.filter(([key]) => Object.hasOwn(expected, key));
          expect(judged.map(([key]) => key).sort()).toEqual(Object.keys(expected).sort());
          // A small difference of large times has a large error, so the tolerance follows the large times.
          const times = Math.max(...seen.map(([key, value]) => (key.includes('_time_') ? Math.abs(value) : 0)));
          for (const [key, value] of judged) {
            const wanted = (expected as Record<string, number>)[key]!;
            const size = key === 'total_time_seconds' ? times : Math.abs(wanted);
            expect(Math.abs(value - wanted), key).toBeLessThanOrEqual(1e-9 * size);
          }
        }
      }),
    );
  });
});
