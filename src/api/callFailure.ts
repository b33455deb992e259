import type { FailureReason } from './errors.ts';
import type { Overload } from './reader.ts';

interface Circumstances {
  readonly status?: number | undefined;
  /** Whether the same call may well succeed when it is made again. */
  readonly retriable?: boolean;
  readonly overload?: Overload | undefined;
  readonly cause?: unknown;
}

/** One attempt at a call that failed. The message says why, in words that begin after the endpoint. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly reason: FailureReason;
  readonly status: number | undefined;
  readonly retriable: boolean;
  readonly overload: Overload | undefined;

  constructor(reason: FailureReason, words: string, circumstances: Circumstances = {}) {
    super(words, { cause: circumstances.cause });
    this.reason = reason;
    this.status = circumstances.status;
    this.retriable = circumstances.retriable ?? false;
    this.overload = circumstances.overload;
  }
}
