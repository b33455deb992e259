import { FailureMemory } from '../http/failureMemory.ts';

/** The most metric names that one metric data call carries. */
const MOST_NAMES = 30;

/** What responses told about an account. It belongs to the account: a reload hands it to the next reader. */
export class RestMemory {
  readonly failures: FailureMemory;
  /** How many names a call carries; lowered for good once a longer list was refused and its parts were answered. */
  mostNames = MOST_NAMES;
  /** How many calls the custom names of an application took when they were last read. */
  readonly nameCalls = new Map<number, number>();
  /** The memory of the reader of queries and entities, which go through the other interface. */
  nerdgraph: object | undefined;

  constructor(monotonic: () => number) {
    this.failures = new FailureMemory(monotonic);
  }
}
