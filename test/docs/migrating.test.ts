import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { compareSides } from '../../src/cli/compare/differences.ts';
import type { SideSeries } from '../../src/cli/compare/sides.ts';
import { run } from '../real/support/processes.ts';
import { BOTH_LINES, describeReal } from '../real/support/realPrograms.ts';
import { blocksOf, pageAt, rowsOf, sectionOf } from './pages.ts';

const PAGE = pageAt('docs/migrating.md');
const APP = { app: 'Shop', app_id: '1' };
const HOST = { ...APP, host: 'web-1' };

const series = (family: string, value: number, labels: SideSeries['labels'] = APP): readonly SideSeries[] => [
  { family, labels, value },
];

describe('the reasons of compare', () => {
  const explained = rowsOf(sectionOf(PAGE, '### compare')).map(([reason]) => reason);

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
  ])('the page explains the reason for %s', (_, rest, nerdgraph, sharing) => {
    const hosts = Array.from({ length: sharing }, () => [1, HOST.host] as const);
    const [difference] = compareSides({ series: rest, hosts }, { series: nerdgraph, hosts: [] }, 0.01).differences;
    expect(difference?.expected).toBe(true);
    expect(explained).toContain(difference?.reason);
  });

  test('the page explains no reason that compare does not give', () => {
    expect(explained).toHaveLength(7);
  });
});

/** Two accounts of one world, as a scrape of both would give them. */
const INPUT = [
  ['newrelic_application_response_time_seconds', 'account="production",app="Shop",app_id="1"', 0.5],
  ['newrelic_application_response_time_seconds', 'account="production-nerdgraph",app="Shop",app_id="1"', 0.25],
  ['newrelic_application_errors_per_second', 'account="production",app="Shop",app_id="1"', 0],
  ['newrelic_application_errors_per_second', 'account="production-nerdgraph",app="Shop",app_id="1"', 0],
  ['newrelic_host_cpu_usage_ratio', 'account="production",app="Shop",app_id="1",host="web-1",host_id="77"', 0.5],
  [
    'newrelic_host_cpu_usage_ratio',
    'account="production-nerdgraph",app="Shop",app_id="1",host="web-1",host_id="web-1"',
    0.5,
  ],
  ['newrelic_host_cpu_usage_ratio', 'account="production",app="Shop",app_id="1",host="web-2",host_id="78"', 0.5],
  ['newrelic_application_rolling_apdex_score', 'account="production",app="Shop",app_id="1"', 0.5],
] as const;

/** What the queries of the page give for it: values by their labels. */
const EXPECTED: Readonly<Record<string, readonly (readonly [labels: string, value: number])[]>> = {
  'worst difference of each family': [
    ['{family="newrelic_application_response_time_seconds"}', 0.5],
    ['{family="newrelic_host_cpu_usage_ratio"}', 0],
  ],
  'share of series that differ by over 1%': [['{family="newrelic_application_response_time_seconds"}', 1]],
  'the ten worst series of the last hour': [
    ['{family="newrelic_application_response_time_seconds", app="Shop", app_id="1"}', 0.5],
    ['{family="newrelic_host_cpu_usage_ratio", app="Shop", app_id="1", host="web-1"}', 0],
  ],
  'series that only REST has': [['{family="newrelic_host_cpu_usage_ratio"}', 1]],
  'series that only NerdGraph has': [],
};

await describeReal('the rules of the shadow phase', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    const section = sectionOf(PAGE, '### A shadow phase');
    const rules = blocksOf(section, 'yaml').find((block) => block.includes('newrelic_shadow'));
    const queries = rowsOf(section).map(([panel = '', query = '']) => [panel, query.slice(1, -1)] as const);

    test('give the differences, and the queries of the page show them', async () => {
      expect(queries.map(([panel]) => panel)).toEqual(Object.keys(EXPECTED));
      const folder = mkdtempSync(join(tmpdir(), 'shadow-'));
      try {
        writeFileSync(join(folder, 'rules.yaml'), stringify(parse(rules ?? '')));
        const input = INPUT.map(([name, labels, value]) => ({
          series: `${name}{${labels},job="newrelic-apm-exporter",instance="exporter:9126"}`,
          values: `${value}x5`,
        }));
        const cases = queries.map(([panel, expr]) => ({
          expr,
          eval_time: '3m',
          exp_samples: (EXPECTED[panel] ?? []).map(([labels, value]) => ({ labels, value })),
        }));
        const test = { interval: '1m', input_series: input, promql_expr_test: cases };
        const file = { rule_files: ['rules.yaml'], evaluation_interval: '1m', tests: [test] };
        writeFileSync(join(folder, 'test.yaml'), stringify(file));
        const outcome = await run(program('promtool'), ['test', 'rules', 'test.yaml'], { cwd: folder });
        expect(outcome.stdout + outcome.stderr).toMatch(/SUCCESS/);
        expect(outcome.status).toBe(0);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  },
});
