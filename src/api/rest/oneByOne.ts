import { UpstreamError } from '../errors.ts';
import type { Batch, BatchRead, CallOptions, Outcome, TimeRange } from '../reader.ts';

/**
 * The reads of an interface that answers about one subject at a time: a batch holds one.
 *
 * @param read reads one subject; rejects with an UpstreamError, or with the reason of the signal
 * @param callsOf how many calls a subject takes when nothing fails
 */
export function oneByOne<S, A, R extends TimeRange = TimeRange>(
  read: (subject: S, range: R, call: CallOptions) => Promise<A>,
  callsOf: (subject: S) => number = () => 1,
): BatchRead<S, A, R> {
  return {
    open: () => new SingleBatch(callsOf),
    read: async (subjects, range, call) => {
      const outcomes: Outcome<A>[] = [];
      for (const subject of subjects) outcomes.push(await outcomeOf(read(subject, range, call)));
      return outcomes;
    },
  };
}

class SingleBatch<S> implements Batch<S> {
  calls = 0;
  readonly #callsOf: (subject: S) => number;

  constructor(callsOf: (subject: S) => number) {
    this.#callsOf = callsOf;
  }

  get full(): boolean {
    return this.calls > 0;
  }

  add(subject: S): boolean {
    if (this.full) return false;
    this.calls = Math.max(1, this.#callsOf(subject));
    return true;
  }
}

async function outcomeOf<A>(reading: Promise<A>): Promise<Outcome<A>> {
  try {
    return { value: await reading };
  } catch (error) {
    if (error instanceof UpstreamError) return { error };
    throw error;
  }
}
