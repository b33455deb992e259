import { until } from '../../real/support/until.ts';
import { samplesOf, type ParsedFamily } from '../../support/exposition.ts';
import type { Exporter } from './program.ts';

/** The sum of `newrelic_exporter_collection_entities` of one state, over the series with these labels. */
export function entities(
  families: readonly ParsedFamily[],
  state: 'fresh' | 'stale' | 'missing',
  labels: Readonly<Record<string, string>> = {},
): number {
  return sumOf(families, 'newrelic_exporter_collection_entities', { ...labels, state });
}

/** The sum of a family's samples with these labels. */
export function sumOf(
  families: readonly ParsedFamily[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samplesOf(families, name, labels).reduce((sum, sample) => sum + sample.value, 0);
}

/** Scrapes until the families are as wanted, and gives them; no scrape waits long for what does not come. */
export function scrapeUntil(
  exporter: Exporter,
  what: string,
  wanted: (families: readonly ParsedFamily[]) => boolean,
  limit?: number,
): Promise<ParsedFamily[]> {
  return until(
    what,
    async () => {
      const families = await exporter.scrape('/metrics', 2);
      return wanted(families) && families;
    },
    limit,
  );
}

/** Scrapes until nothing is stale or missing. */
export function scrapeUntilFresh(exporter: Exporter, limit?: number): Promise<ParsedFamily[]> {
  return scrapeUntil(
    exporter,
    'everything to be fresh',
    (families) =>
      entities(families, 'fresh') > 0 && entities(families, 'stale') === 0 && entities(families, 'missing') === 0,
    limit,
  );
}
