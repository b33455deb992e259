import { fillCalls } from '../../api/batches.ts';
import type { BatchRead, CallOptions, Outcome, TimeRange } from '../../api/reader.ts';

const NO_OUTCOME = 'the reader gave no outcome for its subject';

/** Splits subjects, in their order, into lists that one call each carries. */
export function inBatches<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subjects: readonly S[],
  range: R,
): readonly (readonly S[])[] {
  const batches: (readonly S[])[] = [];
  fillCalls(read, subjects, range, (_, start, end) => batches.push(subjects.slice(start, end)));
  return batches;
}

/**
 * Reads all subjects, as many calls at once as the gate lets in; gives their outcomes in their order.
 *
 * @param ended called with the number of subjects whenever a call has ended
 */
export async function readAll<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subjects: readonly S[],
  range: R,
  call: CallOptions,
  ended: (subjects: number) => void = () => undefined,
): Promise<readonly Outcome<A>[]> {
  const outcomes = await Promise.all(
    inBatches(read, subjects, range).map(async (batch) => {
      const ofBatch = await read.read(batch, range, call);
      ended(batch.length);
      return ofBatch;
    }),
  );
  return outcomes.flat();
}

/**
 * Reads something about each item; gives the items with what was read about them, in their order. Rejects with the first
 * failure.
 */
export async function readEach<I, S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  items: readonly I[],
  subjectOf: (item: I) => S,
  range: R,
  call: CallOptions,
): Promise<readonly (readonly [item: I, value: A])[]> {
  const outcomes = await readAll(read, items.map(subjectOf), range, call);
  return items.map((item, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined) throw new Error(NO_OUTCOME);
    return [item, valueOf(outcome)];
  });
}

/** Reads one subject alone. Rejects with what it failed with, or with the reason of the signal. */
export async function readOne<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subject: S,
  range: R,
  call: CallOptions,
): Promise<A> {
  const [outcome] = await read.read([subject], range, call);
  if (outcome === undefined) throw new Error(NO_OUTCOME);
  return valueOf(outcome);
}

/** The value that was read; throws what the reading failed with. */
export function valueOf<A>(outcome: Outcome<A>): A {
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}
