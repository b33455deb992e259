import { backoff } from '../backoff.ts';
import type { UpstreamError } from '../upstreamError.ts';

/** The subject of a read: an application by its id, or a key transaction by its guid. */
export type SubjectId = number | string;

/** What is suspected of making shared queries fail: a subject of a kind of data, or a part of it, such as a host. */
export interface Suspect {
  readonly kind: string;
  readonly id: SubjectId;
  readonly part?: string | undefined;
}

/** After this number of failed calls in a row the circuit is open. */
const FAILURES_TO_OPEN = 3;
/** A suspect is read together with others again after this number of successful queries for it alone. */
const GOOD_RESPONSES = 30;
/** A suspect makes at most this number of failing calls in this time. */
const MAX_FAILURES = 4;
const FAILURES_MS = 60_000;
/** A subject that was not read for this long is forgotten. */
const FORGOTTEN_MS = 3_600_000;
/** The first time for which an application without data is left out. */
const FIRST_OMISSION_MS = 5 * 60_000;
/** The distance between the ends of such omissions: each application is then read alone, which costs a call. */
const RETURN_DISTANCE_MS = 20_000;

interface Suspicion {
  /** Successful responses until the subject is no longer a suspect; undefined: it is not a suspect. */
  successesLeft: number | undefined;
  /** True if the batch of the subject failed with a transient error at the last read. */
  isTransient: boolean;
  /** True if a part of the subject is, or was, a suspect. */
  hasSuspectPart: boolean;
  seenAt: number;
}

/** The calls for one subject alone: the times of the failed ones, oldest first, the last error, and how many are in flight. */
interface CallsAlone {
  at: readonly number[];
  error: UpstreamError | undefined;
  running: number;
}

/** The failures of an account (docs/architecture.md, "Failures"); a reload hands them to the next reader. */
export class FailureMemory {
  readonly #monotonic: () => number;
  /** Failed calls since the last successful one, and the key that they were made with. */
  #circuit = { key: '', failures: 0 };
  readonly #suspicions = new Map<string, Suspicion>();
  /** The calls for one subject alone, of all kinds together. */
  readonly #alone = new Map<string, CallsAlone>();
  /** For each collection the items that are left out, with the end of their omission (monotonic milliseconds) and its number. */
  readonly #omitted = new Map<string, Map<SubjectId, { readonly until: number; readonly times: number }>>();

  /** The ends of omissions for want of data, in units of their distance. */
  readonly #returns = new Set<number>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /**
   * Records the end of a call, but not an overload, which pauses the account. A missing permission and a refused
   * query are good: New Relic responds.
   *
   * @param key failures with another key are forgotten
   */
  recordCall(key: string, isGood: boolean): void {
    const failures = this.#circuit.key === key ? this.#circuit.failures : 0;
    this.#circuit = { key, failures: isGood ? 0 : failures + 1 };
  }

