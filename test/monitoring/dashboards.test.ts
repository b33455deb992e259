import * as units from '@grafana/grafana-foundation-sdk/units';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { dashboards } from '../../monitoring/dashboards/src/dashboards.ts';
import { dashboardExpressions, variableQueries } from '../../monitoring/dashboards/src/expressions.ts';
import { unknownNames } from './names.ts';
import { rulesOf } from './ruleFiles.ts';

const target = z.object({
  refId: z.string(),
  expr: z.string(),
  legendFormat: z.string().optional(),
  datasource: z.unknown(),
});
const panel = z.object({
  type: z.string(),
  title: z.string(),
  description: z.string().default(''),
  datasource: z.unknown().optional(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(target).default([]),
  fieldConfig: z.object({ defaults: z.object({ unit: z.string().optional() }), overrides: z.unknown() }).optional(),
});
const variable = z.object({
  name: z.string(),
  label: z.string(),
  type: z.string(),
  query: z.unknown(),
  datasource: z.unknown().optional(),
  multi: z.boolean().optional(),
  allValue: z.string().optional(),
  refresh: z.number().optional(),
  regex: z.string().optional(),
});
const dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  editable: z.boolean(),
  panels: z.array(panel),
  templating: z.object({ list: z.array(variable) }),
  links: z.array(z.object({ url: z.string(), includeVars: z.boolean(), keepTime: z.boolean() })),
});

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const files = dashboards();
const parsed = files.map(({ path, content }) => ({ path, ...dashboard.parse(JSON.parse(content)) }));
const expressions = dashboardExpressions();
const recorded = new Set(['recording.yaml', 'slo.yaml'].flatMap(rulesOf).map(({ record }) => record ?? ''));

/** Panels, but for the titles of rows. */
const charts = parsed.flatMap(({ title: place, panels }) =>
  panels.filter(({ type }) => type !== 'row').map((panel) => ({ ...panel, place: `${place}: ${panel.title}` })),
);
/** The panels that do not hold. */
const offenders = (holds: (chart: (typeof charts)[number]) => boolean): string[] =>
  charts.filter((chart) => !holds(chart)).map(({ place }) => place);

describe('every dashboard', () => {
  test('has the variables that the Grafana linter requires: data source, job and instance', () => {
    const list = { type: 'query', datasource: DATASOURCE, multi: true, allValue: '.+', refresh: 2 };
    for (const { title, templating } of parsed) {
      const wanted = templating.list.filter(({ name, type }) => type === 'datasource' || /^(job|instance)$/.test(name));
      expect(wanted, title).toMatchObject([
        { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' },
        { ...list, name: 'job', label: 'Job' },
        { ...list, name: 'instance', label: 'Instance' },
      ]);
    }
  });

  test('is not editable, so that a provisioned copy stays as committed, and links to the other dashboards', () => {
    const uids = parsed.map(({ uid }) => uid);
    for (const { uid, editable, links } of parsed) {
      const others = uids.filter((other) => other !== uid);
      expect(editable).toBe(false);
      expect(links).toEqual(others.map((other) => ({ url: `/d/${other}`, includeVars: true, keepTime: true })));
    }
  });

  test('uses only variables that it has', () => {
    for (const { title, panels, templating } of parsed) {
      const known = ['__rate_interval', ...templating.list.map(({ name }) => name)];
      const used = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/(?<=\$)[a-z_]+/g) ?? []));
      expect(used, title).toContain('job');
      expect(
        used.filter((name) => !known.includes(name)),
        title,
      ).toEqual([]);
    }
  });

  test('has no overlapping panels', () => {
    for (const { title, panels } of parsed) {
      const cells = panels
        .filter(({ type }) => type !== 'row')
        .flatMap(({ gridPos: { x, y, w, h } }) =>
          Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
        );
      expect(new Set(cells).size, title).toBe(cells.length);
      expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w)), title).toBeLessThanOrEqual(24);
    }
  });
});

