import { FailureMemory } from '../http/failureMemory.ts';

/** Limit for the metric names of one metric data call. */
const MOST_NAMES = 30;

/** Facts learned from responses about an account. The memory belongs to the account: a reload hands it to the next reader. */
export class RestMemory {
  readonly failures: FailureMemory;
  /** Limit for the names of a call; lowered permanently after a longer list was refused and its parts were read. */
  mostNames = MOST_NAMES;
  /** The number of calls that the custom names of an application took at the last read. */
  readonly nameCalls = new Map<number, number>();
  /** The memory of the reader for queries and entities, which go through NerdGraph. */
  nerdgraph: object | undefined;

  constructor(monotonic: () => number) {
    this.failures = new FailureMemory(monotonic);
  }
}
