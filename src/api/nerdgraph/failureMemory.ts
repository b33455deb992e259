import type { UpstreamError } from '../upstreamError.ts';

/** The subject of a read: an application by its id, a key transaction or an entity by its guid. */
export type SubjectId = number | string;

/** What is read apart from all others: a subject of a read, one host of it, or a column of golden metrics. */
export interface ApartKey {
  readonly read: string;
  readonly id: SubjectId;
  readonly host?: string | undefined;
}

/** Limits for the calls of a minute: of one subject alone, and, as a share of the budget, of all of them. */
const CALLS_OF_SUBJECT = 4;
const SHARE_OF_BUDGET = 0.1;
const CALLS_MS = 60_000;
/** The good reads after which a subject is back; more where it broke a batch in the last hour, too. */
const GOOD_READS = 1;
const GOOD_READS_AGAIN = 3;
/** A subject that is back, or was not read, is remembered for this long. */
const REMEMBERED_MS = 3_600_000;
/** A batch is read in parts after it ended in a passing failure this often in a row. */
const PASSING_FAILURES = 2;

interface Apart {
  /** The good reads in a row after which it is back, and those so far. */
  readonly needed: number;
  goodReads: number;
  error: UpstreamError;
  askedAt: number;
  /** When it was last set apart, read, or came back. */
  changedAt: number;
  /** Columns of golden metrics that fail even when they are read alone. */
  badColumns: ReadonlySet<string>;
}

/**
 * What failed before, which decides how batches are planned and divided (docs/nerdgraph.md, "What breaks a batch"). A reload hands
 * it to the next reader. Times are of the monotonic clock.
 */
export class FailureMemory {
  readonly #monotonic: () => number;
  readonly #apart = new Map<string, Apart>();
  /** The passing failures in a row of a subject's batch, and the time of the last. */
  readonly #passing = new Map<string, { readonly times: number; readonly changedAt: number }>();
  /** Subjects that the last division of their batch did not reach, with its time. */
  readonly #unread = new Map<string, number>();
  /** The calls of the last minute for subjects alone, oldest first. */
  #calls: readonly { readonly id: SubjectId; readonly startedAt: number }[] = [];

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** True when nothing is apart: a quick check before many subjects are compared. */
  get isEmpty(): boolean {
    return this.#apart.size === 0;
  }

  isApart(read: string, id: SubjectId, host?: string): boolean {
    if (this.#apart.size === 0) return false;
    const apart = this.#apart.get(textOf({ read, id, host }));
    return apart !== undefined && apart.goodReads < apart.needed;
  }

  /** True when a query for a whole subject would include a host that is apart. */
  hasApartHost(read: string, id: SubjectId): boolean {
    const text = textOf({ read, id, host: '' });
    return this.#apart.size > 0 && [...this.#apart.keys()].some((key) => key.startsWith(text));
  }

  /**
   * Sets a subject apart, which failed alone while others of its batch were answered.
   *
   * @param badColumns the columns of golden metrics that failed when they were read alone
   */
  setApart(key: ApartKey, error: UpstreamError, badColumns: readonly string[] = []): void {
    const text = textOf(key);
    const now = this.#monotonic();
    const { changedAt = -Infinity } = this.#apart.get(text) ?? {};
    const needed = now - changedAt > REMEMBERED_MS ? GOOD_READS : GOOD_READS_AGAIN;
    const apart = { needed, goodReads: 0, error, askedAt: now, changedAt: now, badColumns: new Set(badColumns) };
    this.#apart.set(text, apart);
  }

  /** Records that everything of a subject that is apart was read. */
  recordGoodRead(key: ApartKey): void {
    const apart = this.#apart.get(textOf(key));
    if (apart === undefined || apart.goodReads >= apart.needed) return;
    apart.goodReads += 1;
    apart.changedAt = this.#monotonic();
    apart.badColumns = new Set();
  }

  /**
   * Begins a call for a subject alone; false when its limit, or that of all together, is reached.
   *
   * @param perMinute the calls per minute of the account's budget
   */
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

  /** The last failure of a subject that is apart, when it was last asked for, and the columns that fail alone. */
  lastOf(key: ApartKey): Pick<Apart, 'error' | 'askedAt' | 'badColumns'> | undefined {
    return this.#apart.get(textOf(key));
  }

  /** True when the batch of any of these subjects ended in a passing failure twice running. */
  isPassingAgain(read: string, ids: readonly SubjectId[]): boolean {
    return (
      this.#passing.size > 0 &&
      ids.some((id) => (this.#passing.get(textOf({ read, id }))?.times ?? 0) >= PASSING_FAILURES)
    );
  }

  recordPassing(read: string, ids: readonly SubjectId[]): void {
    const changedAt = this.#monotonic();
    for (const text of ids.map((id) => textOf({ read, id }))) {
      this.#passing.set(text, { times: (this.#passing.get(text)?.times ?? 0) + 1, changedAt });
    }
  }

  /** Records that a batch ended in any other way, or was divided. */
  clearPassing(read: string, ids: readonly SubjectId[]): void {
    if (this.#passing.size > 0) for (const id of ids) this.#passing.delete(textOf({ read, id }));
  }

  recordUnread(read: string, id: SubjectId): void {
    this.#unread.set(textOf({ read, id }), this.#monotonic());
  }

  /** True for a subject that the last division did not reach; it then counts as reached. */
  takeUnread(read: string, id: SubjectId): boolean {
    return this.#unread.delete(textOf({ read, id }));
  }

  /** Removes old records. Called with every list. */
  forgetOld(): void {
    const oldest = this.#monotonic() - REMEMBERED_MS;
    for (const records of [this.#apart, this.#passing]) {
      for (const [key, { changedAt }] of records) if (changedAt < oldest) records.delete(key);
    }
    for (const [key, changedAt] of this.#unread) if (changedAt < oldest) this.#unread.delete(key);
  }
}

/** A key as text: equal for equal keys. */
export function textOf({ read, id, host }: ApartKey): string {
  return host === undefined ? `${read} ${id}` : `${read} ${id} ${host}`;
}
