import type { Application, UpstreamError } from '../types.ts';

/** What queries are about: an application by its id, or a key transaction by its guid. */
export type SubjectId = number | string;

/** After so many good responses alone, what once broke a query travels with the others again. */
const GOOD_RESPONSES = 30;
/** What breaks queries makes at most so many failing calls in so long. */
const MOST_FAILURES = 4;
const FAILURES_MS = 60_000;
/** What was not asked for in so long is gone. */
const FORGOTTEN_MS = 3_600_000;

/**
 * Remembers what broke a query that others shared, so that it is asked alone from the next refresh on and costs little; and
 * which subjects the service says it knows nothing of, so that they are not asked for again and again.
 */
export class Suspects {
  readonly #monotonic: () => number;
  readonly #unmatchedMs: number;
  /** How many good responses are still needed, and when it was asked for last. */
  readonly #suspects = new Map<string, { successesLeft: number; seenAt: number }>();
  /** The failures of calls that were made for one subject alone, whatever they asked of it. */
  readonly #failures = new Map<string, { readonly at: readonly number[]; readonly error: UpstreamError }>();
  /** Until when, by kind of query and subject. */
  readonly #unmatched = new Map<string, number>();
  /** Subjects of batches that the service said it failed to answer for a moment, and went on to fail; since when. */
  readonly #transient = new Map<string, number>();

  /** @param monotonic milliseconds of a clock that is never set @param unmatchedMs how long what is unmatched is left out */
  constructor(monotonic: () => number, unmatchedMs: number) {
    this.#monotonic = monotonic;
    this.#unmatchedMs = unmatchedMs;
  }

  has(kind: string, id: SubjectId, host?: string): boolean {
    return this.#suspects.size > 0 && this.#suspects.has(keyOf(kind, id, host));
  }

  recordFailure(kind: string, id: SubjectId, host?: string): void {
    this.#suspects.set(keyOf(kind, id, host), { successesLeft: GOOD_RESPONSES, seenAt: this.#monotonic() });
  }

  recordSuccess(kind: string, id: SubjectId, host?: string): void {
    const key = keyOf(kind, id, host);
    const suspect = this.#suspects.get(key);
    if (suspect === undefined) return;
    suspect.successesLeft -= 1;
    suspect.seenAt = this.#monotonic();
    if (suspect.successesLeft <= 0) this.#suspects.delete(key);
  }

  /** A call that was made for it alone failed. */
  recordOwnFailure(kind: string, id: SubjectId, host: string | undefined, error: UpstreamError): void {
    const now = this.#monotonic();
    const suspect = this.#suspects.get(keyOf(kind, id, host));
    if (suspect !== undefined) suspect.seenAt = now;
    const key = this.#subjectOf(kind, id, host);
    const recent = (this.#failures.get(key)?.at ?? []).filter((at) => now - at < FAILURES_MS);
    this.#failures.set(key, { at: [...recent, now], error });
  }

  /** The last failure of what has failed so often lately that it is not asked again now. */
  tooManyFailures(kind: string, id: SubjectId, host: string | undefined): UpstreamError | undefined {
    const failures = this.#failures.get(this.#subjectOf(kind, id, host));
    if (failures === undefined) return undefined;
    const now = this.#monotonic();
    return failures.at.filter((at) => now - at < FAILURES_MS).length >= MOST_FAILURES ? failures.error : undefined;
  }

  /** What is asked of the hosts of an application that is a suspect as a whole counts for that. */
  #subjectOf(kind: string, id: SubjectId, host: string | undefined): string {
    return host === undefined || this.has(kind, id) ? String(id) : `${id} ${host}`;
  }

  unmatched(kind: string, id: SubjectId): void {
    this.#unmatched.set(keyOf(kind, id), this.#monotonic() + this.#unmatchedMs);
  }

  isUnmatched(kind: string, id: SubjectId): boolean {
    const until = this.#unmatched.size === 0 ? undefined : this.#unmatched.get(keyOf(kind, id));
    return until !== undefined && until > this.#monotonic();
  }

