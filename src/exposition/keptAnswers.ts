import type { AnswerRows } from './answerRows.ts';

/** Answers of fewer series are not kept: they are made quickly, and would replace a large one. */
const LEAST_SERIES = 2000;

interface Kept<T> {
  readonly maxSeries: number;
  /** Of the rows only these: the others would keep the values of an earlier refresh in memory. */
  readonly labels: AnswerRows['labels'];
  readonly numbers: AnswerRows['numbers'];
  readonly answer: Promise<T>;
}

/**
 * The newest answer of each kind, for whoever asks for the same again: the second Prometheus of a pair, or a scraper that
 * asks while the answer is being made.
 */
export class KeptAnswers<T> {
  readonly #byKind = new Map<string, Kept<T>>();

  /** The kept answer of this kind if it was made of the same rows, else what `make` makes. */
  of(kind: string, rows: AnswerRows, maxSeries: number, make: () => Promise<T>): Promise<T> {
    if (rows.series < LEAST_SERIES) return make();
    const { labels, numbers } = rows;
    const kept = this.#byKind.get(kind);
    if (kept?.maxSeries === maxSeries && isSame(kept.numbers, numbers) && isSame(kept.labels, labels)) {
      return kept.answer;
    }
    const answer = make();
    this.#byKind.set(kind, { maxSeries, labels, numbers, answer });
    return answer;
  }
}

function isSame<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  if (a.length !== b.length) return false;
  for (let place = 0; place < a.length; place += 1) if (a[place] !== b[place]) return false;
  return true;
}
