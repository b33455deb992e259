import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { BOTH_LINES, describeReal } from '../real/support/realPrograms.ts';
import { testRules } from '../real/support/rules.ts';
import { inFolder } from '../support/folder.ts';
import { blocksOf, PAGES, pageAt, testFile, yamlBlocks } from './pages.ts';

const GUIDES = ['collectors', 'high-availability', 'leaving-new-relic', 'troubleshooting', 'upgrading'];

test.each(GUIDES)('docs/%s.md has at most 700 words', (name) => {
  expect(pageAt(`docs/${name}.md`).text.split(/\s+/).length).toBeLessThanOrEqual(700);
});

const JOBS = z.object({
  scrape_configs: z.array(z.looseObject({ job_name: z.string(), honor_labels: z.boolean().optional() })),
});
const COLLECTOR = z.object({ receivers: z.object({ prometheus: z.object({ config: JOBS }) }) });

test('every scrape job of the pages has honor_labels and a name that the alerts match', () => {
  const jobs = PAGES.flatMap(({ text }) => yamlBlocks(text)).flatMap((block) => {
    const file: unknown = parse(block);
    const collector = COLLECTOR.safeParse(file).data?.receivers.prometheus.config;
    return (collector ?? JOBS.safeParse(file).data)?.scrape_configs ?? [];
  });
  expect(jobs.length).toBeGreaterThanOrEqual(5);
  expect(jobs.filter((job) => job.honor_labels !== true || !job.job_name.startsWith('newrelic-apm-exporter'))).toEqual(
    [],
  );
  const [alloy = ''] = blocksOf(pageAt('docs/collectors.md').text, 'alloy');
  expect(alloy).toMatch(/^ {2}honor_labels += true$/m);
  expect(alloy).toMatch(/^ {2}job_name += "newrelic-apm-exporter"$/m);
});

/** Counters and metrics of one application that two exporters read, by what each adds in a minute. */
function application(
  app: string,
  traffic: { readonly requests: number; readonly errors: number; readonly ms: number },
) {
  const counter = (name: string, labels: string, perMinute: number) => ({
    series: `${name}{${labels}}`,
    values: `0+${perMinute}x300`,
  });
  const pair = ['one:9126', 'two:9126'].flatMap((instance) => {
    const labels = `job="newrelic-apm-exporter",instance="${instance}",account="production",app="${app}",app_id="1"`;
    return [
      counter('newrelic_application_transactions_total', `${labels},kind="web"`, 600),
      counter('newrelic_application_transactions_total', `${labels},kind="non-web"`, 0),
      counter('newrelic_application_transaction_errors_total', labels, 30),
      counter('newrelic_application_web_transaction_seconds_total', labels, 120),
    ];
  });
  const good = `job="${app}",instance="${app}:8080",http_response_status_code="200"`;
  const bad = `job="${app}",instance="${app}:8080",http_response_status_code="500"`;
  return [
    ...pair,
    ...(traffic.requests === 0
      ? []
      : [
          counter('http_server_request_duration_seconds_count', good, traffic.requests - traffic.errors),
          counter('http_server_request_duration_seconds_sum', good, (traffic.requests * traffic.ms) / 1000),
        ]),
    ...(traffic.errors === 0 ? [] : [counter('http_server_request_duration_seconds_count', bad, traffic.errors)]),
  ];
}

await describeReal('the queries of docs/high-availability.md', {
  tools: ['promtool'],
  define: (program) => {
    test('count two exporters of one account once', async () => {
      const [block = ''] = blocksOf(pageAt('docs/high-availability.md').text, 'promql');
      const queries = block.split(/^#.*$/m).filter((query) => query.trim() !== '');
      expect(queries).toHaveLength(2);
      const series = ['one:9126', 'two:9126'].flatMap((instance) => {
        const labels = `{job="newrelic-apm-exporter",instance="${instance}",account="a",app="b",app_id="1"}`;
        return [
          { series: `newrelic_application_web_requests_per_second${labels}`, values: '2x60' },
          { series: `newrelic_application_transactions_total${labels}`, values: '0+120x60' },
        ];
      });
      const cases = queries.map((expr, index) => ({
        expr,
        eval_time: '60m',
        exp_samples: [{ labels: '{account="a"}', value: [2, 7200][index] }],
      }));
      expect(await testRules(program('promtool'), [testFile([], series, cases)])).toMatchObject({ status: 0 });
    });
  },
});

await describeReal('the rules of docs/leaving-new-relic.md', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test('compare both sides, and a ticket names services that differ or have no metrics of their own', () =>
      inFolder(async (folder) => {
        const rules = join(folder, 'leaving.yaml');
        writeFileSync(rules, yamlBlocks(pageAt('docs/leaving-new-relic.md').text)[0] ?? '');
        const series = [
          ...application('same', { requests: 600, errors: 30, ms: 200 }),
          ...application('more', { requests: 720, errors: 36, ms: 200 }),
          ...application('slower', { requests: 600, errors: 30, ms: 300 }),
          ...application('flawless', { requests: 600, errors: 0, ms: 200 }),
          ...application('missing', { requests: 0, errors: 0, ms: 0 }),
        ];
        const ratios = (quantity: string, values: Readonly<Record<string, number>>) => ({
          expr: `round(app:own_per_newrelic:ratio{quantity="${quantity}"}, 0.001)`,
          eval_time: '280m',
          exp_samples: Object.entries(values).map(([app, value]) => ({
            labels: `{app="${app}", quantity="${quantity}"}`,
            value,
          })),
        });
        const firing = (alert: string, apps: readonly string[]) => ({
          expr: `count by (app) (ALERTS{alertname="${alert}", alertstate="firing"})`,
          eval_time: '280m',
          exp_samples: apps.map((app) => ({ labels: `{app="${app}"}`, value: 1 })),
        });
        const cases = [
          ratios('requests', { same: 1, more: 1.2, slower: 1, flawless: 1 }),
          ratios('seconds', { same: 1, more: 1, slower: 1.5, flawless: 1 }),
          firing('OwnMetricsDiffer', ['more', 'slower']),
          firing('OwnErrorsDiffer', ['flawless']),
          firing('OwnMetricsMissing', ['missing']),
        ];
        const outcome = await testRules(program('promtool'), [testFile([rules], series, cases)]);
        expect(outcome.stdout + outcome.stderr).toMatch(/SUCCESS/);
        expect(outcome.status).toBe(0);
      }));
  },
});
