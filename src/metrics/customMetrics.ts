import type { WindowValues } from '../formulas/metricInputs.ts';
import { kindOf, USUAL_VALUES, VALUES } from '../formulas/valueFormulas.ts';
import {
  familyOf,
  type FamilyScope,
  type Family,
  type Labels,
  type Sample,
  LABEL_NAME,
  UNCAPTURABLE_LABEL_NAMES,
} from './family.ts';

export interface CustomMetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly match: string;
  readonly value: string;
  readonly scale: number;
  readonly scope: FamilyScope;
  readonly max_series: number;
}

export interface CustomMetric {
  readonly family: Family;
  readonly template: ReturnType<typeof parseTemplate>;
  readonly definition: CustomMetricDefinition;
}

interface CustomMatch {
  readonly metric: CustomMetric;
  readonly metricName: string;
  readonly labels: Labels | undefined;
  /** Limit for the series of the name: 1; in the host scope, the number of hosts that may have it, the first by key. */
  readonly series: number;
}

/**
 * Prepares custom metrics. Definitions of one name share the family of the first; the check of the configuration ensures that
 * all of them have the same label names. Throws a TemplateError.
 */
export function customMetrics(definitions: readonly CustomMetricDefinition[]): CustomMetric[] {
  const families = new Map<string, Family>();
  return definitions.map((definition) => {
    const { name, help, match, value } = definition;
    const template = parseTemplate(match);
    const texts = { meaning: help, source: `${match}:${value}`, timeBase: 'collection window' };
    const family = families.get(name) ?? familyOf('custom_metrics', name, template.labelNames, texts);
    families.set(name, family);
    return { family, template, definition };
  });
}

/**
 * The metric names of an application that the custom metrics read, sorted, and at most `max_series` series of each custom
 * metric. Each name takes `entities` series: 1, or for the host scope the number of the application's hosts; the last name
 * may be left with some of the hosts only. Of metric names with equal labels only the first is read, because they would
 * write the same series. The result does not depend on the order of the names. `cut` is, by family name, the number of omitted
 * series of the application with all its hosts.
 */
export function customMatches(metrics: readonly CustomMetric[], metricNames: readonly string[], entities = 1) {
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

/** The custom samples of an application or host; `rank` is the host's place among those of its application, by key. */
export function customSamples(matches: readonly CustomMatch[], values: WindowValues, rank = 0): Sample[] {
  return matches.flatMap(({ metric: { family, definition }, metricName, labels, series }) => {
    if (rank >= series) return [];
    const found = values.metrics.get(metricName)?.values ?? {};
    const value = Object.hasOwn(found, definition.value) ? (found[definition.value] ?? NaN) * definition.scale : NaN;
    return Number.isFinite(value) ? [{ family, labels, value }] : [];
  });
}

function matchOf(metric: CustomMetric, metricName: string): Omit<CustomMatch, 'series'>[] {
  const captured = metric.template.pattern.exec(metricName);
  if (captured === null) return [];
  const { labelNames } = metric.family;
  const labels = Object.fromEntries(labelNames.map((name) => [name, captured.groups?.[name] ?? '']));
  return [{ metric, metricName, labels: labelNames.length === 0 ? undefined : labels }];
}

/** A mistake in a custom metric's `match`; the message says what to change, and never repeats the template. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

const MIN_LITERAL = 3;

/**
 * Parses the `match` of a custom metric: segments, each a literal, `{label}` (captures it), `*` (any one) or, at the end, `**`
 * (all that remain, at least one). `filter` is the longest literal part, the first of equal ones, with the slashes around it:
 * the substring filter for the metric name list. Throws a TemplateError.
 */
export function parseTemplate(match: string) {
  const parts = match.split('/');
  const segments = parts.map((part, index) => segmentPattern(part, index, index === parts.length - 1));
  const labelNames = parts.flatMap((part) => CAPTURE.exec(part)?.slice(1) ?? []);
  const repeated = labelNames.find((label, index) => labelNames.indexOf(label) !== index);
  if (repeated !== undefined) {
    throw new TemplateError('The template captures two segments under one name: give each capture a name of its own.');
  }
  // A line feed replaces parts that are not literal: no metric name has one, and a literal may not.
  const literals = parts.map((part) => (isLiteral(part) ? part : '\n')).join('/');
  const filter = literals.split('\n').reduce((longest, part) => (weight(part) > weight(longest) ? part : longest), '');
  if (weight(filter) < MIN_LITERAL) {
    throw new TemplateError(
      `The template needs a literal part of at least ${MIN_LITERAL} characters, ` +
        'which narrows the metric name list that is read.',
    );
  }
  return { pattern: new RegExp(`^${segments.join('/')}$`, 's'), labelNames, filter };
}

const CAPTURE = /^\{([^{}]*)\}$/;

function isLiteral(part: string): boolean {
  return !/[{*]/.test(part);
}

function segmentPattern(part: string, index: number, isLast: boolean): string {
  const at = `Segment ${String(index + 1)} of the template`;
  if (part === '') throw new TemplateError(`${at} is empty: remove the slash before or after it.`);
  if (part === '*') return '[^/]+';
  if (part === '**') {
    if (!isLast) throw new TemplateError(`${at} is ** but not the last: ** stands for the rest of the name.`);
    return '.*';
  }
  const label = CAPTURE.exec(part)?.[1];
  if (label !== undefined) return `(?<${checkedLabel(label, at)}>[^/]+)`;
  if (/[{}*]/.test(part)) {
    throw new TemplateError(
      `${at} has more than {label}, * or **: these stand for whole segments only, so write one of them alone ` +
        'between the slashes.',
    );
  }
  if (/[\n\r]/.test(part)) throw new TemplateError(`${at} has a line break, which no metric name has: remove it.`);
  return part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function checkedLabel(label: string, at: string): string {
  if (!LABEL_NAME.test(label) || label.startsWith('__')) {
    throw new TemplateError(
      `${at} captures a name that is no label name: use letters, digits and _, no digit first, not __ first.`,
    );
  }
  if (UNCAPTURABLE_LABEL_NAMES.has(label)) {
    throw new TemplateError(`${at} captures a label that the series has already: choose another name.`);
  }
  return label;
}

/** The length of a literal part without the slashes around it: a longer one narrows the list more. */
function weight(part: string): number {
  return part.replace(/^\/|\/$/g, '').length;
}

/** The names of the values that NerdGraph can give for the metrics that a custom metric's `match` may fit, and the usual ones. */
export function nerdgraphValuesOf(match: string): Readonly<Record<'all' | 'usual', readonly string[]>> {
  const [first = '', second = ''] = match.split('/');
  const named = first === 'EndUser' && !isLiteral(second) ? (['any', 'apdex', 'device'] as const) : [kindOf(match)];
  const kinds = isLiteral(first) ? named : (['any', 'apdex', 'device', 'memory'] as const);
  return {
    all: [...new Set(kinds.flatMap((kind) => [...VALUES[kind].keys()]))],
    usual: [...new Set(kinds.flatMap((kind) => USUAL_VALUES[kind]))],
  };
}
