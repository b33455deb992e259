import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buildProgram } from '../../src/cli/program.ts';
import { ROOT, strictYaml } from '../monitoring/ruleFiles.ts';

const service = z.strictObject({
  build: z.string().optional(),
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  secrets: z.array(z.string()).default([]),
  depends_on: z.array(z.string()).default([]),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  restart: z.string().optional(),
});
const compose = z.strictObject({
  name: z.string().optional(),
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.strictObject({})).default({}),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })).default({}),
});

const base = compose.parse(strictYaml('deploy/compose.yaml'));
const account = compose.parse(strictYaml('deploy/compose.account.yaml'));
const services = Object.entries(base.services);

describe('deploy/compose.yaml', () => {
  test('has the exporter, Prometheus, Alertmanager and Grafana', () => {
    expect(Object.keys(base.services)).toEqual(['exporter', 'prometheus', 'alertmanager', 'grafana']);
  });

  test.each(services)('%s mounts only files that exist and volumes that are declared', (_, { volumes }) => {
    for (const volume of volumes) {
      const [from = '', to = ''] = volume.split(':');
      expect(to.startsWith('/')).toBe(true);
      if (from.startsWith('.')) expect(existsSync(resolve(ROOT, 'deploy', from)), from).toBe(true);
      else expect(Object.keys(base.volumes)).toContain(from);
    }
  });

  test.each(services)('%s is reachable from this machine only', (_, { ports }) => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
  });

  test('the exporter runs a command that exists, with no right that it does not need', () => {
    const { command, read_only, cap_drop } = base.services['exporter'] ?? {};
    expect(buildProgram().commands.map((known) => known.name())).toContain(command?.[0]);
    expect(command?.[0]).toBe('demo');
    expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] });
  });

  test('a file with the key puts the exporter on a real account, and a read-only container can have it', () => {
    const { command, environment, secrets, read_only } = account.services['exporter'] ?? {};
    expect(command).toEqual(['serve']);
    expect(read_only ?? base.services['exporter']?.read_only).toBe(true);
    // A secret that is not a file would have to be written into the container.
    expect(Object.keys(account.secrets['new_relic_api_key'] ?? {})).toEqual(['file']);
    expect(secrets).toEqual(['new_relic_api_key']);
    expect(environment).toEqual({
      NEW_RELIC_API_KEY_FILE: '/run/secrets/new_relic_api_key',
      NEW_RELIC_REGION: '${NEW_RELIC_REGION:?the region of the account, which is us, eu, gov or jp}',
      NEW_RELIC_API: '${NEW_RELIC_API:-nerdgraph}',
      NEW_RELIC_ACCOUNT_ID: '${NEW_RELIC_ACCOUNT_ID:-}',
    });
  });
});

describe('Grafana', () => {
  test('is provisioned with the data source and with the folder that the dashboards are mounted in', () => {
    const sources = z.object({
      apiVersion: z.literal(1),
      datasources: z.array(z.object({ type: z.string(), url: z.string() })),
    });
    const providers = z.object({
      apiVersion: z.literal(1),
      providers: z.array(z.object({ type: z.literal('file'), options: z.object({ path: z.string() }) })),
    });
    const folder = 'deploy/grafana/provisioning';
    const source = sources.parse(strictYaml(`${folder}/datasources/prometheus.yaml`)).datasources;
    expect(source).toEqual([{ type: 'prometheus', url: 'http://prometheus:9090' }]);
    const [provider] = providers.parse(strictYaml(`${folder}/dashboards/newrelic-apm.yaml`)).providers;
    const mounted = base.services['grafana']?.volumes.find((volume) => volume.startsWith('../monitoring/dashboards:'));
    expect(mounted).toBe(`../monitoring/dashboards:${provider?.options.path}:ro`);
  });
});
