import type { Api } from '../api/upstreamReader.ts';
import type { Group, Family, Labels, Sample } from './sample.ts';

export type FamilyScope = 'application' | 'host';

/** Over which time a family's values speak; HELP and docs/metrics.md say it in these words. */
const TIME_BASES = {
  state: 'state when the list was read, not a rolling value',
  rolling: 'rolling average of 3 to 4 minutes',
  rolling10: 'rolling average of 10 minutes',
  window: 'collection window',
  counter: 'every minute once, from the start of the exporter on',
} as const;

/** A family of the catalogue: what its HELP and its line in docs/metrics.md are made of. */
export interface CatalogueFamily extends Family {
  readonly meaning: string;
  /** Upstream metric or field and what is done with it, in upstream's names; of NerdGraph too where it differs. */
  readonly source: string;
  /** In words. */
  readonly timeBase: string;
  readonly interfaces: readonly Api[];
}

/** What a family is made from; all texts are phrases without a full stop at the end. */
export interface FamilySpec {
  /** What follows the prefix in the name. */
  readonly suffix: string;
  readonly meaning: string;
  readonly source: string;
  /** Where NerdGraph has it, if that is another place; false: NerdGraph does not have it. */
  readonly nerdgraph?: string | false;
  /** False: the REST interface does not have it. */
  readonly rest?: false;
  readonly labelNames?: readonly string[];
}

/** The value of one series of a family, with its labels beyond those of the entity. */
export interface LabelledValue {
  readonly labels: Labels;
  readonly value: number | undefined;
}

/** A row of the catalogue: a family together with its calculation. `Input` is what is known about an entity. */
export interface FamilyRow<Input> extends CatalogueFamily {
  /** A value, or a value for each series of its own labels; undefined where it is absent. */
  readonly calculate: (input: Input) => number | undefined | readonly LabelledValue[];
}

/** The suffixes that OpenMetrics knows as units and that our names use. */
export function unitOf(name: string): Family['unit'] {
  return (['seconds', 'bytes', 'ratio'] as const).find((unit) => name.replace(/_total$/, '').endsWith(`_${unit}`));
}

/** Makes a family; the texts are phrases. HELP says what a value is, where it comes from and which time it speaks about. */
export function familyOf(
  group: Group,
  name: string,
  labelNames: readonly string[],
  { meaning, source, timeBase }: Readonly<Record<'meaning' | 'source' | 'timeBase', string>>,
): Family {
  const said = meaning.trim().replace(/\.$/, '');
  const help = `${said}. Source: ${source}. Time base: ${timeBase}; refreshed at most once a minute.`;
  return { name, help, type: group === 'counters' ? 'counter' : 'gauge', unit: unitOf(name), group, labelNames };
}

export function catalogueFamily(
  prefix: string,
  group: Group,
  timeBase: keyof typeof TIME_BASES,
  spec: FamilySpec,
): CatalogueFamily {
  const { suffix, meaning, labelNames = [] } = spec;
  const texts = { meaning, source: sourceText(spec), timeBase: TIME_BASES[timeBase] };
  return {
    ...familyOf(group, `${prefix}_${suffix}`, labelNames, texts),
    ...texts,
    interfaces: (['rest', 'nerdgraph'] as const).filter((api) => spec[api] !== false),
  };
}

/** The samples of an entity in these families, in their order. */
export function samplesOf<Input>(rows: readonly FamilyRow<Input>[], input: Input): Sample[] {
  const samples: Sample[] = [];
  for (const family of rows) {
    const calculated = family.calculate(input);
    if (typeof calculated === 'number') samples.push({ family, labels: undefined, value: calculated });
    else if (calculated !== undefined) {
      for (const { labels, value } of calculated) if (value !== undefined) samples.push({ family, labels, value });
    }
  }
  return samples;
}

function sourceText({ source, nerdgraph, rest }: FamilySpec): string {
  if (rest === false) return `${source} (NerdGraph only)`;
  if (nerdgraph === undefined) return source;
  return nerdgraph === false ? `${source} (REST only)` : `${source}; with NerdGraph ${nerdgraph}`;
}
