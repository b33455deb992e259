import type { FailureReason } from '../errors.ts';
import type { Overload } from '../reader.ts';

interface Circumstances {
  readonly status?: number | undefined;
  /** Whether the same call may well succeed when it is made again. */
  readonly retriable?: boolean;
  readonly overload?: Overload | undefined;
}

/**
 * One attempt at a call that failed. The message says why, in words that follow the endpoint. It keeps no cause: those of
 * the HTTP library hold parts of answers.
 */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly reason: FailureReason;
  readonly status: number | undefined;
  readonly retriable: boolean;
  readonly overload: Overload | undefined;

  constructor(reason: FailureReason, words: string, circumstances: Circumstances = {}) {
    super(words);
    this.reason = reason;
    this.status = circumstances.status;
    this.retriable = circumstances.retriable ?? false;
    this.overload = circumstances.overload;
  }
}
