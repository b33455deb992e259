import type { GoldenMetric, GoldenResult, MonitoredEntity } from '../api/upstreamReader.ts';
import { PERCENTILE_LABEL } from '../nrql/queryRows.ts';
import { createRow, calculateSamples, type RowSpec, type Family, type Labels, type Sample } from './family.ts';
import { ALERT_SEVERITY, listStatuses, tagLabels, type LabelledAccount } from './listedFamilies.ts';

interface MonitoredInput {
  readonly entity: Pick<MonitoredEntity, 'reporting' | 'healthStatus' | 'tags'>;
  readonly tags: readonly string[];
}

const SPECS: readonly RowSpec<MonitoredInput>[] = [
  {
    suffix: 'info',
    meaning: '1, with the tags of the entity that the configuration names as labels `tag_<key>`',
    source: 'tags of the entity search',
    calculate: ({ entity, tags }) => [{ labels: tagLabels(entity.tags, tags), value: 1 }],
  },
  {
    suffix: 'reporting',
    meaning: '1 while the entity reports data, else 0; golden metrics are read of those that report',
    source: 'reporting of the entity search',
    calculate: ({ entity }) => entity.reporting,
  },
  {
    suffix: 'health_status',
    meaning: 'Health of the entity: 1 for the current status, 0 for the other known ones',
    source: ALERT_SEVERITY,
    labelNames: ['status'],
    calculate: ({ entity }) => listStatuses(entity.healthStatus),
  },
];

export const MONITORED_FAMILIES = SPECS.map((spec) => createRow('newrelic_entity', 'entities', 'state', spec));

export function monitoredSamples(entity: MonitoredInput['entity'], tags: readonly string[]): Sample[] {
  return calculateSamples(MONITORED_FAMILIES, { entity, tags });
}

type Entity = Pick<MonitoredEntity, 'guid' | 'name'>;

export function entityLabels({ name, labels }: LabelledAccount, type: string, entity: Entity): Labels {
  return { account: name, entity_type: type, entity: entity.name, entity_guid: entity.guid, ...labels };
}

/** Returns the labels of golden metrics, without the type: the names of the metrics contain it. */
export function goldenLabels({ name, labels }: LabelledAccount, entity: Entity): Labels {
  return { account: name, entity: entity.name, entity_guid: entity.guid, ...labels };
}

/** A golden metric of a type that is not read, or not of all entities, and why. */
export interface MetricProblem {
  readonly type: string;
  readonly metric: string;
  readonly problem: string;
}

/** Families of golden metrics of an account; unknown until its lists are read. */
export interface GoldenFamilies {
  readonly byName: ReadonlyMap<string, Family>;
  /** By type, then by metric. */
  readonly families: ReadonlyMap<string, ReadonlyMap<string, Family>>;
  readonly leftOut: readonly MetricProblem[];
}

/**
 * Gives each metric a family, by type, then by name of the metric. No two families share a name.
 *
 * @param types each as `DOMAIN-TYPE`
 * @param isTaken true for the name of a built-in family, or of a metric of the configuration
 * @param before the previous families by name; they keep their HELP while the lists have their metrics
 */
export function goldenFamilies(
  types: readonly { readonly type: string; readonly metrics: readonly GoldenMetric[] }[],
  isTaken: (name: string) => boolean,
  before: ReadonlyMap<string, Family>,
): GoldenFamilies {
  const families = new Map<string, ReadonlyMap<string, Family>>();
  const owners = new Map<string, string>();
  const byName = new Map<string, Family>();
  const leftOut: MetricProblem[] = [];
  const findProblem = (name: string): string | undefined => {
    if (isTaken(name)) return `${name} is another metric's name`;
    return owners.has(name) ? `${name} is the name of the ${owners.get(name)} already` : undefined;
  };
  for (const { type, metrics } of types.toSorted((a, b) => compareText(a.type, b.type))) {
    const ofType = new Map<string, Family>();
    families.set(type, ofType);
    // HELP comes from the first definition of a metric by title.
    const first = new Map<string, GoldenMetric>();
    for (const metric of metrics) {
      const known = first.get(metric.name);
      if (known === undefined || compareTitles(metric, known) < 0) first.set(metric.name, metric);
    }
    for (const metric of [...first.values()].sort((a, b) => compareText(a.name, b.name))) {
      const name = goldenFamilyName(type, metric.name);
      const problem = name === undefined ? 'its name is too long' : findProblem(name);
      if (name === undefined || problem !== undefined) {
        leftOut.push({ type, metric: metric.name, problem: `left out: ${problem}` });
        continue;
      }
      owners.set(name, `golden metric ${JSON.stringify(metric.name)} of ${type}`);
      const family = before.get(name) ?? createFamily(type, name, metric);
      byName.set(name, family);
      ofType.set(metric.name, family);
    }
  }
  return { byName, families, leftOut };
}

