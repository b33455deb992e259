import { z } from 'zod';
import { dashboards } from './dashboards.ts';

/** A query of a panel. It still contains the variables of Grafana. */
export interface DashboardExpression {
  /** File name without extension. */
  readonly dashboard: string;
  readonly panel: string;
  readonly description: string;
  readonly refId: string;
  readonly expression: string;
}

/** A query variable: `label_values(...)` or `query_result(...)`. */
export interface VariableQuery {
  readonly dashboard: string;
  readonly variable: string;
  readonly query: string;
}

const targets = z.array(z.object({ refId: z.string(), expr: z.string() })).default([]);
const annotations = z.object({ list: z.array(z.object({ name: z.string(), expr: z.string() })).default([]) });
const committed = z.object({
  annotations,
  panels: z.array(z.object({ type: z.string(), title: z.string(), description: z.string().default(''), targets })),
  templating: z.object({
    list: z.array(z.object({ name: z.string(), type: z.string(), query: z.unknown() })),
  }),
});
const query = z.object({ query: z.string() });

/** Returns every query of every panel and annotation of all dashboards. */
export function dashboardExpressions(): DashboardExpression[] {
  return parseDashboards().flatMap(({ dashboard, content }) => [
    ...content.annotations.list.map(({ name, expr }) => ({
      dashboard,
      panel: name,
      description: `Empty without the query pack ${name.toLowerCase()}.`,
      refId: 'annotation',
      expression: expr,
    })),
    ...content.panels.flatMap((panel) =>
      panel.targets.map(({ refId, expr }) => ({
        dashboard,
        panel: panel.title,
        description: panel.description,
        refId,
        expression: expr,
      })),
    ),
  ]);
}

/** Returns every query variable of all dashboards. */
export function variableQueries(): VariableQuery[] {
  return parseDashboards().flatMap(({ dashboard, content }) =>
    content.templating.list
      .filter(({ type }) => type === 'query')
      .map((variable) => ({ dashboard, variable: variable.name, query: query.parse(variable.query).query })),
  );
}

/**
 * Replaces variables as Grafana does: by `values` (regular expressions), `$__rate_interval` by `range`, all others by
 * "All".
 */
export function substitute(expression: string, values: Readonly<Record<string, string>> = {}, range = '5m'): string {
  return expression.replace(/\$([a-z_]\w*)/gi, (_, name: string) =>
    name === '__rate_interval' ? range : (values[name] ?? '.+'),
  );
}

/** Returns what the query of a variable asks Prometheus for: a selector whose labels are read, or an expression. */
export function variableExpression({ query: text }: VariableQuery): string {
  const inner = /^(?:label_values|query_result)\((.*?)(?:, \w+)?\)$/s.exec(text)?.[1];
  if (inner === undefined) throw new Error(`not a variable query: ${text}`);
  return inner;
}

function parseDashboards(): { dashboard: string; content: z.infer<typeof committed> }[] {
  return dashboards().map(({ path, content }) => ({
    dashboard: path.replace(/^.*\//, '').replace('.json', ''),
    content: committed.parse(JSON.parse(content)),
  }));
}
