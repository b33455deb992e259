import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import type { Labels } from '../metrics/sample.ts';
import { unitOf } from '../metrics/family.ts';
import { type Format, metadata } from './formats.ts';
import { bracedLabels, labelPairs } from '../metrics/writeSamples.ts';

/** A family of the exporter itself, of the client library, or of `/probe`; its values are new for every exposition. */
export interface OwnFamily extends Pick<ExporterFamily, 'name' | 'help' | 'type'> {
  readonly series: readonly {
    /** `_bucket`, `_sum` or `_count` after the family's name (histograms only), else empty. */
    readonly suffix: string;
    readonly labels: Labels;
    readonly value: number;
  }[];
}

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
      const unit = unitOf(family.name);
      const lines = family.series.map(({ suffix, labels, value }) => {
        const { le, ...others } = labels;
        const ordered = le === undefined ? others : { ...others, le: format === 'openmetrics' ? canonical(le) : le };
        return `${family.name}${suffix}${bracedLabels(labelPairs(ordered).join(','))}${value}\n`;
      });
      return metadata({ ...family, unit }, format) + lines.join('');
    });
}

/** OpenMetrics writes a bucket's bound as a float: `1.0`, not `1`. */
function canonical(bound: string): string {
  return /^-?\d+$/.test(bound) ? `${bound}.0` : bound;
}
