import { Truncated } from './transport.ts';
import { UpstreamError, type FailureReason } from '../types.ts';
import type { SplitReason } from '../reader.ts';

interface Division {
  readonly reason: SplitReason;
  readonly most: number;
  /** Whether one part is divided on alone after that, down to a single subject, in search of one that is answered. */
  readonly searches: boolean;
}

const TRUNCATED: Division = { reason: 'truncated', most: Infinity, searches: false };
const ERROR: Division = { reason: 'error', most: 3, searches: true };

/**
 * Failures that one bad subject may be the cause of; the others are the account's. `most` queries may fail before any is
 * answered: then it may be the service that fails, or the network, and no smaller query helps.
 */
const DIVISIBLE: Partial<Record<FailureReason, Division>> = {
  timeout: { reason: 'timeout', most: 31, searches: false },
  invalid_response: ERROR,
  too_large: TRUNCATED,
  server: ERROR,
  other: ERROR,
  forbidden: ERROR,
  not_found: ERROR,
  redirect: ERROR,
  // What is answered with a broken connection differs little from a network that is down, where every call is in vain.
  network: { reason: 'error', most: 3, searches: false },
};

/** A query and its halves. */
const MOST_WHEN_BRIEF = 3;
/** How many queries of the search may fail: enough to come from some hundred subjects to a few single ones. */
const MOST_IN_SEARCH = 8;

interface Work<P> {
  /** Reads a part; rejects with Truncated, an UpstreamError or the reason of the signal. */
  readonly read: (part: P) => Promise<void>;
  /** False: nothing was answered lately, so few queries are made before any is answered. */
  readonly isThorough: boolean;
  /** Grows while nothing is answered, so that each search tries other subjects first. */
  readonly round: number;
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
  const reading = new ReadingInParts(work);
  await reading.run(first);
  return { answered: reading.answered };
}

class ReadingInParts<P> {
  answered = 0;
  #failed = 0;
  #failedInSearch = 0;
  /** Ends when something was answered, or the search was given up. */
  #search: Promise<boolean> | undefined;
  readonly #work: Work<P>;

  constructor(work: Work<P>) {
    this.#work = work;
  }

  /**
   * Gives whether all of it was read.
   *
   * @param depth how often a part of the search was divided; undefined: it is no part of the search
   */
  async run(part: P, depth?: number): Promise<boolean> {
    const work = this.#work;
    let error: UpstreamError | undefined;
    let division: Division | undefined = TRUNCATED;
    try {
      await work.read(part);
      this.answered += 1;
      return true;
    } catch (caught) {
      if (caught instanceof UpstreamError) {
        error = caught;
        division = DIVISIBLE[caught.failure.reason];
      } else if (!(caught instanceof Truncated)) throw caught;
    }
    if (depth === undefined) this.#failed += 1;
    else this.#failedInSearch += 1;
    const halves = division === undefined ? undefined : work.divide(part, division.reason);
    if (division === undefined || halves === undefined || !(await this.#helps(division, depth))) {
      work.onFailure(part, error);
      return false;
    }
    work.onSplit(division.reason);
    if (!this.#isHopeful(division)) {
      const search = this.#searchIn(halves, depth ?? 0);
      this.#search ??= search;
      return search;
    }
    if (work.isOneSubject?.(part) === true) return (await this.run(halves[0])) && (await this.run(halves[1]));
    const read = await Promise.all(halves.map((half) => this.run(half)));
    return read.every(Boolean);
  }

  /** Whether the service works, as far as is known. */
  #isHopeful(division: Division): boolean {
    return this.answered > 0 || this.#failed <= mostOf(division, this.#work.isThorough);
  }

  /** Whether it makes sense to divide a part that failed. While one part is searched, the others wait for what it finds. */
  async #helps(division: Division, depth: number | undefined): Promise<boolean> {
    if (this.#isHopeful(division)) return true;
    if (depth !== undefined) return this.#failedInSearch <= MOST_IN_SEARCH;
    if (!division.searches || !this.#work.isThorough) return false;
    if (this.#search === undefined) return true;
    await this.#search;
    return this.answered > 0;
  }

  /** Reads one half after the other until something is answered, then all the rest at once. */
  async #searchIn(halves: readonly [P, P], depth: number): Promise<boolean> {
    const [first, second] = ((this.#work.round >> depth) & 1) === 0 ? halves : ([halves[1], halves[0]] as const);
    const isRead = await this.run(first, depth + 1);
    return (await this.run(second, this.answered > 0 ? undefined : depth + 1)) && isRead;
  }
}

/** An answer that lacks rows is an answer: it shows that the service works. */
function mostOf({ reason, most }: Division, isThorough: boolean): number {
  return isThorough || reason === 'truncated' ? most : Math.min(most, MOST_WHEN_BRIEF);
}
