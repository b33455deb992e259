import type { BatchRead, TimeRange } from './reader.ts';

/** Subjects of one call, and how many calls they take when nothing fails. */
interface PlannedCall<S> {
  readonly subjects: readonly S[];
  readonly calls: number;
}

/** More than one call ever carries: what is handed over at a time stays small, however many subjects there are. */
const MOST_PER_CALL = 5_000;

/** Cuts subjects, in their order, into what one call each carries. */
export function inCalls<S, A, R extends TimeRange>(
  read: Pick<BatchRead<S, A, R>, 'nextCall'>,
  subjects: readonly S[],
  range: R,
): readonly PlannedCall<S>[] {
  const planned: PlannedCall<S>[] = [];
  for (let start = 0; start < subjects.length;) {
    const left = subjects.slice(start, start + MOST_PER_CALL);
    const { count, calls } = read.nextCall(left, range);
    planned.push({ subjects: left.slice(0, count), calls });
    start += count;
  }
  return planned;
}

/** How many calls it takes to read all of these when nothing fails. */
export function countCalls<S, A, R extends TimeRange>(
  read: Pick<BatchRead<S, A, R>, 'nextCall'>,
  subjects: readonly S[],
  range: R,
): number {
  return inCalls(read, subjects, range).reduce((total, { calls }) => total + calls, 0);
}