describe('every panel', () => {
  test('has a title, a description, a known unit and the data source variable', () => {
    const known = new Set<unknown>(Object.values(units));
    const isTold = ({ title, description }: (typeof charts)[number]): boolean =>
      title !== '' && description.endsWith('.');
    expect(offenders(isTold)).toEqual([]);
    expect(offenders(({ fieldConfig }) => known.has(fieldConfig?.defaults.unit))).toEqual([]);
    for (const { place, datasource, targets } of charts)
      for (const source of [datasource, ...targets.map((each) => each.datasource)])
        expect(source, place).toEqual(DATASOURCE);
  });

  test('has queries, each with its own letter', () => {
    const letters = (targets: readonly { readonly refId: string }[]) => new Set(targets.map(({ refId }) => refId)).size;
    expect(offenders(({ targets }) => targets.length > 0 && letters(targets) === targets.length)).toEqual([]);
  });
});

/** The families that an expression reads, each with its selector, if it has one. */
function selectorsIn(expression: string): readonly string[] {
  return (
    // A golden metric is chosen by a variable: its selector has no name.
    expression.match(
      /(?<!\w)\{[^}]*\}|(?:\b[a-z_]+:)?\b(?:newrelic|process|nodejs|scrape_|up\b|ALERTS)\w*[\w:]*(?:\{[^}]*\})?/g,
    ) ?? []
  );
}

test('every expression reads existing families and selects job and instance', () => {
  for (const { dashboard: name, panel: title, refId, expression } of expressions) {
    const where = `${name} / ${title} / ${refId}`;
    const selectors = selectorsIn(expression);
    expect(selectors.length, where).toBeGreaterThan(0);
    expect(unknownNames(expression, recorded), where).toEqual([]);
    for (const selector of selectors) {
      // Copies of two exporters are folded by the rules; an alert may be about no job.
      if (selector.startsWith('ALERTS')) expect(selector, where).toContain('account=~"$account|"');
      else if (/^account\w*:/.test(selector)) expect(selector, where).toContain('{job=~"$job", account=~"$account"');
      else expect(selector, where).toContain('{job=~"$job", instance=~"$instance"');
    }
  }
});

test('every counter, and nothing else, has a rate over $__rate_interval', () => {
  const counters = expressions.flatMap(({ expression }) => expression.match(/\w+_(?:total|bucket)\{[^}]*\}\S*/g) ?? []);
  expect(counters.length).toBeGreaterThan(0);
  expect(counters.filter((counter) => !counter.includes('[$__rate_interval]'))).toEqual([]);
  const rates = expressions.flatMap(({ expression }) => expression.match(/\brate\(/g) ?? []);
  expect(rates).toHaveLength(counters.length);
});

test('the application dashboard shows deployments of the selected application as annotations', () => {
  const found = expressions.filter(({ refId }) => refId === 'annotation');
  expect(found).toMatchObject([{ dashboard: 'application', panel: 'Deployments' }]);
  expect(found[0]?.expression).toContain(
    'newrelic_application_info{job=~"$job", instance=~"$instance", account=~"$account", app_id=~"$app"}',
  );
});

test('the overview links to an application, and the application to a host', () => {
  const text = (name: string): string => files.find(({ path }) => path.endsWith(`/${name}.json`))?.content ?? '';
  expect(text('fleet')).toContain('/d/newrelic-apm-application?');
  expect(text('fleet')).toContain('var-app=${__data.fields.app_id}');
  expect(text('application')).toContain('/d/newrelic-apm-host?');
  expect(text('application')).toContain('var-host=${__data.fields.host_id}');
});

/** Families of the browser pack come from New Relic without the id. */
const HAS_ID = (expr: string): boolean => !expr.includes('newrelic_browser_');

