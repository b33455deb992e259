import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rulesOf } from '../monitoring/ruleFiles.ts';
import { BOTH_LINES, describeReal } from '../real/support/realPrograms.ts';
import { testRules } from '../real/support/rules.ts';
import { inFolder } from '../support/folder.ts';
import { blocksOf, pageAt, ROOT, rowsOf, sectionOf, testFile } from './pages.ts';

const PAGE = pageAt('docs/alerts.md');
const LIMITS = sectionOf(PAGE, '### Other limits for one application');

test('the page names every alert that takes a limit', () => {
  const taking = rulesOf('alerts.yaml').flatMap(({ alert = '', expr }) =>
    expr.includes('newrelic_alert_threshold') ? [alert] : [],
  );
  const named = rowsOf(LIMITS).flatMap(([cell = '']) => {
    const [first = '', ...endings] = [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    return [first, ...endings.map((ending) => first.replace(/(?:Critical|High|Low)$/, ending))];
  });
  expect(new Set(named)).toEqual(new Set(taking));
});

/** Applications of one account, each of which would raise alerts by the limits of the rules. */
const APPLICATIONS = ['checkout', 'report-daily', 'search-staging', 'import', 'catalogue'];

/** The queries that pages show beside prose, by what they give of one application that two exporters read. */
const OF_A_PAIR = blocksOf(pageAt('docs/metrics.md').text, 'promql').flatMap((block) =>
  block.split(/^#.*$/m).filter((query) => /max by|group_left \(language\)/.test(query)),
);

await describeReal('the queries of docs/metrics.md', {
  tools: ['promtool'],
  define: (program) => {
    test('hold where two exporters read one account', async () => {
      const of = (instance: string, name: string, values: string) => ({
        series: `${name}{job="newrelic-apm-exporter",instance="${instance}",account="a",app="b",app_id="1"}`,
        values,
      });
      const series = ['one:9126', 'two:9126'].flatMap((instance) => [
        of(instance, 'newrelic_application_web_requests_per_second', '2x60'),
        of(instance, 'newrelic_application_error_ratio', '0.5x60'),
        of(instance, 'newrelic_application_info', '1x60'),
      ]);
      expect(OF_A_PAIR).toHaveLength(2);
      const results = [{ labels: '{account="a", app="b", app_id="1"}', value: 7200 }];
      const [requests = '', language = ''] = OF_A_PAIR;
      const file = testFile([], series, [
        { expr: requests, eval_time: '60m', exp_samples: results },
        { expr: `count(${language})`, eval_time: '60m', exp_samples: [{ labels: '{}', value: 2 }] },
      ]);
      expect(await testRules(program('promtool'), [file])).toMatchObject({ status: 0 });
    });
  },
});

await describeReal('the limits that the page shows', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test('hold for the applications that they name, and the others keep the limits of the rules', () =>
      inFolder(async (folder) => {
        writeFileSync(join(folder, 'limits.yaml'), blocksOf(LIMITS, 'yaml')[0] ?? '');
        const series = APPLICATIONS.flatMap((app, id) => {
          const at = (name: string, values: string) => ({
            series: `newrelic_application_${name}{job="newrelic-apm-exporter",instance="exporter:9126",account="production",app="${app}",app_id="${id}"}`,
            values,
          });
          return [
            at('info', '1x150'),
            at('error_ratio', '0.1x150'),
            at('errors_per_second', '1x150'),
            at('response_time_seconds', '5x150'),
            at('apdex_threshold_seconds', '0.5x150'),
            at('web_requests_per_second', '5x150'),
            at('rolling_requests_per_second', '5x60 0x90'),
          ];
        });
        const firing = (alert: string, apps: readonly string[]) => ({
          expr: `count by (app) (ALERTS{alertname="${alert}", alertstate="firing"})`,
          eval_time: '90m',
          exp_samples: apps.map((app) => ({ labels: `{app="${app}"}`, value: 1 })),
        });
        const rules = [join(folder, 'limits.yaml'), join(ROOT, 'monitoring/rules/alerts.yaml')];
        const file = testFile(rules, series, [
          firing('NewRelicApplicationErrorRatioHigh', ['report-daily', 'import', 'catalogue']),
          // Where many requests fail, that alert says the same.
          firing('NewRelicApplicationResponseTimeHigh', ['checkout']),
          firing('NewRelicApplicationThroughputZero', ['checkout', 'report-daily', 'catalogue']),
        ]);
        const outcome = await testRules(program('promtool'), [file]);
        expect(outcome.stdout + outcome.stderr).toMatch(/SUCCESS/);
        expect(outcome.status).toBe(0);
      }));
  },
});
