import type { Row } from './answerFamilies.ts';

/** An answer of fewer series is made again: it does not take the place of a large one that is kept. */
const WORTH_KEEPING = 2000;

interface Kept<T> {
  readonly maxSeries: number;
  readonly labels: readonly Buffer[];
  readonly numbers: readonly number[];
  readonly answer: Promise<T>;
}

/**
 * The newest answer of each kind, for those who ask for the same again: the second server of a pair, and who asks while
 * the answer is being made. It does not keep the samples of an earlier refresh in memory.
 */
export class KeptAnswers<T> {
  readonly #byKind = new Map<string, Kept<T>>();

  /** The kept answer of this kind if it was made of the same rows, else what `make` makes. */
  of(kind: string, rows: readonly Row[], maxSeries: number, make: () => Promise<T>): Promise<T> {
    if (rows.reduce((series, { samples }) => series + samples.values.length, 0) < WORTH_KEEPING) return make();
    const kept = this.#byKind.get(kind);
    if (kept?.maxSeries === maxSeries && isMadeOf(kept, rows)) return kept.answer;
    const labels = rows.map((row) => row.labels);
    const numbers = rows.map(({ samples }) => samples.number);
    const answer = make();
    this.#byKind.set(kind, { maxSeries, labels, numbers, answer });
    return answer;
  }
}

function isMadeOf({ labels, numbers }: Kept<unknown>, rows: readonly Row[]): boolean {
  if (rows.length !== numbers.length) return false;
  return rows.every((row, place) => row.samples.number === numbers[place] && row.labels === labels[place]);
}
