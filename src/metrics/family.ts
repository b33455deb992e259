import type { Group } from './groups.ts';
import type { Family } from './sample.ts';

/** The scope of window metrics (contract 5.4). */
export type Scope = 'application' | 'host';

/** Over which time a family's values speak; HELP and docs/metrics.md say it in these words. */
export type TimeBase = 'state' | 'rolling' | 'rolling10' | 'window';

const TIME_BASES: Readonly<Record<TimeBase, string>> = {
  state: 'state when the list was read, not a rolling value',
  rolling: 'rolling average of 3 to 4 minutes, made upstream',
  rolling10: 'rolling average of 10 minutes, made upstream',
  window: 'collection window',
};

/** A family of the catalogue: what its HELP and its line in docs/metrics.md are made of. */
export interface CatalogueFamily extends Family {
  /** What a value says, a phrase. */
  readonly meaning: string;
  /** Upstream metric or field and what is done with it, in upstream's names. */
  readonly source: string;
  /** In words. */
  readonly timeBase: string;
}

/** The suffixes that OpenMetrics knows as units and that our names use. */
export function unitOf(name: string): Family['unit'] {
  return (['seconds', 'bytes', 'ratio'] as const).find((unit) => name.endsWith(`_${unit}`));
}

/** Gives the families of one group their shape; `prefix` is the common beginning of the names. */
export function familyMaker(prefix: string, group: Group): FamilyMaker {
  return (suffix, timeBase, meaning, source, labelNames = []) => {
    const name = `${prefix}_${suffix}`;
    const base = TIME_BASES[timeBase];
    const help = `${meaning}. Source: ${source}. Time base: ${base}; refreshed at most once a minute.`;
    return { name, help, type: 'gauge', unit: unitOf(name), group, labelNames, meaning, source, timeBase: base };
  };
}

/** Makes one family: `meaning` and `source` are phrases without a full stop at the end. */
export type FamilyMaker = (
  suffix: string,
  timeBase: TimeBase,
  meaning: string,
  source: string,
  labelNames?: readonly string[],
) => CatalogueFamily;
