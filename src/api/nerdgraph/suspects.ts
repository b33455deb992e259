import type { UpstreamError } from '../types.ts';

/** After so many good answers alone, what once broke a query travels with the others again. */
const GOOD_ANSWERS = 30;
/** What breaks queries makes at most so many failing calls in so long. */
const MOST_FAILURES = 4;
const FAILURES_MS = 60_000;
/** What was not asked for in so long is gone. */
const FORGOTTEN_MS = 3_600_000;

interface Suspect {
  /** How many good answers are still needed. */
  left: number;
  seenAt: number;
}

interface Failures {
  at: number[];
  error: UpstreamError;
}

/**
 * Remembers what broke a query that others shared, so that it is asked alone from the next refresh on and costs little; and
 * which applications the service says it knows nothing of, so that they are not asked for again and again.
 */
export class Suspects {
  readonly #monotonic: () => number;
  readonly #unmatchedMs: number;
  readonly #suspects = new Map<string, Suspect>();
  /** The failures of calls that were made for one subject alone, whatever they asked of it. */
  readonly #failures = new Map<string, Failures>();
  /** Until when, by kind of query and application. */
  readonly #unmatched = new Map<string, number>();
  /** Subjects of batches that the service said it failed to answer for a moment, and went on to fail; since when. */
  readonly #strained = new Map<string, number>();

  /** @param monotonic milliseconds of a clock that is never set @param unmatchedMs how long what is unmatched is left out */
  constructor(monotonic: () => number, unmatchedMs: number) {
    this.#monotonic = monotonic;
    this.#unmatchedMs = unmatchedMs;
  }

  has(kind: string, id: number, host?: string): boolean {
    return this.#suspects.size > 0 && this.#suspects.has(keyOf(kind, id, host));
  }

  broke(kind: string, id: number, host?: string): void {
    this.#suspects.set(keyOf(kind, id, host), { left: GOOD_ANSWERS, seenAt: this.#monotonic() });
  }

  answered(kind: string, id: number, host?: string): void {
    const key = keyOf(kind, id, host);
    const suspect = this.#suspects.get(key);
    if (suspect === undefined) return;
    suspect.left -= 1;
    suspect.seenAt = this.#monotonic();
    if (suspect.left <= 0) this.#suspects.delete(key);
  }

  /** A call that was made for it alone failed. */
  failed(kind: string, id: number, host: string | undefined, error: UpstreamError): void {
    const now = this.#monotonic();
    const suspect = this.#suspects.get(keyOf(kind, id, host));
    if (suspect !== undefined) suspect.seenAt = now;
    const key = this.#subjectOf(kind, id, host);
    const recent = (this.#failures.get(key)?.at ?? []).filter((at) => now - at < FAILURES_MS);
    this.#failures.set(key, { at: [...recent, now], error });
  }

  /** The last failure of what has failed so often lately that it is not asked again now. */
  tooManyFailures(kind: string, id: number, host: string | undefined): UpstreamError | undefined {
    const failures = this.#failures.get(this.#subjectOf(kind, id, host));
    if (failures === undefined) return undefined;
    const now = this.#monotonic();
    return failures.at.filter((at) => now - at < FAILURES_MS).length >= MOST_FAILURES ? failures.error : undefined;
  }

  /** What is asked of the hosts of an application that is a suspect as a whole counts for that. */
  #subjectOf(kind: string, id: number, host: string | undefined): string {
    return host === undefined || this.has(kind, id) ? String(id) : `${id} ${host}`;
  }

  unmatched(kind: string, applicationId: number): void {
    this.#unmatched.set(keyOf(kind, applicationId), this.#monotonic() + this.#unmatchedMs);
  }

  isUnmatched(kind: string, applicationId: number): boolean {
    const until = this.#unmatched.size === 0 ? undefined : this.#unmatched.get(keyOf(kind, applicationId));
    return until !== undefined && until > this.#monotonic();
  }

  /** Notes that a batch failed for a moment, however often it was tried. */
  strain(kind: string, ids: readonly number[]): void {
    for (const id of ids) this.#strained.set(keyOf(kind, id), this.#monotonic());
  }

  /** Whether a batch with any of these failed so at the last refresh. */
  isStrained(kind: string, ids: readonly number[]): boolean {
    return this.#strained.size > 0 && ids.some((id) => this.#strained.has(keyOf(kind, id)));
  }

  /** Whether that was so at the last refresh, too; it is forgotten now. */
  wasStrained(kind: string, ids: readonly number[]): boolean {
    const keys = ids.map((id) => keyOf(kind, id)).filter((key) => this.#strained.delete(key));
    return keys.length > 0;
  }

  /** Forgets what nobody asks for any more; called with every list. */
  forgetOld(): void {
    const now = this.#monotonic();
    for (const [key, { seenAt }] of this.#suspects) if (now - seenAt > FORGOTTEN_MS) this.#suspects.delete(key);
    for (const [key, until] of this.#unmatched) if (until <= now) this.#unmatched.delete(key);
    for (const [key, since] of this.#strained) if (now - since > FORGOTTEN_MS) this.#strained.delete(key);
    for (const [key, { at }] of this.#failures) {
      if (at.every((time) => now - time >= FAILURES_MS)) this.#failures.delete(key);
    }
  }
}

function keyOf(kind: string, id: number, host?: string): string {
  return host === undefined ? `${kind} ${id}` : `${kind} ${id} ${host}`;
}
