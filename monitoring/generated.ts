import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { GeneratedFile } from './dashboards/src/dashboards.ts';
import { dashboards } from './dashboards/src/dashboards.ts';

const HEAD = `# Edit: nothing. Written by \`npm run generate\` from the files of monitoring/rules: change those.
`;

const ruleFile = z.object({ groups: z.array(z.unknown()) });

/** Rule files that the Kubernetes deployments load. The other files suit only some accounts. */
const RULES = ['recording.yaml', 'alerts.yaml', 'packs.yaml'] as const;

function readRules(file: string): string {
  return readFileSync(new URL(`rules/${file}`, import.meta.url), 'utf8');
}

/** Returns the groups of a rule file. */
function parseGroups(file: string): unknown[] {
  return ruleFile.parse(parse(readRules(file))).groups;
}

/** Writes the rules for the Prometheus operator. */
export function prometheusRule(): GeneratedFile {
  const groups = RULES.flatMap(parseGroups);
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

/**
 * Writes the rules as JSON, which every jsonnet reads. The YAML reader of jsonnet does not support multi-line texts.
 */
function mixinRules(): GeneratedFile {
  const rules = {
    alerts: [...parseGroups('alerts.yaml'), ...parseGroups('packs.yaml')],
    recording: parseGroups('recording.yaml'),
    serviceLevels: parseGroups('slo.yaml'),
  };
  return { path: 'monitoring/mixin/rules.json', content: `${JSON.stringify(rules, null, 2)}\n` };
}

/**
 * Returns rules and dashboards as files of the chart. Helm reads only files inside a chart. Symbolic links do not
 * work: Git on Windows does not create them, and Flux leaves them out of an archive.
 */
function chartFiles(): GeneratedFile[] {
  const rules = RULES.map((file) => ({ path: `rules/${file}`, content: HEAD + readRules(file) }));
  const boards = dashboards().map(({ path, content }) => ({ path: path.replace(/^monitoring\//, ''), content }));
  return [...rules, ...boards].map(({ path, content }) => ({ path: `deploy/helm/files/${path}`, content }));
}

/** Returns every generated and committed file under monitoring/ and deploy/. */
export function monitoringFiles(): GeneratedFile[] {
  return [...dashboards(), prometheusRule(), mixinRules(), ...chartFiles()];
}
