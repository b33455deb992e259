import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unknownNames } from '../monitoring/names.ts';
import { rulesOf } from '../monitoring/ruleFiles.ts';
import { run, runCommand } from '../real/support/processes.ts';
import { BOTH_LINES, describeReal } from '../real/support/realPrograms.ts';
import { testRules } from '../real/support/rules.ts';
import { inFolder } from '../support/folder.ts';
import { blocksOf, pageAt, ROOT, rowsOf, sectionOf, shellBlocks, testFile } from './pages.ts';

const PAGE = pageAt('docs/alerts.md');
const LIMITS = sectionOf(PAGE, '### Other limits for one application');

test('docs/alerts.md names every alert with a limit', () => {
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
    test('count one account once where two exporters read it', async () => {
      const input = (instance: string, name: string, values: string) => ({
        series: `${name}{job="newrelic-apm-exporter",instance="${instance}",account="a",app="b",app_id="1"}`,
        values,
      });
      const series = ['one:9126', 'two:9126'].flatMap((instance) => [
        input(instance, 'newrelic_application_web_requests_per_second', '2x60'),
        input(instance, 'newrelic_application_error_ratio', '0.5x60'),
        input(instance, 'newrelic_application_info', '1x60'),
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
    test('apply to the applications that they name, and other applications keep the limits of the rules', () =>
      inFolder(async (folder) => {
        writeFileSync(join(folder, 'limits.yaml'), blocksOf(LIMITS, 'yaml')[0] ?? '');
        const series = APPLICATIONS.flatMap((app, id) => {
          const input = (name: string, values: string) => ({
            series: `newrelic_application_${name}{job="newrelic-apm-exporter",instance="exporter:9126",account="production",app="${app}",app_id="${id}"}`,
            values,
          });
          return [
            input('info', '1x150'),
            input('error_ratio', '0.1x150'),
            input('errors_per_second', '1x150'),
            input('response_time_seconds', '5x150'),
            input('apdex_threshold_seconds', '0.5x150'),
            input('web_requests_per_second', '5x150'),
            input('rolling_requests_per_second', '5x60 0x90'),
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

await describeReal('the rule of the page for muting windows', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test('fires only for alert events that open muted and outlast the window, once for two exporters', () =>
      inFolder(async (folder) => {
        writeFileSync(join(folder, 'muting.yaml'), blocksOf(sectionOf(PAGE, '### Muting windows'), 'yaml')[0] ?? '');
        const HOUR_S = 3600;
        // Promtool begins at 1970: an event that opened `ago` seconds before then is that old and one hour at the end.
        const open = (condition: string, ago: number, labels: Readonly<Record<string, string>>, values = 'x60') =>
          ['one:9126', 'two:9126'].map((instance) => {
            const all = { job: 'newrelic-apm-exporter', instance, account: 'production', condition, ...labels };
            const pairs = Object.entries({ priority: 'critical', entity: 'checkout', ...all });
            return {
              series: `newrelic_alert_events_oldest_open_timestamp_seconds{${pairs.map(([key, value]) => `${key}="${value}"`).join(', ')}}`,
              values: `${-ago}${values}`,
            };
          });
        const series = [
          open('Lag', 4 * HOUR_S, { policy: 'Shop', muted: 'true' }),
          open('In the window', 2 * HOUR_S, { policy: 'Shop', muted: 'true' }),
          open('Not muted', 40 * HOUR_S, { policy: 'Shop', muted: 'false' }),
          open('Muted for good', 40 * HOUR_S, { policy: 'Load tests', muted: 'true' }),
          open('Closed', 40 * HOUR_S, { policy: 'Shop', muted: 'true' }, 'x40'),
        ].flat();
        const labels =
          '{job="newrelic-apm-exporter", account="production", condition="Lag", priority="critical", entity="checkout", policy="Shop", muted="true", severity="warning", alertname="NewRelicAlertEventOutlastsMuting", alertstate="firing"}';
        const firing = { expr: 'ALERTS', eval_time: '60m', exp_samples: [{ labels: `ALERTS${labels}`, value: 1 }] };
        const file = testFile([join(folder, 'muting.yaml')], series, [firing]);
        const outcome = await testRules(program('promtool'), [file]);
        expect(outcome.stdout + outcome.stderr).toMatch(/SUCCESS/);
        expect(outcome.status).toBe(0);
      }));
  },
});

/** A runbook: what it says, and the queries that it gives to paste. */
const RUNBOOKS = [...PAGE.text.matchAll(/^### (NewRelic\w+)\n([\s\S]*?)(?=^#{2,3} |$(?![\s\S]))/gm)].map(
  ([, name = '', text = '']) => ({ name, text, queries: blocksOf(text, 'promql') }),
);

test.each(RUNBOOKS)(
  'the runbook of $name says how soon it fires, what to look at and what to do',
  ({ name, text, queries }) => {
    const parts = [/\*\*Fires\*\*\s/, /\*\*Look\s+at\*\*\s/, /^```promql$/m, /\*\*Do\*\*: /].map((part) =>
      text.search(part),
    );
    expect(parts).not.toContain(-1);
    expect(parts).toEqual(parts.toSorted((one, other) => one - other));
    const recorded = new Set(rulesOf('slo.yaml').flatMap(({ record }) => record ?? []));
    expect(queries.flatMap((query) => unknownNames(query, recorded))).toEqual([]);
    const rules = ['alerts.yaml', 'packs.yaml', 'slo.yaml'].flatMap(rulesOf).filter(({ alert }) => alert === name);
    const waits = rules.map((rule) => Number(/^(\d+)m$/.exec(rule.for ?? '')?.[1] ?? 0));
    const claims = rules.flatMap(({ annotations: { summary, description } }) =>
      [...`${summary} ${description}`.matchAll(/(\d+) minutes or longer/g)].map(([, time]) => Number(time)),
    );
    const soonest = /\*\*Fires\*\*\s[^.]*?(\d+)\s(?:to|minutes\sand)\s\d+\s(?:minutes|hours)/.exec(text)?.[1];
    if (soonest === undefined) expect(text).toMatch(/\*\*Fires\*\*\s[^.]*\bhours?\b/);
    else expect(Number(soonest)).toBeGreaterThanOrEqual(Math.max(...waits, ...claims));
  },
);

await describeReal('the runbooks and the links that the page shows', {
  tools: ['promtool', 'jsonnet'],
  define: (program) => {
    test('have queries that Prometheus accepts', () =>
      inFolder(async (folder) => {
        const rules = RUNBOOKS.flatMap(({ name, queries }) =>
          queries.map((expr) => ({ record: `runbook:${name}`, expr })),
        );
        expect(rules).toHaveLength(RUNBOOKS.length);
        writeFileSync(join(folder, 'queries.yaml'), JSON.stringify({ groups: [{ name: 'runbooks', rules }] }));
        const checked = await run(program('promtool'), ['check', 'rules', join(folder, 'queries.yaml')]);
        expect(checked).toMatchObject({ status: 0 });
      }));

    test('come from one command that writes every alert with its addresses', () =>
      inFolder(async (folder) => {
        const [command = ''] = shellBlocks(sectionOf(PAGE, '### Where links lead'));
        const [jsonnet] = program('jsonnet').command;
        symlinkSync(join(ROOT, 'monitoring'), join(folder, 'monitoring'));
        const shell = `jsonnet() { ${jsonnet} "$@"; }\n${command}`;
        expect(await runCommand(['sh', '-c', shell], { cwd: folder })).toMatchObject({ status: 0, stderr: '' });
        const written = readFileSync(join(folder, 'alerts.yaml'), 'utf8');
        expect(await run(program('promtool'), ['check', 'rules', join(folder, 'alerts.yaml')])).toMatchObject({
          status: 0,
        });
        const alerts = ['alerts.yaml', 'packs.yaml', 'slo.yaml']
          .flatMap(rulesOf)
          .filter(({ alert }) => alert !== undefined);
        expect(written.match(/"?dashboard_url"?: "https:\/\/grafana\.example\/d\/newrelic-apm-/g)).toHaveLength(
          alerts.length,
        );
        expect(written.match(/"?runbook_url"?: "https:\/\/wiki\.example\/alerts#newrelic/g)).toHaveLength(
          alerts.length,
        );
      }));
  },
});
