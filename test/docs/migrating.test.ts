import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compareSides } from '../../src/tools/compare/compareSides.ts';
import { entityKey, type Side, type SideSeries } from '../../src/tools/compare/sides.ts';
import { FAMILIES } from '../../src/metrics/catalogue.ts';
import { BOTH_LINES, describeReal } from '../real/support/realPrograms.ts';
import { testRules } from '../real/support/rules.ts';
import { pageAt, ROOT, sectionOf, testFile } from './pages.ts';

const PAGE = pageAt('docs/migrating.md');

/** The items of the lists of a section, each on one line. */
function itemsOf(heading: string): readonly string[] {
  const text = sectionOf(PAGE, heading).replaceAll('\n  ', ' ');
  return [...text.matchAll(/^- (.*)$/gm)].map(([, item = '']) => item);
}

const APP = { app: 'Shop', app_id: '1' };
const HOST = { ...APP, host: 'web-1' };

const series = (name: string, value: number, labels: SideSeries['labels'] = APP): readonly SideSeries[] =>
  FAMILIES.filter((family) => family.name === name).map(() => ({ family: name, labels, value }));

describe('the reasons of compare', () => {
  const explained = itemsOf('### compare').flatMap((item) => /^\*\*(.+)\*\*: /.exec(item)?.[1] ?? []);

  test.each<[string, readonly SideSeries[], readonly SideSeries[], number]>([
    ['a family of REST only', series('newrelic_application_last_reported_timestamp_seconds', 1), [], 0],
    [
      'rolling values',
      series('newrelic_application_rolling_apdex_score', 1),
      series('newrelic_application_rolling_apdex_score', 0.5),
      0,
    ],
    [
      'hosts that share a name',
      series('newrelic_host_cpu_usage_ratio', 1, HOST),
      series('newrelic_host_cpu_usage_ratio', 2, HOST),
      2,
    ],
    ['zeros that REST keeps', series('newrelic_application_component_calls_per_second', 0), [], 0],
    ['the zero rule', [], series('newrelic_application_non_web_requests_per_second', 0), 0],
    ['an unknown state', [], series('newrelic_application_reporting', 1), 0],
    ['metrics that REST lacks for hosts', [], series('newrelic_host_queue_time_seconds', 1, HOST), 0],
  ])('are explained by the page: %s', (_, rest, nerdgraph, sharing) => {
    const entities = [APP, HOST, ...Array.from({ length: sharing }, () => HOST)].map(entityKey);
    const side = (list: readonly SideSeries[]): Side => ({ series: list, entities });
    const [difference] = compareSides(side(rest), side(nerdgraph), 0.01).differences;
    expect(difference?.expected).toBe(true);
    expect(explained).toContain(difference?.reason);
  });

  test('are all that the page explains', () => {
    expect(explained).toHaveLength(7);
  });
});

/** Two accounts of one world, as a scrape of both would give them; their static labels differ. */
const REST = 'account="production",team="payments",app="Shop",app_id="1"';
const NERDGRAPH = 'account="production-nerdgraph",team="shadow",app="Shop",app_id="1"';
const INPUT: readonly (readonly [name: string, labels: string, value: number])[] = [
  ['newrelic_up', 'account="production",team="payments"', 1],
  ['newrelic_up', 'account="production-nerdgraph",team="shadow"', 1],
  ['newrelic_application_info', `${REST},language="java",alert_policy_id="3"`, 1],
  ['newrelic_application_info', `${NERDGRAPH},language="java",alert_policy_id=""`, 1],
  ['newrelic_application_response_time_seconds', REST, 0.5],
  ['newrelic_application_response_time_seconds', NERDGRAPH, 0.25],
  ['newrelic_host_info', `${REST},host="web-1",host_id="77"`, 1],
  ['newrelic_host_info', `${NERDGRAPH},host="web-1",host_id="web-1"`, 1],
  ['newrelic_host_cpu_usage_ratio', `${REST},host="web-1",host_id="77"`, 0.5],
  ['newrelic_host_cpu_usage_ratio', `${NERDGRAPH},host="web-1",host_id="web-1"`, 0.5],
  ['newrelic_host_info', `${REST},host="web-2",host_id="78"`, 1],
  ['newrelic_application_rolling_apdex_score', REST, 0.5],
];

/** What the queries of the page give for it: values by their labels. */
const EXPECTED: Readonly<Record<string, readonly (readonly [labels: string, value: number])[]>> = {
  'series that are compared': [['{account="production"}', 4]],
  'worst difference of each family': [
    ['{family="newrelic_application_info"}', 0],
    ['{family="newrelic_application_response_time_seconds"}', 0.5],
    ['{family="newrelic_host_info"}', 0],
    ['{family="newrelic_host_cpu_usage_ratio"}', 0],
  ],
  'share of series that differ by over 1%': [['{family="newrelic_application_response_time_seconds"}', 1]],
  "the ten worst series, with the application's name": [
    ['{account="production", app="Shop", app_id="1", family="newrelic_application_response_time_seconds"}', 0.5],
    ['{account="production", app="Shop", app_id="1", family="newrelic_application_info"}', 0],
    ['{account="production", app="Shop", app_id="1", family="newrelic_host_info", host="web-1"}', 0],
    ['{account="production", app="Shop", app_id="1", family="newrelic_host_cpu_usage_ratio", host="web-1"}', 0],
  ],
  'series that only one interface has': [['{api="rest", family="newrelic_host_info"}', 1]],
};

const SHADOW_RULES = join(ROOT, 'monitoring/rules/migration/shadow.yaml');

test('docs/migrating.md names every alert of the shadow phase, and no other', () => {
  const alerts = [...readFileSync(SHADOW_RULES, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const named = itemsOf('### A shadow phase').flatMap((item) => /^`(NewRelic\w+)`/.exec(item)?.[1] ?? []);
  expect(named).toEqual(alerts);
});

await describeReal('the rules of the shadow phase', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    const queries = itemsOf('### A shadow phase').flatMap((item) => {
      const [, panel, query] = /^([^`].*?): `(.+)`$/.exec(item) ?? [];
      return panel === undefined || query === undefined ? [] : [[panel, query] as const];
    });

    test('record differences of accounts with different static labels, which the queries of the page show', async () => {
      expect(queries.map(([panel]) => panel)).toEqual(Object.keys(EXPECTED));
      const input = INPUT.map(([name, labels, value]) => ({
        series: `${name}{${labels},job="newrelic-apm-exporter",instance="exporter:9126"}`,
        values: `${value}x5`,
      }));
      const cases = queries.map(([panel, expr]) => ({
        expr,
        eval_time: '3m',
        exp_samples: (EXPECTED[panel] ?? []).map(([labels, value]) => ({ labels, value })),
      }));
      const outcome = await testRules(program('promtool'), [testFile([SHADOW_RULES], input, cases)]);
      expect(outcome.stdout + outcome.stderr).toMatch(/SUCCESS/);
      expect(outcome.status).toBe(0);
    });
  },
});
