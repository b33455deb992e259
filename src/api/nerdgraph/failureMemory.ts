import type { UpstreamError } from '../upstreamError.ts';

/** Id of a subject: the number of an application, or the guid of a key transaction or an entity. */
export type SubjectId = number | string;

/** Key of a subject, host or column of golden metrics that may be apart: read alone, because it failed alone. */
export interface ApartKey {
  readonly read: string;
  readonly id: SubjectId;
  readonly host?: string | undefined;
}

/** Limits for calls per minute that read subjects alone: for one subject, and for all as a share of the budget. */
const CALLS_OF_SUBJECT = 4;
const SHARE_OF_BUDGET = 0.1;
const CALLS_MS = 60_000;
/** Good reads before a subject rejoins batches; more if it was apart in the last hour, too. */
const GOOD_READS = 1;
const GOOD_READS_AGAIN = 3;
/** Records without a change are forgotten after this time. */
const REMEMBERED_MS = 3_600_000;
/** A batch is divided after this many consecutive passing failures. */
const PASSING_FAILURES = 2;

interface Apart {
  /** Consecutive good reads before the subject rejoins batches. */
  readonly needed: number;
  goodReads: number;
  error: UpstreamError;
  askedAt: number;
  changedAt: number;
  badColumns: ReadonlySet<string>;
}

/** Remembers failures by the monotonic clock, to plan batches (docs/nerdgraph.md, "What breaks a batch"). */
export class FailureMemory {
  readonly #monotonic: () => number;
  readonly #apart = new Map<string, Apart>();
  /** Consecutive passing failures of a subject's batch, and the time of the last failure. */
  readonly #passing = new Map<string, { readonly times: number; readonly changedAt: number }>();
  /** Subjects that the last division of their batch did not reach, with the time of that division. */
  readonly #unread = new Map<string, number>();
  /** Calls of the last minute that read subjects alone, oldest first. */
  #calls: readonly { readonly id: SubjectId; readonly startedAt: number }[] = [];

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** True if the memory has no subject that is or was apart. Check this before iterating over subjects. */
  get isEmpty(): boolean {
    return this.#apart.size === 0;
  }

  isApart(read: string, id: SubjectId, host?: string): boolean {
    if (this.#apart.size === 0) return false;
    const apart = this.#apart.get(textOf({ read, id, host }));
    return apart !== undefined && apart.goodReads < apart.needed;
  }

  /** True if a host of the subject is or was apart. */
  hasApartHost(read: string, id: SubjectId): boolean {
    const text = textOf({ read, id, host: '' });
    return this.#apart.size > 0 && [...this.#apart.keys()].some((key) => key.startsWith(text));
  }

  /** @param badColumns columns of golden metrics that failed when they were read alone */
  setApart(key: ApartKey, error: UpstreamError, badColumns: readonly string[] = []): void {
    const text = textOf(key);
    const now = this.#monotonic();
    const { changedAt = -Infinity } = this.#apart.get(text) ?? {};
    const needed = now - changedAt > REMEMBERED_MS ? GOOD_READS : GOOD_READS_AGAIN;
    const apart = { needed, goodReads: 0, error, askedAt: now, changedAt: now, badColumns: new Set(badColumns) };
    this.#apart.set(text, apart);
  }

  /** Records that all data of a subject were read. */
  recordGoodRead(key: ApartKey): void {
    const apart = this.#apart.get(textOf(key));
    if (apart === undefined || apart.goodReads >= apart.needed) return;
    apart.goodReads += 1;
    apart.changedAt = this.#monotonic();
    apart.badColumns = new Set();
  }

  /** Begins a call that reads a subject alone; false at a limit. `perMinute`: the account's budget. */
  beginCallAlone(key: ApartKey, perMinute: number): boolean {
    const now = this.#monotonic();
    const maxCalls = Math.max(1, Math.floor(perMinute * SHARE_OF_BUDGET));
    this.#calls = this.#calls.filter(({ startedAt }) => now - startedAt < CALLS_MS);
    const subjectCalls = this.#calls.filter(({ id }) => id === key.id).length;
    if (subjectCalls >= CALLS_OF_SUBJECT || this.#calls.length >= maxCalls) return false;
    this.#calls = [...this.#calls, { id: key.id, startedAt: now }];
    const apart = this.#apart.get(textOf(key));
    if (apart !== undefined) apart.askedAt = apart.changedAt = now;
    return true;
  }

  /** @param badColumns further columns of golden metrics that fail even when they are read alone */
  recordFailureAlone(key: ApartKey, error: UpstreamError, badColumns: readonly string[] = []): void {
    const apart = this.#apart.get(textOf(key));
    if (apart === undefined) return;
    Object.assign(apart, { error, goodReads: 0, badColumns: new Set([...apart.badColumns, ...badColumns]) });
  }

  /** Returns the last failure of a subject that is apart, its last call, and its columns that fail alone. */
  lastOf(key: ApartKey): Pick<Apart, 'error' | 'askedAt' | 'badColumns'> | undefined {
    return this.#apart.get(textOf(key));
  }

  /** True if the batch of any of these subjects ended in consecutive passing failures. */
  isPassingAgain(read: string, ids: readonly SubjectId[]): boolean {
    return (
      this.#passing.size > 0 &&
      ids.some((id) => (this.#passing.get(textOf({ read, id }))?.times ?? 0) >= PASSING_FAILURES)
    );
  }

  recordPassing(read: string, ids: readonly SubjectId[]): void {
    const changedAt = this.#monotonic();
    for (const text of ids.map((id) => textOf({ read, id })))
      this.#passing.set(text, { times: (this.#passing.get(text)?.times ?? 0) + 1, changedAt });
  }

  /** Forgets the passing failures of a batch, which ended in another way or is now divided. */
  clearPassing(read: string, ids: readonly SubjectId[]): void {
    if (this.#passing.size > 0) for (const id of ids) this.#passing.delete(textOf({ read, id }));
  }

  recordUnread(read: string, id: SubjectId): void {
    this.#unread.set(textOf({ read, id }), this.#monotonic());
  }

  /** Returns and forgets the subjects that the last division did not reach, in the reverse of its order. */
  takeUnread(read: string, ids: readonly SubjectId[]): readonly SubjectId[] {
    const byText = new Map(ids.map((id) => [textOf({ read, id }), id]));
    const unread = [...this.#unread.keys()].reverse().filter((text) => byText.has(text));
    for (const text of unread) this.#unread.delete(text);
    return unread.flatMap((text) => byText.get(text) ?? []);
  }

  /** Removes old records. Every application list and entity list calls this. */
  forgetOld(): void {
    const oldest = this.#monotonic() - REMEMBERED_MS;
    for (const records of [this.#apart, this.#passing]) {
      for (const [key, { changedAt }] of records) if (changedAt < oldest) records.delete(key);
    }
    for (const [key, changedAt] of this.#unread) if (changedAt < oldest) this.#unread.delete(key);
  }
}

/** Writes a key as text. Equal keys have equal texts. */
export function textOf({ read, id, host }: ApartKey): string {
  return host === undefined ? `${read} ${id}` : `${read} ${id} ${host}`;
}
