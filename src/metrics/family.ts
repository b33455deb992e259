import type { Api } from '../api/upstreamReader.ts';
import type { Tag } from '../api/types.ts';
import type { Group } from '../reads/reads.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  /** The unit at the end of the name (OpenMetrics UNIT metadata); undefined without one. */
  readonly unit: 'seconds' | 'bytes' | 'ratio' | undefined;
  readonly group: Group;
  readonly labelNames: readonly string[];
}

/** A value of a family. The exposition adds the labels of the entity, which differ from its own (checked before). */
export interface Sample {
  readonly family: Family;
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
  counter: 'each minute once, since the start of the exporter',
} as const;

export interface CatalogueFamily extends Family {
  /** The metric or field by its name in New Relic, and the calculation; also of NerdGraph if it differs. */
  readonly source: string;
  readonly interfaces: readonly Api[];
  readonly spec: FamilySpec;
}

/** Specification of a family. All texts are phrases without a full stop. */
export interface FamilySpec {
  readonly suffix: string;
  readonly meaning: string;
  readonly source: string;
  /** The source in NerdGraph, if it differs; false if NerdGraph does not have it. */
  readonly nerdgraph?: string | false;
  readonly rest?: false;
  readonly labelNames?: readonly string[];
}

/** A value, or a value for each set of labels. `undefined`, NaN or infinite means absent; `true` is 1. */
type Calculated =
  number | boolean | undefined | readonly { readonly labels: Labels; readonly value: number | undefined }[];

export interface RowSpec<Input> extends FamilySpec {
  readonly calculate: (input: Input) => Calculated;
}

export type FamilyRow<Input> = CatalogueFamily & Pick<RowSpec<Input>, 'calculate'>;

/** Returns the unit at the end of a name, before `_total`; undefined without one. */
export function unitOf(name: string): Family['unit'] {
  return (['seconds', 'bytes', 'ratio'] as const).find((unit) => name.replace(/_total$/, '').endsWith(`_${unit}`));
}

/** Creates a family. HELP joins the phrases: meaning, source and time base of a value. */
export function createFamily(
  group: Group,
  name: string,
  labelNames: readonly string[],
  { meaning, source, timeBase }: Readonly<Record<'meaning' | 'source' | 'timeBase', string>>,
): Family {
  const phrase = meaning.trim().replace(/\.$/, '');
  const help = `${phrase}. Source: ${source}. Time base: ${timeBase}; refreshed at most once a minute.`;
  return { name, help, type: group === 'counters' ? 'counter' : 'gauge', unit: unitOf(name), group, labelNames };
}

export function createRow<Input>(
  prefix: string,
  group: Group,
  timeBase: keyof typeof TIME_BASES,
  { calculate, ...spec }: RowSpec<Input>,
): FamilyRow<Input> {
  const { suffix, meaning, labelNames = [] } = spec;
  const source = describeSource(spec);
  return {
    ...createFamily(group, `${prefix}_${suffix}`, labelNames, { meaning, source, timeBase: TIME_BASES[timeBase] }),
    source,
    spec,
    interfaces: (['rest', 'nerdgraph'] as const).filter((api) => spec[api] !== false),
    calculate,
  };
}

export function calculateSamples<Input>(rows: readonly FamilyRow<Input>[], input: Input): Sample[] {
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

function describeSource({ source, nerdgraph, rest }: FamilySpec): string {
  if (rest === false) return `${source} (NerdGraph only)`;
  if (nerdgraph === undefined) return source;
  return nerdgraph === false ? `${source} (REST only)` : `${source}; with NerdGraph ${nerdgraph}`;
}

/** Grammar of label names. It allows names that begin with `__`, which belong to Prometheus: callers refuse them. */
export const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Label names that Prometheus uses itself: it renames or misreads them in a scrape. */
export const PROMETHEUS_LABEL_NAMES = ['instance', 'job', 'le', 'quantile'] as const;

export const APPLICATION_LABELS = ['account', 'app', 'app_id'];
export const HOST_LABELS = [...APPLICATION_LABELS, 'host', 'host_id'];

/** Label names that a template of a custom metric must not capture: labels of applications, hosts and Prometheus. */
export const UNCAPTURABLE_LABEL_NAMES: ReadonlySet<string> = new Set([...HOST_LABELS, ...PROMETHEUS_LABEL_NAMES]);

/** Labels of entities and their golden metrics. Reserved only in an account with entities. */
export const MONITORED_LABEL_NAMES = ['entity_type', 'entity', 'entity_guid'] as const;

/** Returns the label for a tag. Replaces characters that a label must not have by `_`. */
export function tagLabel(key: string): string {
  return `tag_${key.replace(/[^a-zA-Z0-9_]/gu, '_')}`;
}

/** Returns the values of a tag by its key in any case; undefined without the tag. */
export function tagValues(tags: readonly Tag[], key: string): readonly string[] | undefined {
  const found = tags.filter((tag) => tag.key.toLowerCase() === key.toLowerCase());
  return found.length === 0 ? undefined : found.flatMap(({ values }) => values);
}
