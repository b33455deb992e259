import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { GeneratedFile } from './dashboards/src/dashboards.ts';
import { dashboards } from './dashboards/src/dashboards.ts';

const HEAD = `# Edit: nothing. Written by \`npm run generate\` from the files of monitoring/rules: change those.
`;

const ruleFile = z.object({ groups: z.array(z.unknown()) });

/** The groups of a file of rules. */
function groupsOf(file: string): unknown[] {
  return ruleFile.parse(parse(readFileSync(new URL(`rules/${file}`, import.meta.url), 'utf8'))).groups;
}

/** The rules as the Prometheus operator takes them. */
export function prometheusRule(): GeneratedFile {
  const groups = ['recording.yaml', 'alerts.yaml', 'packs.yaml'].flatMap(groupsOf);
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
  };
  return { path: 'monitoring/mixin/rules.json', content: `${JSON.stringify(rules, null, 2)}\n` };
}

/** Every file under monitoring/ and deploy/ that is generated and committed. */
export function monitoringFiles(): GeneratedFile[] {
  return [...dashboards(), prometheusRule(), mixinRules()];
}
