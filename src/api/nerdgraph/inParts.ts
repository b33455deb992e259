import { Truncated } from './transport.ts';
import { UpstreamError } from '../errors.ts';
import type { FailureReason } from '../errors.ts';
import type { SplitReason } from '../observer.ts';

/** So many queries may fail before any is answered: then it is the service that fails, and no smaller query helps. */
const MOST_FAILURES: Readonly<Record<SplitReason, number>> = { truncated: Infinity, timeout: 31, error: 7 };

/** Failures that one bad subject can be the cause of. The others are the account's, or the network's. */
const DIVISIBLE: Partial<Record<FailureReason, SplitReason>> = {
  timeout: 'timeout',
  invalid_response: 'error',
  too_large: 'truncated',
  server: 'error',
  other: 'error',
};

export interface Work<P> {
  /** Reads a part; rejects with Truncated, an UpstreamError or the reason of the signal. */
  readonly read: (part: P) => Promise<void>;
  /** Two halves; undefined when it cannot be divided for this reason. */
  readonly divide: (part: P, reason: SplitReason) => readonly [P, P] | undefined;
  readonly onSplit: (reason: SplitReason) => void;
  /** A part that failed and cannot be divided; `error` is undefined when there are too many rows even so. */
  readonly onFailure: (part: P, error: UpstreamError | undefined) => void;
}

/**
 * Reads a part; what fails or does not fit into an answer is read again in halves, down to what cannot be divided, so that no
 * healthy subject fails because of another.
 */
export async function readInParts<P>(first: P, work: Work<P>): Promise<{ readonly answered: number }> {
  let answered = 0;
  let failed = 0;
  const run = async (part: P): Promise<void> => {
    let error: UpstreamError | undefined;
    let reason: SplitReason | undefined = 'truncated';
    try {
      await work.read(part);
      answered += 1;
      return;
    } catch (caught) {
      if (caught instanceof UpstreamError) {
        error = caught;
        reason = DIVISIBLE[caught.failure.reason];
      } else if (!(caught instanceof Truncated)) throw caught;
    }
    failed += 1;
    const tooMany = reason !== undefined && answered === 0 && failed > MOST_FAILURES[reason];
    const halves = reason === undefined || tooMany ? undefined : work.divide(part, reason);
    if (reason === undefined || halves === undefined) {
      work.onFailure(part, error);
      return;
    }
    work.onSplit(reason);
    await Promise.all(halves.map(run));
  };
  await run(first);
  return { answered };
}
