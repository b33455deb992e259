import * as z from 'zod';
import { MAX_FACETS } from '../../nrql/facets.ts';
import { expectMapping } from '../schemaIssues.ts';
import { findNameProblem } from './customMetric.ts';
import { list, notes, ownTimes, scale, text, textWithout, whole } from './parts.ts';

export const PACKS = [
  'alert_events',
  'service_levels',
  'deployments',
  'transactions',
  'browser',
  'synthetics',
  'limits',
  'usage',
] as const;

const queryMetric = z.strictObject({
  name: notes(textWithout(findNameProblem), {
    description: 'Name of the family, a gauge; as for custom metrics.',
    placeholder: '<metric_name>',
    example: 'shop_orders',
  }),
  help: notes(text().default('Result of a query; the configuration gives no help text.'), {
    description: 'HELP text of the family.',
    example: 'Orders in the window',
  }),
  value: notes(text().optional(), {
    description:
      "Key of the column in New Relic's rows: its alias, or a key such as `count` or `average.duration`. `percentile()` and " +
      '`bucketPercentile()` give a series for each percentile, with the label `percentile`.',
    otherwise: 'the only column',
    placeholder: '<column>',
    example: 'orders',
  }),
  scale: scale(),
});

const failAt = z.strictObject({
  value: notes(text(), { description: 'Key of a column that counts.', placeholder: '<column>', example: 'orders' }),
  at_least: notes(z.number(), {
    description: 'The query fails when the sum reaches this number, because rows may be missing.',
    example: 1_000_000,
  }),
});

export const query = z.strictObject({
  name: notes(text(), {
    description: "Name of the query, unique in the account; label `query` of the exporter's own metrics.",
    example: 'orders',
  }),
  nrql: notes(text(), {
    description:
      'The query. It begins with SELECT, FROM or WITH. The exporter adds the time range and the limit. So TIMESERIES and ' +
      'COMPARE WITH are not allowed, SINCE and UNTIL only in subqueries of SELECT and WHERE, LIMIT only in inner queries.',
    placeholder: '<nrql>',
    example: "SELECT count(*) AS orders FROM Transaction WHERE appName = 'Storefront' FACET region, plan",
  }),
  labels: notes(list(z.string()).optional(), {
    description: 'Label names of the facets, in their order.',
    otherwise: 'the aliases or attributes of FACET, with `_` for characters that a label name may not have',
    placeholder: '[<label_name>]',
    example: ['region', 'plan'],
  }),
  metrics: notes(list(queryMetric, 1), { description: 'The families that its columns become.' }),
  ...ownTimes('query', '30m'),
  limit: notes(whole(1, MAX_FACETS).optional(), {
    description:
      'Publish only the top N facets; the rest is dropped deliberately. New Relic keeps the most frequent ones unless the first ' +
      'function is min, max, percentile, average or count, or ORDER BY follows FACET.',
    otherwise: 'all of them; 5,000 or more are a failure, because New Relic leaves out the rest silently',
    example: 100,
  }),
  fail_at: notes(failAt.optional(), {
    description:
      'Limit for a query with an inner query. When the sum of a column reaches it, New Relic has cut the inner query, and ' +
      'the exporter publishes nothing.',
    example: { value: 'orders', at_least: 1_000_000 },
  }),
  max_series: notes(whole(1).default(5_000), {
    description: 'Maximum number of series of each metric; the exporter counts dropped series.',
  }),
});

export const queryFile = z.strictObject({ queries: list(query) }, { error: expectMapping('queries') });