test('every legend and every table row that names an application has its account and id', () => {
  const named = charts.flatMap(({ place, type, targets }) => targets.map((each) => ({ place, type, ...each })));
  const legends = named.filter(({ legendFormat = '' }) => legendFormat.includes('{{app}}'));
  expect(legends.length).toBeGreaterThan(5);
  const vague = legends.filter(({ expr, legendFormat = '' }) =>
    HAS_ID(expr)
      ? !legendFormat.startsWith('{{app}} ({{account}}, {{app_id}})')
      : !legendFormat.includes('{{account}}'),
  );
  expect(vague.map(({ place }) => place)).toEqual([]);
  const rows = named.filter(({ type, expr }) => type === 'table' && /by \([^)]*\bapp\b/.test(expr));
  expect(rows.length).toBeGreaterThan(5);
  expect(rows.filter(({ expr }) => !/by \([^)]*\bapp_id\b/.test(expr)).map(({ place }) => place)).toEqual([]);
});

test('a firing alert links to the runbook section of its rule', () => {
  const overrides = z.array(
    z.object({
      matcher: z.object({ options: z.string() }),
      properties: z.array(z.object({ id: z.string(), value: z.unknown() })),
    }),
  );
  const [table] = charts.filter(({ title }) => title === 'Current alerts');
  const [column] = overrides
    .parse(table?.fieldConfig?.overrides)
    .filter(({ matcher }) => matcher.options === 'runbook');
  const valueOf = (id: string): unknown => column?.properties.find((each) => each.id === id)?.value;
  const [mapping] = z
    .array(z.object({ options: z.record(z.string(), z.object({ text: z.string() })) }))
    .parse(valueOf('mappings'));
  const [link] = z.array(z.object({ url: z.string() })).parse(valueOf('links'));
  const alerts = ['alerts.yaml', 'packs.yaml', 'slo.yaml'].flatMap(rulesOf).filter(({ alert }) => alert !== undefined);
  const led = alerts.map(({ alert = '' }) =>
    link?.url.replace('${__value.text}', mapping?.options[alert]?.text ?? '-'),
  );
  expect(led).toEqual(alerts.map(({ annotations }) => annotations['runbook_url']));
});

test('the application dashboard shows percentiles and key transactions over time', () => {
  const over = charts.filter(
    ({ place, type }) => place.startsWith('New Relic APM / Application') && type === 'timeseries',
  );
  const families = over.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/newrelic_\w+/g) ?? []));
  expect(families).toEqual(
    expect.arrayContaining([
      'newrelic_transaction_duration_seconds',
      ...['response_time_seconds', 'requests_per_second', 'error_ratio', 'apdex_score'].map(
        (family) => `newrelic_key_transaction_rolling_${family}`,
      ),
    ]),
  );
});

test('the variables app and host show a name and hold an id, whatever the name contains', () => {
  const shown = (name: string, text: string, id: string) => {
    const regex = parsed.flatMap(({ templating }) => templating.list).find((entry) => entry.name === name)?.regex ?? '';
    return new RegExp(regex.slice(1, -1)).exec(`{${name}="${text}", ${name}_id="${id}"} 1 1700000000000`)?.groups;
  };
  for (const [name, text, value] of [
    ['app', 'a \\"b\\", app_id=\\"3\\"', '17'],
    ['host', 'web-1', '7'],
    ['host', 'web-1', 'web-1'],
  ] as const)
    expect(shown(name, text, value)).toEqual({ text, value });
});

test('the entities dashboard offers only golden metrics in its variable', () => {
  const [families] = variableQueries().filter(({ variable }) => variable === 'golden_metric');
  expect(families?.query).toMatch(/__name__!~"newrelic_entity_\(\?:info\|reporting\|health_status\)".*, __name__\)$/);
  const [shown] = expressions.filter(({ panel }) => panel === '$golden_metric');
  expect(shown?.expression).toContain(
    '{job=~"$job", instance=~"$instance", account=~"$account", __name__=~"$golden_metric"',
  );
});
