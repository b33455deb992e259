import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { GeneratedFile } from './dashboards/src/dashboards.ts';
import { dashboards } from './dashboards/src/dashboards.ts';

const HEAD = `# Edit: nothing. Written by \`npm run generate\` from the files of monitoring/rules: change those.
`;

const ruleFile = z.object({ groups: z.array(z.unknown()) });

/** The files of rules that the deployments of Kubernetes load; the others suit some accounts only. */
const RULES = ['recording.yaml', 'alerts.yaml', 'packs.yaml'] as const;

function textOf(file: string): string {
  return readFileSync(new URL(`rules/${file}`, import.meta.url), 'utf8');
}

/** The groups of a file of rules. */
function groupsOf(file: string): unknown[] {
  return ruleFile.parse(parse(textOf(file))).groups;
}

/** The rules as the Prometheus operator takes them. */
export function prometheusRule(): GeneratedFile {
  const groups = RULES.flatMap(groupsOf);
  const resource = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'newrelic-apm-exporter' },
    spec: { groups },
  };
  return {
    path: 'deploy/kubernetes/prometheusrule.yaml',
    content: HEAD + stringify(resource, { lineWidth: 0, singleQuote: true }),
  };
}

/** The rules as JSON, which every jsonnet reads; its own reader of YAML does not know texts of several lines. */
function mixinRules(): GeneratedFile {
  const rules = {
    alerts: [...groupsOf('alerts.yaml'), ...groupsOf('packs.yaml')],
    recording: groupsOf('recording.yaml'),
    serviceLevels: groupsOf('slo.yaml'),
  };
  return { path: 'monitoring/mixin/rules.json', content: `${JSON.stringify(rules, null, 2)}\n` };
}

/**
 * Rules and dashboards as files of the chart. Helm reads only what lies inside a chart, and a symbolic link is lost where
 * Git makes none (Windows) and where links are left out of an archive (Flux).
 */
function chartFiles(): GeneratedFile[] {
  const rules = RULES.map((file) => ({ path: `rules/${file}`, content: HEAD + textOf(file) }));
  const boards = dashboards().map(({ path, content }) => ({ path: path.replace(/^monitoring\//, ''), content }));
  return [...rules, ...boards].map(({ path, content }) => ({ path: `deploy/helm/files/${path}`, content }));
}

/** Every file under monitoring/ and deploy/ that is generated and committed. */
export function monitoringFiles(): GeneratedFile[] {
  return [...dashboards(), prometheusRule(), mixinRules(), ...chartFiles()];
}