  /** Whether a batch with any of these went on to fail for a moment when it was last read. */
  isTransient(kind: string, ids: readonly SubjectId[]): boolean {
    return this.#transient.size > 0 && ids.some((id) => this.#transient.has(keyOf(kind, id)));
  }

  /** Notes that a batch went on to fail for a moment; gives whether it did the last time, too: that is forgotten now. */
  recordTransient(kind: string, ids: readonly SubjectId[]): boolean {
    const keys = ids.map((id) => keyOf(kind, id));
    if (keys.filter((key) => this.#transient.delete(key)).length > 0) return true;
    for (const key of keys) this.#transient.set(key, this.#monotonic());
    return false;
  }

  /** A batch was answered whole. */
  recovered(kind: string, ids: readonly SubjectId[]): void {
    if (this.#transient.size > 0) for (const id of ids) this.#transient.delete(keyOf(kind, id));
  }

  /** Forgets what nobody asks for any more; called with every list. */
  forgetOld(): void {
    const now = this.#monotonic();
    for (const [key, { seenAt }] of this.#suspects) if (now - seenAt > FORGOTTEN_MS) this.#suspects.delete(key);
    for (const [key, until] of this.#unmatched) if (until <= now) this.#unmatched.delete(key);
    for (const [key, since] of this.#transient) if (now - since > FORGOTTEN_MS) this.#transient.delete(key);
    for (const [key, { at }] of this.#failures) {
      if (at.every((time) => now - time >= FAILURES_MS)) this.#failures.delete(key);
    }
  }
}

function keyOf(kind: string, id: SubjectId, host?: string): string {
  return host === undefined ? `${kind} ${id}` : `${kind} ${id} ${host}`;
}

/**
 * How much of what decides how many fit into a query an application has that was not read yet; `matches`: metric names that
 * the filters of custom metrics find.
 */
const FIRST_SIZES = { hosts: 1, datastores: 3, matches: 50 };

/** What earlier responses told about the applications of an account. It outlives a reload of the configuration. */
export class BatchHints {
  #listed: ReadonlyMap<SubjectId, Pick<Application, 'language' | 'reporting' | 'hosts'>> = new Map();
  /** As they were read. The owner of a key transaction need not be on the list: it is forgotten with the next one. */
  #read = new Map<SubjectId, Partial<typeof FIRST_SIZES>>();
  #suspects: Suspects;

  constructor(suspects: Suspects) {
    this.#suspects = suspects;
  }

  get suspects(): Suspects {
    return this.#suspects;
  }

  inherit(before: BatchHints): void {
    this.#listed = before.#listed;
    this.#read = before.#read;
    this.#suspects = before.#suspects;
  }

  /** Takes the whole application list; whatever is not on it any more is forgotten. */
  listed(applications: readonly Application[]): void {
    this.#listed = new Map(
      applications.map(({ id, language, reporting, hosts }) => [id, { language, reporting, hosts }]),
    );
    for (const id of this.#read.keys()) if (!this.#listed.has(id)) this.#read.delete(id);
    this.#suspects.forgetOld();
  }

  /** Ids of the applications that reported at the last list. */
  get reporting(): readonly SubjectId[] {
    return [...this.#listed].filter(([, { reporting }]) => reporting === true).map(([id]) => id);
  }

  /** Whether it was on the last list: otherwise it is one that the key cannot see. */
  isListed(applicationId: number): boolean {
    return this.#listed.has(applicationId);
  }

  language(applicationId: number): string | undefined {
    return this.#listed.get(applicationId)?.language;
  }

  /** As they were read; at first it has as many hosts as the list says. */
  sizes(id: SubjectId): Readonly<typeof FIRST_SIZES> {
    const { hosts, datastores, matches } = this.#read.get(id) ?? {};
    return {
      hosts: Math.max(1, hosts ?? this.#listed.get(id)?.hosts ?? FIRST_SIZES.hosts),
      datastores: datastores ?? FIRST_SIZES.datastores,
      matches: matches ?? FIRST_SIZES.matches,
    };
  }

  saw(id: SubjectId, sizes: Partial<typeof FIRST_SIZES>): void {
    this.#read.set(id, { ...this.#read.get(id), ...sizes });
  }
}