  /**
   * True after three failed calls in a row with one key: no call is retried, and no batch is read in parts.
   *
   * @param key the key of the last call; empty before the first call of a reader, when failures with any key count
   */
  isCircuitOpen(key: string): boolean {
    return (key === '' || this.#circuit.key === key) && this.#circuit.failures >= FAILURES_TO_OPEN;
  }

  /** False: a quick check before many subjects are compared. */
  get hasSuspects(): boolean {
    return this.#suspicions.size > 0;
  }

  /** True for a subject, or a part of it, that made a shared query fail: it is read alone. */
  isSuspect(kind: string, id: SubjectId, part?: string): boolean {
    return this.#suspicions.size > 0 && this.#suspicions.get(keyOf(kind, id, part))?.successesLeft !== undefined;
  }

  /** Records that a shared query failed because of the subject. */
  recordFailure(suspect: Suspect, error: UpstreamError): void {
    const { kind, id, part } = suspect;
    this.#suspicionOf(kind, id, part).successesLeft = GOOD_RESPONSES;
    if (part !== undefined) this.#suspicionOf(kind, id).hasSuspectPart = true;
    this.#aloneOf(suspect).error = error;
  }

  /** True when a query for a whole subject may include a suspect part. */
  hasSuspectPart(kind: string, id: SubjectId): boolean {
    return this.#suspicions.size > 0 && this.#suspicions.get(keyOf(kind, id))?.hasSuspectPart === true;
  }

  /** Records that a query for the subject alone succeeded. */
  recordSuccess({ kind, id, part }: Suspect): void {
    if (!this.isSuspect(kind, id, part)) return;
    const suspicion = this.#suspicionOf(kind, id, part);
    const left = (suspicion.successesLeft ?? 1) - 1;
    suspicion.successesLeft = left <= 0 ? undefined : left;
  }

  /** Ends a suspicion that turned out to be wrong. */
  acquit({ kind, id, part }: Suspect): void {
    if (this.isSuspect(kind, id, part)) this.#suspicionOf(kind, id, part).successesLeft = undefined;
  }

  /** Begins a call for a subject alone, which `endAlone` ends. */
  beginAlone(suspect: Suspect): CallsAlone | UpstreamError {
    const { kind, id, part } = suspect;
    if (this.isSuspect(kind, id, part)) this.#suspicionOf(kind, id, part);
    const alone = this.#aloneOf(suspect);
    if (alone.error !== undefined && this.#recent(alone.at).length + alone.running >= MAX_FAILURES) return alone.error;
    alone.running += 1;
    return alone;
  }

  /** @param error undefined: the call did not fail, or its failure is not that of the subject */
  endAlone(alone: CallsAlone, error: UpstreamError | undefined): void {
    alone.running -= 1;
    if (error === undefined) return;
    alone.at = [...this.#recent(alone.at), this.#monotonic()];
    alone.error = error;
  }

  /** True when, at the last read of any of these subjects, its batch failed with a transient error. */
  isTransient(kind: string, ids: readonly SubjectId[]): boolean {
    return this.#suspicions.size > 0 && ids.some((id) => this.#suspicions.get(keyOf(kind, id))?.isTransient === true);
  }

  /** Records a transient failure of a batch. If its last read failed like this too, clears the record and returns true. */
  recordTransient(kind: string, ids: readonly SubjectId[]): boolean {
    const again = this.isTransient(kind, ids);
    if (again) this.recordRecovery(kind, ids);
    else for (const id of ids) this.#suspicionOf(kind, id).isTransient = true;
    return again;
  }

  /** Records that a whole batch was read. */
  recordRecovery(kind: string, ids: readonly SubjectId[]): void {
    if (this.#suspicions.size === 0) return;
    for (const id of ids) {
      const suspicion = this.#suspicions.get(keyOf(kind, id));
      if (suspicion !== undefined) suspicion.isTransient = false;
    }
  }

  /** Leaves an item (a subject of a kind, a metric name of an application) out for a time, in milliseconds. */
  omit(from: string, item: SubjectId, ms: number, times = 1): void {
    const items = this.#omitted.get(from) ?? new Map<SubjectId, { until: number; times: number }>();
    this.#omitted.set(from, items.set(item, { until: this.#monotonic() + ms, times }));
  }

  /** Leaves a subject without data out, each time longer; at most three a minute return before the longest time is over. */
  omitWithoutData(kind: string, id: SubjectId, longestMs: number): void {
    const now = this.#monotonic();
    const times = (this.#omitted.get(kind)?.get(id)?.times ?? 0) + 1;
    let end = Math.ceil((now + backoff(times, FIRST_OMISSION_MS, longestMs)) / RETURN_DISTANCE_MS);
    while (this.#returns.has(end) && end * RETURN_DISTANCE_MS < now + longestMs) end += 1;
    this.#returns.add(end);
    this.omit(kind, id, Math.min(end * RETURN_DISTANCE_MS - now, longestMs), times);
  }

  /** Ends the omissions of an item, because there is news of it; `kind`: only its omission from this collection. */
  readmit(item: SubjectId, kind?: string): void {
    for (const [from, items] of this.#omitted) if (kind === undefined || from === kind) items.delete(item);
  }

  isOmitted(from: string, item: SubjectId): boolean {
    const end = this.#omitted.size === 0 ? undefined : this.#omitted.get(from)?.get(item);
    return end !== undefined && end.until > this.#monotonic();
  }

  /** True for an item that is no longer left out, but was not read since. */
  isReturning(from: string, item: SubjectId): boolean {
    return this.#omitted.size > 0 && this.#omitted.get(from)?.has(item) === true && !this.isOmitted(from, item);
  }

  /** True when any item is left out: a quick check before many names are compared. */
  get hasOmissions(): boolean {
    return this.#omitted.size > 0;
  }

  /** Removes expired records, and subjects that are no longer read. Called with every list. */
  forgetOld(): void {
    const now = this.#monotonic();
    for (const [key, { successesLeft, isTransient, hasSuspectPart, seenAt }] of this.#suspicions) {
      const isNone = successesLeft === undefined && !isTransient && !hasSuspectPart;
      if (isNone || now - seenAt > FORGOTTEN_MS) this.#suspicions.delete(key);
    }
    for (const [key, { at, running }] of this.#alone) {
      if (running === 0 && this.#recent(at).length === 0) this.#alone.delete(key);
    }
    for (const end of this.#returns) if (end * RETURN_DISTANCE_MS < now) this.#returns.delete(end);
    for (const [from, items] of this.#omitted) {
      for (const [item, { until }] of items) if (now - until > FORGOTTEN_MS) items.delete(item);
      if (items.size === 0) this.#omitted.delete(from);
    }
  }

  #suspicionOf(kind: string, id: SubjectId, part?: string): Suspicion {
    const key = keyOf(kind, id, part);
    const seenAt = this.#monotonic();
    const suspicion = this.#suspicions.get(key) ?? {
      successesLeft: undefined,
      isTransient: false,
      hasSuspectPart: false,
      seenAt,
    };
    suspicion.seenAt = seenAt;
    this.#suspicions.set(key, suspicion);
    return suspicion;
  }

  #recent(times: readonly number[]): readonly number[] {
    const now = this.#monotonic();
    return times.filter((at) => now - at < FAILURES_MS);
  }

  /** The calls for a subject alone. Those for a part count for the subject when that is a suspect as a whole. */
  #aloneOf({ kind, id, part }: Suspect): CallsAlone {
    const key = part === undefined || this.isSuspect(kind, id) ? String(id) : `${id} ${part}`;
    let alone = this.#alone.get(key);
    if (alone === undefined) this.#alone.set(key, (alone = { at: [], error: undefined, running: 0 }));
    return alone;
  }
}

function keyOf(kind: string, id: SubjectId, part?: string): string {
  return part === undefined ? `${kind} ${id}` : `${kind} ${id} ${part}`;
}
