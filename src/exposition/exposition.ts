import { inSlices } from '../eventLoop/turns.ts';
import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import { unitOf, type Labels } from '../metrics/family.ts';
import { bracedLabels, labelPairs } from '../metrics/writeSamples.ts';
import type { FamilySeries } from './expositionFamilies.ts';
import { expositionPieces } from './expositionText.ts';
import { type Format, END_OF_EXPOSITION, metadata } from './formats.ts';
import { bodyOf } from './gzip.ts';

export interface ExpositionForm {
  readonly format: Format;
  readonly gzip: boolean;
}

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
 * An exposition ready to be sent: the collected families, then the exporter's own. Its pieces are made in slices; rejects with
 * the reason of the signal once that is aborted.
 */
export async function writeExposition(
  families: ReadonlyMap<string, FamilySeries>,
  own: readonly OwnFamily[],
  { format, gzip }: ExpositionForm,
  signal?: AbortSignal,
): Promise<readonly Buffer[]> {
  const end: string[] = [];
  await inSlices(ownText(own, families, format), (text) => end.push(text), signal);
  if (format === 'openmetrics') end.push(END_OF_EXPOSITION);
  return await bodyOf(expositionPieces(families.values(), end.join(''), format, !gzip, signal), gzip);
}

/**
 * The text of the families, in small pieces: with many accounts it is long. Left out are values that are not finite, families
 * without a series, and a family whose name the collected data have taken: Prometheus refuses a scrape that has two families of
 * one name.
 */
export function* ownText(
  families: readonly OwnFamily[],
  taken: ReadonlyMap<string, unknown>,
  format: Format,
): Generator<string, void, undefined> {
  for (const family of families) {
    if (taken.has(family.name) || !family.series.some(({ value }) => Number.isFinite(value))) continue;
    yield metadata({ ...family, unit: unitOf(family.name) }, format);
    for (const { suffix, labels, value } of family.series) {
      if (!Number.isFinite(value)) continue;
      const pairs = labelPairs(boundLast(labels, format)).join(',');
      yield `${family.name}${suffix}${bracedLabels(pairs)}${value}\n`;
    }
  }
}

function boundLast(labels: Labels, format: Format): Labels {
  if (labels['le'] === undefined) return labels;
  const { le, ...others } = labels;
  return { ...others, le: format === 'openmetrics' ? canonical(le) : le };
}

/** OpenMetrics writes a bucket's bound as a float: `1.0`, not `1`. */
function canonical(bound: string): string {
  return /^-?\d+$/.test(bound) ? `${bound}.0` : bound;
}
