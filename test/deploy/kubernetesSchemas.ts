import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ScrapeConfig } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1alpha1/ScrapeConfig';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';

const KINDS: readonly ((new (value: never) => { validate(): void }) & { is(value: unknown): boolean })[] = [
  ...[
    Deployment,
    Namespace,
    ConfigMap,
    Secret,
    ScrapeConfig,
    NetworkPolicy,
    Service,
    ServiceAccount,
    ServiceMonitor,
    PrometheusRule,
  ],
];

/** Throws unless the value fits the published schema of its kind: Kubernetes' OpenAPI, or the operator's definitions. */
export function validate(value: unknown): void {
  const kind = KINDS.find((each) => each.is(value));
  if (kind === undefined) throw new Error('no schema for this kind');
  new kind(value as never).validate();
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

/**
 * The fields of a resource that its schema does not know, as paths. The schemas let unknown fields pass: a field that they
 * know is refused with a value of a wrong type.
 */
export function unknownFields(resource: unknown): string[] {
  const fields = leaves(resource).filter(([first]) => first !== 'apiVersion' && first !== 'kind');
  if (fields.length === 0) throw new Error('no field');
  const passes = (path: Path): boolean => {
    try {
      validate(spoiled(resource, path));
      return true;
    } catch {
      return false;
    }
  };
  return fields.filter(passes).map((path) => path.join('.'));
}
