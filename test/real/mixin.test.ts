import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { dashboards } from '../../monitoring/dashboards/src/dashboards.ts';
import { rulesOf } from '../monitoring/ruleFiles.ts';
import { run } from './support/processes.ts';
import { describeReal } from './support/realPrograms.ts';

const MIXIN = resolve(import.meta.dirname, '../../monitoring/mixin/mixin.libsonnet');

const evaluated = z.object({
  dashboards: z.record(z.string(), z.looseObject({ uid: z.string() })),
  alerts: z.array(
    z.object({ rules: z.array(z.looseObject({ alert: z.string(), expr: z.string(), annotations: z.unknown() })) }),
  ),
  recording: z.array(z.object({ rules: z.array(z.looseObject({ record: z.string(), expr: z.string() })) })),
});

const linksOf = z.looseObject({ dashboard_url: z.string(), runbook_url: z.string() });

await describeReal('the mixin', {
  tools: ['jsonnet'],
  define: (program) => {
    test('contains every dashboard, alert and recording rule of this project, and adds to another mixin', async () => {
      const text =
        `local m = { prometheusAlerts+:: { groups: [{ name: "other", rules: [] }] } } + (import ${JSON.stringify(MIXIN)});` +
        '{ dashboards: m.grafanaDashboards, alerts: m.prometheusAlerts.groups, recording: m.prometheusRules.groups }';
      const outcome = await run(program('jsonnet'), ['-e', text]);
      expect(outcome).toMatchObject({ status: 0, stderr: '' });
      const mixin = evaluated.parse(JSON.parse(outcome.stdout));
      expect(Object.values(mixin.dashboards)).toEqual(
        expect.arrayContaining(dashboards().map(({ content }) => JSON.parse(content) as unknown)),
      );
      expect(Object.keys(mixin.dashboards)).toHaveLength(dashboards().length);
      const alerts = mixin.alerts.flatMap(({ rules }) => rules);
      expect(mixin.alerts[0]?.rules).toEqual([]);
      expect(alerts.map(({ alert, expr, annotations }) => [alert, expr, annotations])).toEqual(
        [...rulesOf('alerts.yaml'), ...rulesOf('packs.yaml')].map(({ alert, expr, annotations }) => [
          alert,
          expr,
          annotations,
        ]),
      );
      const recording = mixin.recording.flatMap(({ rules }) => rules);
      expect(recording.map(({ record, expr }) => [record, expr])).toEqual(
        rulesOf('recording.yaml').map(({ record, expr }) => [record, expr]),
      );
    });

    test('links to the Grafana and the runbooks of its settings, with or without a trailing slash', async () => {
      const [first] = rulesOf('alerts.yaml');
      for (const grafana of ['https://grafana.example/g', 'https://grafana.example/g/']) {
        const settings = { dashboardUrl: grafana, runbookUrl: 'https://wiki.example/alerts' };
        const text =
          `local m = (import ${JSON.stringify(MIXIN)}) + { _config+:: ${JSON.stringify(settings)} };` +
          '{ dashboards: m.grafanaDashboards, alerts: m.prometheusAlerts.groups, recording: m.prometheusRules.groups }';
        const outcome = await run(program('jsonnet'), ['-e', text]);
        expect(outcome).toMatchObject({ status: 0, stderr: '' });
        expect(outcome.stdout).not.toContain('docs/alerts.md#');
        const rules = evaluated.parse(JSON.parse(outcome.stdout)).alerts.flatMap((group) => group.rules);
        expect(rules[0]?.['annotations']).toEqual({
          ...first?.annotations,
          dashboard_url: `https://grafana.example/g${first?.annotations['dashboard_url']}`,
          runbook_url: 'https://wiki.example/alerts#newrelicapplicationerrorratiocritical',
        });
        const links = rules.map(({ annotations }) => linksOf.parse(annotations));
        for (const { dashboard_url, runbook_url } of links) {
          expect(dashboard_url).toMatch(/^https:\/\/grafana\.example\/g\/d\//);
          expect(runbook_url).toMatch(/^https:\/\/wiki\.example\/alerts#/);
        }
      }
    });
  },
});
