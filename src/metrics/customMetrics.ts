import type { WindowValues } from '../formulas/metricInputs.ts';
import { kindOf, USUAL_VALUES, VALUES } from '../formulas/valueFormulas.ts';
import {
  createFamily,
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
  /** 1, or in the host scope the number of hosts that may have it, the first by key. */
  readonly series: number;
}

/** Prepares checked custom metrics. Those with the same name share the family of the first. */
export function customMetrics(definitions: readonly CustomMetricDefinition[]): CustomMetric[] {
  const families = new Map<string, Family>();
  return definitions.map((definition) => {
    const { name, help, match, value } = definition;
    const template = parseTemplate(match);
    const texts = { meaning: help, source: `${match}:${value}`, timeBase: 'collection window' };
    const family = families.get(name) ?? createFamily('custom_metrics', name, template.labelNames, texts);
    families.set(name, family);
    return { family, template, definition };
  });
}

/**
 * Returns the metric names of an application that the custom metrics read, sorted, with at most `max_series` series
 * of each custom metric. Each name takes `entities` series: 1, or in the host scope the number of hosts; the last name
 * may get only some of them. Of metric names with equal labels only the first is read: the others would write the same
 * series. `cut` counts the omitted series of the application with all its hosts, by family name.
 */
export function matchCustomMetrics(metrics: readonly CustomMetric[], metricNames: readonly string[], entities = 1) {
  const sorted = [...new Set(metricNames)].sort();
  const taken = new Set<string>();
  const cut = new Map<string, number>();
  const matches = metrics.flatMap((metric) => {
    const found = sorted.flatMap((metricName) => matchName(metric, metricName));
    const accepted: CustomMatch[] = [];
    let remaining = metric.definition.max_series;
    for (const match of found) {
      const key = JSON.stringify([metric.family.name, match.labels]);
      const series = taken.has(key) ? 0 : Math.min(entities, remaining);
      taken.add(key);
      if (series === 0) continue;
      remaining -= series;
      accepted.push({ ...match, series });
    }
    const dropped = found.length * entities - (metric.definition.max_series - remaining);
    if (dropped > 0) cut.set(metric.family.name, (cut.get(metric.family.name) ?? 0) + dropped);
    return accepted;
  });
  return { matches, cut };
}

/** Returns the custom samples of an application, or of the host with the position `rank` in its application. */
export function customSamples(matches: readonly CustomMatch[], values: WindowValues, rank = 0): Sample[] {
  return matches.flatMap(({ metric: { family, definition }, metricName, labels, series }) => {
    if (rank >= series) return [];
    const found = values.metrics.get(metricName)?.values ?? {};
    const value = Object.hasOwn(found, definition.value) ? (found[definition.value] ?? NaN) * definition.scale : NaN;
    return Number.isFinite(value) ? [{ family, labels, value }] : [];
  });
}

function matchName(metric: CustomMetric, metricName: string): Omit<CustomMatch, 'series'>[] {
  const captured = metric.template.pattern.exec(metricName);
  if (captured === null) return [];
  const { labelNames } = metric.family;
  const labels = Object.fromEntries(labelNames.map((name) => [name, captured.groups?.[name] ?? '']));
  return [{ metric, metricName, labels: labelNames.length === 0 ? undefined : labels }];
}

/** A mistake in `match` of a custom metric. The message says what to change, and never repeats the template. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

const MIN_LITERAL_LENGTH = 3;

/**
 * Parses `match` of a custom metric. Each segment is a literal, `{label}` (captures it), `*` (any one) or, at the
 * end, `**` (the rest, at least one). `filter` is the substring filter for the metric name list: the longest literal
 * part, the first of equal ones, with the slashes around it. Throws a TemplateError.
 */
export function parseTemplate(match: string) {
  const parts = match.split('/');
  const segments = parts.map((part, index) => toPattern(part, index, index === parts.length - 1));
  const labelNames = parts.flatMap((part) => CAPTURE.exec(part)?.slice(1) ?? []);
  const repeated = labelNames.find((label, index) => labelNames.indexOf(label) !== index);
  if (repeated !== undefined) {
    throw new TemplateError('The template captures two segments under one name: give each capture a name of its own.');
  }
  // A line feed replaces parts that are not literal: neither metric names nor literals contain one.
  const literals = parts.map((part) => (isLiteral(part) ? part : '\n')).join('/');
  const filter = literals
    .split('\n')
    .reduce((longest, part) => (literalLength(part) > literalLength(longest) ? part : longest), '');
  if (literalLength(filter) < MIN_LITERAL_LENGTH) {
    throw new TemplateError(
      `The template needs a literal part of at least ${MIN_LITERAL_LENGTH} characters, ` +
        'which narrows the metric name list that is read.',
    );
  }
  return { pattern: new RegExp(`^${segments.join('/')}$`, 's'), labelNames, filter };
}

const CAPTURE = /^\{([^{}]*)\}$/;

function isLiteral(part: string): boolean {
  return !/[{*]/.test(part);
}

function toPattern(part: string, index: number, isLast: boolean): string {
  const segment = `Segment ${String(index + 1)} of the template`;
  if (part === '') throw new TemplateError(`${segment} is empty: remove the slash before or after it.`);
  if (part === '*') return '[^/]+';
  if (part === '**') {
    if (!isLast) throw new TemplateError(`${segment} is ** but not the last: ** stands for the rest of the name.`);
    return '.*';
  }
  const label = CAPTURE.exec(part)?.[1];
  if (label !== undefined) return `(?<${checkLabel(label, segment)}>[^/]+)`;
  if (/[{}*]/.test(part)) {
    throw new TemplateError(
      `${segment} has more than {label}, * or **: these stand for whole segments only, so write one of them alone ` +
        'between the slashes.',
    );
  }
  if (/[\n\r]/.test(part)) throw new TemplateError(`${segment} has a line break, which no metric name has: remove it.`);
  return part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function checkLabel(label: string, segment: string): string {
  if (!LABEL_NAME.test(label) || label.startsWith('__')) {
    throw new TemplateError(
      `${segment} captures a name that is no label name: use letters, digits and _, no digit first, not __ first.`,
    );
  }
  if (UNCAPTURABLE_LABEL_NAMES.has(label)) {
    throw new TemplateError(`${segment} captures a label that the series has already: choose another name.`);
  }
  return label;
}

function literalLength(part: string): number {
  return part.replace(/^\/|\/$/g, '').length;
}

/** Returns the value names that NerdGraph can have for the metrics that `match` may fit: all, and the usual ones. */
export function nerdgraphValuesOf(match: string): Readonly<Record<'all' | 'usual', readonly string[]>> {
  const [first = '', second = ''] = match.split('/');
  const named = first === 'EndUser' && !isLiteral(second) ? (['any', 'apdex', 'device'] as const) : [kindOf(match)];
  const kinds = isLiteral(first) ? named : (['any', 'apdex', 'device', 'memory'] as const);
  return {
    all: [...new Set(kinds.flatMap((kind) => [...VALUES[kind].keys()]))],
    usual: [...new Set(kinds.flatMap((kind) => USUAL_VALUES[kind]))],
  };
}
