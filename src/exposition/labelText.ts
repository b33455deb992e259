import type { Block, Labels } from '../metrics/sample.ts';
import { labelValueText } from './escape.ts';

/** The labels of an entity as they are written. */
export interface LabelText {
  readonly source: Labels;
  /** `a="1",b="2"` in UTF-8, in the order given. */
  readonly bytes: Buffer;
  /** The same for every order of the same labels. */
  readonly key: string;
  /** The names alone, joined. */
  readonly schema: string;
}

export function labelText(labels: Labels): LabelText {
  const pairs = labelPairs(labels);
  const bytes = Buffer.from(pairs.join(','), 'utf8');
  return { source: labels, bytes, key: seriesKey(pairs), schema: Object.keys(labels).join() };
}

/** `name="value"` of every label, in order. */
export function labelPairs(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}="${labelValueText(value)}"`);
}

/** What tells series of one family apart; the order of the labels does not. */
export function seriesKey(pairs: readonly string[]): string {
  return pairs.toSorted().join(',');
}

/** What stands between a name and a value: one space where there are no labels. */
export function closedText(text: string): string {
  return text === '' ? ' ' : `{${text}} `;
}

/**
 * Finds the label text of blocks among that of an earlier list of blocks, by the identity of the labels. Entities rarely
 * come or go, so the place in the list is tried first. (A WeakMap would do it too, at many times the cost: the
 * collector of garbage visits its entries one by one.)
 */
export class LabelTexts {
  readonly #earlier: readonly LabelText[];
  #bySource: Map<Labels, LabelText> | undefined;

  constructor(earlier: readonly LabelText[]) {
    this.#earlier = earlier;
  }

  /** `place` is the block's place in its list. */
  of({ labels }: Block, place: number): LabelText {
    const expected = this.#earlier[place];
    if (expected?.source === labels) {
      return expected;
    }
    this.#bySource ??= new Map(this.#earlier.map((text) => [text.source, text]));
    let text = this.#bySource.get(labels);
    if (text === undefined) {
      text = labelText(labels);
      this.#bySource.set(labels, text);
    }
    return text;
  }
}
