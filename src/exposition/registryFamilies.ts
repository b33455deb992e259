import type { Labels } from '../metrics/sample.ts';
import type { OwnFamily, OwnSeries } from './own.ts';
import type { Registry } from './promClient.ts';

type Metric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];
type MetricValue = Metric['values'][number];

/** What a registry of the client library holds now, as copies: nothing that is done with them reaches the registry. */
export async function registryFamilies(registry: Registry): Promise<OwnFamily[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, values }) => {
    return { name, help, type: typeOf(String(type)), series: values.map((value) => seriesOf(name, value)) };
  });
}

function seriesOf(family: string, value: MetricValue & { readonly metricName?: string | undefined }): OwnSeries {
  const suffix = (value.metricName ?? family).slice(family.length);
  return { suffix, labels: textLabels(value.labels), value: value.value };
}

function textLabels(labels: MetricValue['labels']): Labels {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}

function typeOf(type: string): OwnFamily['type'] {
  if (type === 'gauge' || type === 'counter' || type === 'histogram') {
    return type;
  }
  throw new TypeError(`metrics of type ${type} are not used here`);
}
