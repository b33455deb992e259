import { UpstreamError } from '../../api/errors.ts';
import type { Entity } from '../inventory/entity.ts';

/** True for errors that stop the whole account: a 401 anywhere, a 403 on its application list. */
function stopsAccount(error: unknown, isApplicationList: boolean): error is UpstreamError {
  if (!(error instanceof UpstreamError)) return false;
  const { reason } = error.failure;
  return reason === 'auth' || (reason === 'forbidden' && isApplicationList);
}

/**
 * Whether upstream refuses an account. While it does, only the application list is read, once per interval; when that
 * works again, so does the account. Answers to calls made before the account was last refused or accepted say nothing.
 */
export class Refusal {
  readonly #changed: (reason: string | undefined) => void;
  #reason: string | undefined;
  #decidedAt = -Infinity;

  /** @param changed told why the account is refused now, or undefined: it is accepted again */
  constructor(changed: (reason: string | undefined) => void) {
    this.#changed = changed;
  }

  /** In words; undefined while the account is accepted. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /**
   * Takes note of how a reading ended at `now` (monotonic clock, milliseconds); `error` is undefined when it ended well.
   *
   * @returns true when the account is refused because of it
   */
  note(entity: Entity, isApplicationList: boolean, error: unknown, now: number): boolean {
    if (entity.startedAt < this.#decidedAt) return false;
    if (stopsAccount(error, isApplicationList)) {
      this.#set(error.message, now);
      return true;
    }
    if (isApplicationList && error === undefined) this.#set(undefined, now);
    return false;
  }

  /** The key is another one: what was said of the old one counts no longer. */
  lift(now: number): void {
    this.#decidedAt = now;
    this.#set(undefined, now);
  }

  #set(reason: string | undefined, now: number): void {
    const before = this.#reason;
    if (reason === before) return;
    this.#reason = reason;
    if ((reason === undefined) !== (before === undefined)) this.#decidedAt = now;
    this.#changed(reason);
  }
}
