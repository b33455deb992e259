import type { Labels } from '../metrics/sample.ts';
import { labelValueText } from './escape.ts';

/** The labels of an entity as they are written, made once per labels object. */
export interface LabelText {
  /** `a="1",b="2"`, in the order given. */
  readonly text: string;
  /** `{a="1",b="2"} `, what stands between a name and a value; one space where there are no labels. */
  readonly closed: string;
  /** The same for every order of the same labels. */
  readonly key: string;
  /** The names alone, joined. */
  readonly schema: string;
}

export function labelText(labels: Labels): LabelText {
  const pairs = labelPairs(labels);
  const text = pairs.join(',');
  return { text, closed: closedText(text), key: seriesKey(pairs), schema: Object.keys(labels).join() };
}

/** `name="value"` of every label, in order. */
export function labelPairs(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}="${labelValueText(value)}"`);
}

/** What tells series of one family apart; the order of the labels does not. */
export function seriesKey(pairs: readonly string[]): string {
  return pairs.toSorted().join(',');
}

export function closedText(text: string): string {
  return text === '' ? ' ' : ['{', text, '} '].join('');
}
