import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { dashboards } from '../../monitoring/dashboards/src/dashboards.ts';
import {
  dashboardExpressions,
  substitute,
  variableExpression,
  variableQueries,
} from '../../monitoring/dashboards/src/expressions.ts';
import { unknownNames } from './names.ts';
import { ROOT, rulesOf } from './ruleFiles.ts';

const target = z.object({ refId: z.string(), expr: z.string(), datasource: z.unknown() });
const panel = z.object({
  type: z.string(),
  title: z.string(),
  description: z.string().default(''),
  datasource: z.unknown().optional(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(target).default([]),
  fieldConfig: z.object({ defaults: z.object({ unit: z.string().optional() }) }).optional(),
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
const ofCounters = expressions.filter(({ expression }) => /(?:_total|_bucket)\b|\brate\(/.test(expression));
const recorded = new Set(['recording.yaml', 'slo.yaml'].flatMap(rulesOf).map(({ record }) => record ?? ''));

test.each(files)('$path is committed as it is built', ({ path, content }) => {
  expect(readFileSync(resolve(ROOT, path), 'utf8')).toBe(content);
});

describe.each(parsed)('$title', ({ uid, editable, panels, templating, links }) => {
  const charts = panels.filter(({ type }) => type !== 'row');
  const named = new Map(templating.list.map((entry) => [entry.name, entry]));

  test('has one data source variable, named datasource, over Prometheus', () => {
    const sources = templating.list.filter(({ type }) => type === 'datasource');
    expect(sources).toMatchObject([{ name: 'datasource', label: 'Data source', query: 'prometheus' }]);
  });

  test.each([
    ['job', 'Job'],
    ['instance', 'Instance'],
  ])('has the variable %s as the linter wants it', (name, label) => {
    expect(named.get(name)).toMatchObject({
      type: 'query',
      label,
      datasource: DATASOURCE,
      multi: true,
      allValue: '.+',
      refresh: 2,
    });
  });

  test('is not editable, so that a provisioned copy stays what is committed', () => {
    expect(editable).toBe(false);
  });

  test('every panel has a title, a description, a known unit and the data source variable', () => {
    const known = new Set<unknown>(Object.values(units));
    for (const chart of charts) {
      expect(chart.title).not.toBe('');
      expect(chart.description, chart.title).toMatch(/\.$/);
      expect(known.has(chart.fieldConfig?.defaults.unit), chart.title).toBe(true);
      expect(chart.datasource, chart.title).toEqual(DATASOURCE);
      for (const { datasource } of chart.targets) expect(datasource, chart.title).toEqual(DATASOURCE);
    }
  });

  test('every panel asks for something, under its own letter', () => {
    expect(charts.length).toBeGreaterThan(0);
    for (const { title, targets } of charts) {
      expect(targets.length, title).toBeGreaterThan(0);
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
    }
  });

  test('no two panels lie over one another', () => {
    const cells = charts.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...charts.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });

  test('links to the others and takes variables and time along', () => {
    const others = parsed.map((other) => other.uid).filter((other) => other !== uid);
    expect(links).toEqual(others.map((other) => ({ url: `/d/${other}`, includeVars: true, keepTime: true })));
  });

  test('uses only variables that it has', () => {
    const builtIn = ['__rate_interval'];
    const used = charts.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/\$\w+/g) ?? []));
    expect(used).toContain('$job');
    expect(used.filter((name) => !named.has(name.slice(1)) && !builtIn.includes(name.slice(1)))).toEqual([]);
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

test.each(expressions)('$dashboard / $panel / $refId reads families that exist, of its job and instance', (each) => {
  const { expression } = each;
  const selectors = selectorsIn(expression);
  expect(selectors.length).toBeGreaterThan(0);
  expect(unknownNames(expression, recorded)).toEqual([]);
  for (const selector of selectors) {
    // Copies of two exporters are folded by the rules; an alert may be about no job at all.
    if (selector.startsWith('ALERTS')) expect(selector).toContain('account=~"$account|"');
    else if (/^account\w*:/.test(selector)) expect(selector).toContain('{job=~"$job", account=~"$account"');
    else expect(selector).toContain('{job=~"$job", instance=~"$instance"');
  }
});

test.each(ofCounters)('$dashboard / $panel / $refId rates every counter, over $__rate_interval', ({ expression }) => {
  const counters = expression.match(/\w+_(?:total|bucket)\{[^}]*\}\S*/g) ?? [];
  expect(counters.length).toBeGreaterThan(0);
  for (const counter of counters) expect(counter).toContain('[$__rate_interval]');
  expect(expression.match(/\brate\(/g)).toHaveLength(counters.length);
});

test('some panels show counters, which the rule about their rates is for', () => {
  expect(ofCounters.length).toBeGreaterThan(0);
});

test('the application has the deployments of the application that is chosen as annotations', () => {
  const found = expressions.filter(({ refId }) => refId === 'annotation');
  expect(found).toMatchObject([{ dashboard: 'application', panel: 'Deployments' }]);
  expect(found[0]?.expression).toContain(
    'newrelic_application_info{job=~"$job", instance=~"$instance", account=~"$account", app_id=~"$app"}',
  );
});

test('the overview leads to an application, and the application to a host', () => {
  const text = (name: string): string => files.find(({ path }) => path.endsWith(`/${name}.json`))?.content ?? '';
  expect(text('fleet')).toContain('/d/newrelic-apm-application?');
  expect(text('fleet')).toContain('var-app=${__data.fields.app_id}');
  expect(text('application')).toContain('/d/newrelic-apm-host?');
  expect(text('application')).toContain('var-host=${__data.fields.host_id}');
});

test('the variables app and host show a name and hold an id, whatever is in the name', () => {
  const pattern = (name: string): RegExp => {
    const regex = parsed.flatMap(({ templating }) => templating.list).find((entry) => entry.name === name)?.regex ?? '';
    return new RegExp(regex.slice(1, -1));
  };
  expect(pattern('app').exec('{app="a \\"b\\", app_id=\\"3\\"", app_id="17"} 1 1700000000000')?.groups).toEqual({
    text: 'a \\"b\\", app_id=\\"3\\"',
    value: '17',
  });
  expect(pattern('host').exec('{host="web-1", host_id="7"} 1 1700000000000')?.groups).toEqual({
    text: 'web-1',
    value: '7',
  });
  expect(pattern('host').exec('{host="web-1", host_id="web-1"} 1 1700000000000')?.groups).toEqual({
    text: 'web-1',
    value: 'web-1',
  });
});

test('the entities dashboard chooses by a variable among golden metrics only', () => {
  const [families] = variableQueries().filter(({ variable }) => variable === 'golden_metric');
  expect(families?.query).toMatch(/__name__!~"newrelic_entity_\(\?:info\|reporting\|health_status\)".*, __name__\)$/);
  const [shown] = expressions.filter(({ panel }) => panel === '$golden_metric');
  expect(shown?.expression).toContain(
    '{job=~"$job", instance=~"$instance", account=~"$account", __name__=~"$golden_metric"',
  );
});

test('substitution leaves no variable behind', () => {
  expect(substitute('rate(x{app_id=~"$app", job=~"$job"}[$__rate_interval])', { app: '17' })).toBe(
    'rate(x{app_id=~"17", job=~".+"}[5m])',
  );
  const left = [...expressions.map(({ expression }) => expression), ...variableQueries().map(variableExpression)];
  // `$1` belongs to label_replace.
  expect(left.map((text) => substitute(text)).filter((text) => /\$[^1]/.test(text))).toEqual([]);
});
