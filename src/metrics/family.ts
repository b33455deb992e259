import type { Api } from '../api/upstreamReader.ts';
import type { Tag } from '../api/types.ts';
import type { Group } from '../reads/reads.ts';

export type Labels = Readonly<Record<string, string>>;

/** One metric family of the catalogue, or of a custom metric. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  /** The unit the name ends in (OpenMetrics UNIT metadata), where it has one. */
  readonly unit: 'seconds' | 'bytes' | 'ratio' | undefined;
  readonly group: Group;
  readonly labelNames: readonly string[];
}

/**
 * One value of a family. The labels of its entity are added when an exposition is made; the check of the configuration ensures
 * that no label has two values.
 */
export interface Sample {
  readonly family: Family;
  /** Labels beyond those of the entity; undefined where there are none. */
  readonly labels: Labels | undefined;
  /** A finite number in base units. */
  readonly value: number;
}

export type FamilyScope = 'application' | 'host';

const TIME_BASES = {
  state: 'state when the list was read, not a rolling value',
  rolling: 'rolling average of 3 to 4 minutes',
  rolling10: 'rolling average of 10 minutes',
  window: 'collection window',
  counter: 'every minute once, from the start of the exporter on',
} as const;

export interface CatalogueFamily extends Family {
  /** The metric or field under New Relic's name, and the calculation; those of NerdGraph too where they differ. */
  readonly source: string;
  readonly interfaces: readonly Api[];
  readonly spec: FamilySpec;
}

/** The specification of a family; all texts are phrases without a full stop at the end. */
export interface FamilySpec {
  /** The name without its prefix. */
  readonly suffix: string;
  readonly meaning: string;
  readonly source: string;
  /** The source in NerdGraph, if it is another one; false: NerdGraph does not have it. */
  readonly nerdgraph?: string | false;
  /** False: the REST interface does not have it. */
  readonly rest?: false;
  readonly labelNames?: readonly string[];
}

/** A value, or a value for each series of its own labels: undefined, or no finite number, where it is absent; true is 1. */
type Calculated =
  number | boolean | undefined | readonly { readonly labels: Labels; readonly value: number | undefined }[];

/** The specification of a row. `Input` is what is known about an entity. */
export interface RowSpec<Input> extends FamilySpec {
  readonly calculate: (input: Input) => Calculated;
}

/** A row of the catalogue: a family together with its calculation. */
export type FamilyRow<Input> = CatalogueFamily & Pick<RowSpec<Input>, 'calculate'>;

/** The unit that a name ends in, before `_total`; undefined for a name without one. */
export function unitOf(name: string): Family['unit'] {
  return (['seconds', 'bytes', 'ratio'] as const).find((unit) => name.replace(/_total$/, '').endsWith(`_${unit}`));
}

/** Makes a family; the texts are phrases. HELP has the meaning of a value, its source and the time that it covers. */
export function familyOf(
  group: Group,
  name: string,
  labelNames: readonly string[],
  { meaning, source, timeBase }: Readonly<Record<'meaning' | 'source' | 'timeBase', string>>,
): Family {
  const phrase = meaning.trim().replace(/\.$/, '');
  const help = `${phrase}. Source: ${source}. Time base: ${timeBase}; refreshed at most once a minute.`;
  return { name, help, type: group === 'counters' ? 'counter' : 'gauge', unit: unitOf(name), group, labelNames };
}

export function familyRow<Input>(
  prefix: string,
  group: Group,
  timeBase: keyof typeof TIME_BASES,
  { calculate, ...spec }: RowSpec<Input>,
): FamilyRow<Input> {
  const { suffix, meaning, labelNames = [] } = spec;
  const source = sourceText(spec);
  return {
    ...familyOf(group, `${prefix}_${suffix}`, labelNames, { meaning, source, timeBase: TIME_BASES[timeBase] }),
    source,
    spec,
    interfaces: (['rest', 'nerdgraph'] as const).filter((api) => spec[api] !== false),
    calculate,
  };
}

export function samplesOf<Input>(rows: readonly FamilyRow<Input>[], input: Input): Sample[] {
  const samples: Sample[] = [];
  for (const family of rows) {
    const calculated = family.calculate(input);
    if (typeof calculated === 'object') {
      for (const { labels, value = NaN } of calculated) {
        if (Number.isFinite(value)) samples.push({ family, labels, value });
      }
      continue;
    }
    const value = Number(calculated);
    if (Number.isFinite(value)) samples.push({ family, labels: undefined, value });
  }
  return samples;
}

function sourceText({ source, nerdgraph, rest }: FamilySpec): string {
  if (rest === false) return `${source} (NerdGraph only)`;
  if (nerdgraph === undefined) return source;
  return nerdgraph === false ? `${source} (REST only)` : `${source}; with NerdGraph ${nerdgraph}`;
}

/** The grammar of label names. It also fits names that begin with `__`, which belong to Prometheus: callers refuse them. */
export const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Names with a meaning of their own in Prometheus, which renames or misreads them when they are scraped. */
export const PROMETHEUS_LABEL_NAMES = ['instance', 'job', 'le', 'quantile'] as const;

/** The labels that all series of an application, or of a host, carry. */
export const OF_APPLICATION = ['account', 'app', 'app_id'];
export const OF_HOST = [...OF_APPLICATION, 'host', 'host_id'];

/** Label names that a custom metric's template may not capture: labels of its application and host, and of Prometheus. */
export const UNCAPTURABLE_LABEL_NAMES: ReadonlySet<string> = new Set([...OF_HOST, ...PROMETHEUS_LABEL_NAMES]);

/** Labels of entities and their golden metrics, reserved only in an account with entities. */
export const MONITORED_LABEL_NAMES = ['entity_type', 'entity', 'entity_guid'] as const;

/** The label that carries the values of a tag: characters that a label may not have become `_`. */
export function tagLabel(key: string): string {
  return `tag_${key.replace(/[^a-zA-Z0-9_]/gu, '_')}`;
}

/** The values of a tag by its case-insensitive key; undefined without such a key. */
export function tagValues(tags: readonly Tag[], key: string): readonly string[] | undefined {
  const found = tags.filter((tag) => tag.key.toLowerCase() === key.toLowerCase());
  return found.length === 0 ? undefined : found.flatMap(({ values }) => values);
}
