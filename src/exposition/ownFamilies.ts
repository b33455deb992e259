import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import type { Labels } from '../metrics/sample.ts';
import { unitOf } from '../metrics/family.ts';
import type { AnswerCounts } from './answerFamilies.ts';
import { type Format, metadata } from './formats.ts';
import { bracedLabels, labelPairs } from '../metrics/writeSamples.ts';
import type { Registry } from './promClient.ts';

/** A series of the exporter itself. */
export interface OwnSeries {
  /** `_bucket`, `_sum` or `_count` after the family's name (histograms only), else empty. */
  readonly suffix: string;
  readonly labels: Labels;
  readonly value: number;
}

/** A family of the exporter itself, of the client library, or of `/probe`; its values are new for every answer. */
export interface OwnFamily extends Pick<ExporterFamily, 'name' | 'help' | 'type'> {
  readonly series: readonly OwnSeries[];
}

/** Gives the families that follow the collected ones, once it is known what the answer holds of those. */
export type OwnMetrics = (counts: AnswerCounts) => readonly OwnFamily[] | Promise<readonly OwnFamily[]>;

/**
 * The text of each family. Left out are values that are not finite, families without a series, and a family whose name
 * the collected data have taken: Prometheus refuses a scrape that has two families of one name.
 */
export function ownText(
  families: readonly OwnFamily[],
  taken: ReadonlyMap<string, number>,
  format: Format,
): readonly string[] {
  return families
    .filter(({ name }) => !taken.has(name))
    .map((family) => ({ ...family, series: family.series.filter(({ value }) => Number.isFinite(value)) }))
    .filter(({ series }) => series.length > 0)
    .map((family) => {
      const unit = unitOf(family.name.replace(/_total$/, ''));
      return metadata({ ...family, unit }, format) + family.series.map((one) => line(family, one, format)).join('');
    });
}

function line(family: OwnFamily, { suffix, labels, value }: OwnSeries, format: Format): string {
  const { le, ...others } = labels;
  const ordered: Labels = le === undefined ? others : { ...others, le: format === 'openmetrics' ? canonical(le) : le };
  return `${family.name}${suffix}${bracedLabels(labelPairs(ordered).join(','))}${value}\n`;
}

/** OpenMetrics writes a bucket's bound as a float: `1.0`, not `1`. */
function canonical(bound: string): string {
  return /^-?\d+$/.test(bound) ? `${bound}.0` : bound;
}

/** What a registry of the client library holds now, as copies: nothing that is done with them reaches the registry. */
export async function registryFamilies(registry: Registry): Promise<OwnFamily[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, values }) => ({
    name,
    help,
    type: typeOf(String(type)),
    series: values.map(({ labels, value, ...rest }) => ({
      suffix: 'metricName' in rest && typeof rest.metricName === 'string' ? rest.metricName.slice(name.length) : '',
      labels: Object.fromEntries(Object.entries(labels).map(([label, text]) => [label, String(text)])),
      value,
    })),
  }));
}

function typeOf(type: string): OwnFamily['type'] {
  if (type === 'gauge' || type === 'counter' || type === 'histogram') return type;
  throw new TypeError(`metrics of type ${type} are not used here`);
}
