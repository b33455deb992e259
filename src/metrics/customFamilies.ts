import { finite } from '../formulas/inputs.ts';
import type { WindowValues } from '../formulas/inputs.ts';
import { unitOf } from './family.ts';
import type { Scope } from './family.ts';
import type { Family, Labels, Sample } from './sample.ts';
import { literalFilter, matchTemplate, parseTemplate } from './template.ts';
import type { Template } from './template.ts';

/** A custom metric as configured. */
export interface CustomMetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly match: string;
  readonly value: string;
  readonly scale: number;
  readonly scope: Scope;
  readonly max_series: number;
}

/** A custom metric ready for use. */
export interface CustomMetric {
  readonly family: Family;
  readonly template: Template;
  /** What to narrow the metric name list with. */
  readonly filter: string;
  readonly definition: CustomMetricDefinition;
}

/** A metric name of an application that a custom metric reads. */
export interface CustomMatch {
  readonly metric: CustomMetric;
  readonly metricName: string;
  /** The captured labels; undefined where the template captures none. */
  readonly labels: Labels | undefined;
  /** How many series of it the cap allows: of the host scope, the first so many hosts in the order of their keys have it. */
  readonly series: number;
}

/** The matches to read and, by family name, how many series of one application, those of all its hosts, were cut. */
export interface CustomMatches {
  readonly matches: readonly CustomMatch[];
  readonly cut: ReadonlyMap<string, number>;
}

/** The family of a custom metric; HELP is the configured text with the source and the time base. */
export function customFamily(definition: CustomMetricDefinition): Family {
  const { name, help, match, value } = definition;
  return {
    name,
    help:
      `${help.trim().replace(/\.$/, '')}. Source: ${match}:${value}. ` +
      'Time base: collection window; refreshed at most once a minute.',
    type: 'gauge',
    unit: unitOf(name),
    group: 'custom_metrics',
    labelNames: parseTemplate(match).labelNames,
  };
}

/**
 * Prepares custom metrics. Definitions of one name share the family of the first, which needs equal label names in all
 * of them (a check of the configuration). Throws a TemplateError.
 */
export function customMetrics(definitions: readonly CustomMetricDefinition[]): CustomMetric[] {
  const families = new Map<string, Family>();
  return definitions.map((definition) => {
    const family = families.get(definition.name) ?? customFamily(definition);
    families.set(definition.name, family);
    const template = parseTemplate(definition.match);
    return { family, template, filter: literalFilter(template), definition };
  });
}

/**
 * Which of an application's metric names the custom metrics read, sorted, and at most `max_series` series of each custom
 * metric. Each name takes `entities` of them: 1, or for the host scope the number of the application's hosts; the last name
 * may be left with some of the hosts only. Of metric names with equal labels only the first is read, because they would
 * write the same series. The result does not depend on the order of the names.
 */
export function customMatches(
  metrics: readonly CustomMetric[],
  metricNames: readonly string[],
  entities = 1,
): CustomMatches {
  const sorted = [...new Set(metricNames)].sort();
  const taken = new Set<string>();
  const cut = new Map<string, number>();
  const matches = metrics.flatMap((metric) => {
    const found = sorted.flatMap((metricName) => matchOf(metric, metricName));
    const kept: CustomMatch[] = [];
    let left = metric.definition.max_series;
    for (const match of found) {
      const key = JSON.stringify([metric.family.name, match.labels]);
      const series = taken.has(key) ? 0 : Math.min(entities, left);
      taken.add(key);
      if (series === 0) continue;
      left -= series;
      kept.push({ ...match, series });
    }
    const dropped = found.length * entities - (metric.definition.max_series - left);
    if (dropped > 0) cut.set(metric.family.name, (cut.get(metric.family.name) ?? 0) + dropped);
    return kept;
  });
  return { matches, cut };
}

/**
 * The place of each host of an application, by its key, in the order in which the cap gives out series; what
 * {@link customSamples} wants of a host. It does not depend on the order of the host list.
 */
export function hostPlaces(keys: Iterable<string>): ReadonlyMap<string, number> {
  return new Map([...keys].sort().map((key, place) => [key, place]));
}

/**
 * The custom samples of one application or host: value × scale; absent where upstream answered no such value, and for a
 * host at whose `place` the cap has no series left.
 */
export function customSamples(matches: readonly CustomMatch[], values: WindowValues, place = 0): Sample[] {
  return matches.flatMap(({ metric: { family, definition }, metricName, labels, series }) => {
    if (place >= series) return [];
    const found = values.get(metricName)?.values;
    const unscaled =
      found !== undefined && Object.hasOwn(found, definition.value) ? found[definition.value] : undefined;
    const value = unscaled === undefined ? undefined : finite(unscaled * definition.scale);
    return value === undefined ? [] : [{ family, labels, value }];
  });
}

function matchOf(metric: CustomMetric, metricName: string): Omit<CustomMatch, 'series'>[] {
  const captured = matchTemplate(metric.template, metricName);
  if (captured === undefined) return [];
  const names = metric.family.labelNames;
  const labels = names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, captured[name] ?? '']));
  return [{ metric, metricName, labels }];
}
