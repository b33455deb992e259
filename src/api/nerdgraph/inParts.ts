import { Truncated } from './transport.ts';
import { UpstreamError } from '../errors.ts';
import type { FailureReason } from '../errors.ts';
import type { SplitReason } from '../observer.ts';

interface Division {
  readonly reason: SplitReason;
  readonly most: number;
}

const TRUNCATED: Division = { reason: 'truncated', most: Infinity };

/**
 * Failures that one bad subject may be the cause of; the others are the account's. `most` queries may fail before any is
 * answered: then it is the service that fails, or the network, and no smaller query helps.
 */
const DIVISIBLE: Partial<Record<FailureReason, Division>> = {
  timeout: { reason: 'timeout', most: 31 },
  invalid_response: { reason: 'error', most: 7 },
  too_large: TRUNCATED,
  server: { reason: 'error', most: 7 },
  other: { reason: 'error', most: 7 },
  forbidden: { reason: 'error', most: 7 },
  not_found: { reason: 'error', most: 7 },
  redirect: { reason: 'error', most: 7 },
  // What is answered with a broken connection differs little from a network that is down, where every call is in vain.
  network: { reason: 'error', most: 3 },
};

/** A query and its halves. */
const MOST_WHEN_BRIEF = 3;

export interface Work<P> {
  /** Reads a part; rejects with Truncated, an UpstreamError or the reason of the signal. */
  readonly read: (part: P) => Promise<void>;
  /** False: nothing was answered lately, so few queries are made before any is answered. */
  readonly isThorough: boolean;
  /** Two halves; undefined when it cannot be divided for this reason. */
  readonly divide: (part: P, reason: SplitReason) => readonly [P, P] | undefined;
  /**
   * Whether both halves of a part are of one subject, which fails when either does: they are read in turn, and the second
   * not at all after the first has failed.
   */
  readonly isOneSubject?: (part: P) => boolean;
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
  /** Whether all of it was read. */
  const run = async (part: P): Promise<boolean> => {
    let error: UpstreamError | undefined;
    let division: Division | undefined = TRUNCATED;
    try {
      await work.read(part);
      answered += 1;
      return true;
    } catch (caught) {
      if (caught instanceof UpstreamError) {
        error = caught;
        division = DIVISIBLE[caught.failure.reason];
      } else if (!(caught instanceof Truncated)) throw caught;
    }
    failed += 1;
    if (division === undefined || (answered === 0 && failed > mostOf(division, work.isThorough))) {
      work.onFailure(part, error);
      return false;
    }
    const halves = work.divide(part, division.reason);
    if (halves === undefined) {
      work.onFailure(part, error);
      return false;
    }
    work.onSplit(division.reason);
    if (work.isOneSubject?.(part) === true) return (await run(halves[0])) && (await run(halves[1]));
    const read = await Promise.all(halves.map(run));
    return read.every(Boolean);
  };
  await run(first);
  return { answered };
}

/** An answer that lacks rows is an answer: it shows that the service works. */
function mostOf({ reason, most }: Division, isThorough: boolean): number {
  return isThorough || reason === 'truncated' ? most : Math.min(most, MOST_WHEN_BRIEF);
}
