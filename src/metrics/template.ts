import { UNCAPTURABLE_LABEL_NAMES } from './labels.ts';
import type { Labels } from './sample.ts';

/** A fault in a custom metric's `match`; the message says what to change, and never repeats the template. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'capture'; readonly label: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'rest' };

/** A parsed `match` of a custom metric. */
export interface Template {
  readonly source: string;
  readonly segments: readonly Segment[];
  /** The captured label names, in the order of the template. */
  readonly labelNames: readonly string[];
}

const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const MINIMUM_LITERAL = 3;

/**
 * Parses the `match` of a custom metric: segments between slashes, each a literal, `{label}` (captures it), `*` (any
 * one segment) or, at the end, `**` (all that remain, at least one). Throws a TemplateError.
 */
export function parseTemplate(match: string): Template {
  const parts = match.split('/');
  const segments = parts.map((part, index) => parseSegment(part, index, index === parts.length - 1));
  const labelNames = segments.flatMap((segment) => (segment.kind === 'capture' ? [segment.label] : []));
  const repeated = labelNames.find((label, index) => labelNames.indexOf(label) !== index);
  if (repeated !== undefined) {
    throw new TemplateError('The template captures two segments under one name: give each capture a name of its own.');
  }
  const template = { source: match, segments, labelNames };
  if (weight(literalFilter(template)) < MINIMUM_LITERAL) {
    throw new TemplateError(
      `The template needs a literal part of at least ${MINIMUM_LITERAL} characters, ` +
        'which narrows the metric name list that is read.',
    );
  }
  return template;
}

/** The captured labels when the metric name fits the template (`{}` without captures), else undefined. Case counts. */
export function matchTemplate(template: Template, metricName: string): Labels | undefined {
  const parts = metricName.split('/');
  const { segments } = template;
  const open = segments.at(-1)?.kind === 'rest';
  if (open ? parts.length < segments.length : parts.length !== segments.length) return undefined;
  const labels: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? '';
    if (segment.kind === 'rest') continue;
    if (segment.kind === 'literal' ? part !== segment.text : part === '') return undefined;
    if (segment.kind === 'capture') labels[segment.label] = part;
  }
  return labels;
}

/**
 * The longest literal part, of equal ones the first: upstream's substring filter for the metric name list. It keeps the
 * slashes around it, which do not count for its length.
 */
export function literalFilter(template: Pick<Template, 'segments'>): string {
  // A line feed stands for what is not literal: no metric name holds one, and parseSegment refuses it.
  const text = template.segments.map((segment) => (segment.kind === 'literal' ? segment.text : '\n')).join('/');
  return text.split('\n').reduce((longest, part) => (weight(part) > weight(longest) ? part : longest), '');
}

function parseSegment(part: string, index: number, last: boolean): Segment {
  const at = `Segment ${String(index + 1)} of the template`;
  if (part === '') throw new TemplateError(`${at} is empty: remove the slash before or after it.`);
  if (part === '*') return { kind: 'one' };
  if (part === '**') {
    if (!last) throw new TemplateError(`${at} is ** but not the last: ** stands for the rest of the name.`);
    return { kind: 'rest' };
  }
  const label = /^\{([^{}]*)\}$/.exec(part)?.[1];
  if (label !== undefined) return { kind: 'capture', label: checkedLabel(label, at) };
  if (/[{}*]/.test(part)) {
    throw new TemplateError(
      `${at} has more than {label}, * or **: these stand for whole segments only, so write one of them alone ` +
        'between the slashes.',
    );
  }
  if (/[\n\r]/.test(part)) throw new TemplateError(`${at} has a line break, which no metric name has: remove it.`);
  return { kind: 'literal', text: part };
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

/** How well a literal part narrows the list: its length without the slashes around it. */
function weight(part: string): number {
  return part.replace(/^\/|\/$/g, '').length;
}