/** Creates a family without a unit: New Relic chooses the units in the names, and values are not converted. */
function createFamily(type: string, name: string, metric: GoldenMetric): Family {
  const help = goldenHelp(type, metric);
  return { name, help, type: 'gauge', unit: undefined, group: 'golden_metrics', labelNames: [PERCENTILE_LABEL] };
}

/** Returns the samples of an entity. `families` are the families of its type, by metric. */
export function goldenSamples(families: ReadonlyMap<string, Family>, values: GoldenResult['values']): Sample[] {
  const samples: Sample[] = [];
  for (const { metric, percentile, value } of values) {
    const family = families.get(metric);
    const labels = percentile === undefined ? undefined : { [PERCENTILE_LABEL]: percentile };
    if (family !== undefined) samples.push({ family, labels, value });
  }
  return samples;
}

/** Suffixes that Prometheus reserves for other types than gauge. */
const RESERVED_SUFFIX = /_(?:total|count|sum|bucket|created|info)$/;

/**
 * Maximum length of the name of a family, and of a title or unit in HELP. Longer texts do not help to find a metric.
 */
const MAX_NAME = 200;
const MAX_TEXT = 200;

/**
 * Returns the family name of a golden metric, such as `newrelic_ext_service_response_time_ms`; undefined above 200
 * characters.
 *
 * @param type `DOMAIN-TYPE`
 */
export function goldenFamilyName(type: string, metric: string): string | undefined {
  const words = `${type}_${metric}`
    .slice(0, 2 * MAX_NAME)
    .replace(/[^a-zA-Z0-9_]/gu, '_')
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase();
  const name = `newrelic_${words}`;
  const safe = RESERVED_SUFFIX.test(name) ? `${name}_value` : name;
  return safe.length > MAX_NAME ? undefined : safe;
}

/** Returns HELP of a golden metric: title and unit as New Relic names them, on one line of limited length. */
export function goldenHelp(type: string, { name, title, unit }: Pick<GoldenMetric, 'name' | 'title' | 'unit'>): string {
  return `${toOneLine(title)} (${toOneLine(unit)}); golden metric ${toOneLine(name)} of ${type} as New Relic defines it`;
}

/** Parses title and unit from a HELP of `goldenHelp`. */
export function parseGoldenHelp(help: string): { readonly title: string; readonly unit: string } {
  const [, title = help, unit = ''] = /^(.*) \((.*)\); golden metric /u.exec(help) ?? [];
  return { title, unit };
}

/** Compares definitions of a metric by title, then by unit. So HELP does not depend on the order of responses. */
export function compareTitles(
  a: Pick<GoldenMetric, 'title' | 'unit'>,
  b: Pick<GoldenMetric, 'title' | 'unit'>,
): number {
  return compareText(a.title, b.title) || compareText(a.unit, b.unit);
}

/** Compares two texts by code points, like UTF-8 bytes. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Puts a text of New Relic on one line: at most 200 characters, without control characters. */
function toOneLine(text: string): string {
  const plain = text
    .slice(0, 4 * MAX_TEXT)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  const characters = Array.from(plain);
  return characters.length > MAX_TEXT ? `${characters.slice(0, MAX_TEXT - 1).join('')}…` : plain;
}
