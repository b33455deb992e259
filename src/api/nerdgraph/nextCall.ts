import { Size, type NeededPart, type QueryKind, type QueryPart } from './batching.ts';
import type { AccountMemory } from './accountMemory.ts';
import type { SubjectId } from './failureMemory.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { alignRange } from './nrql.ts';
import type { FoundRows, SubjectRows, TimesliceQuery } from './rows.ts';
import { countQueries, readTimeslices } from './timeslices.ts';
import { getOrAdd } from '../maps.ts';
import type { ApplicationSubject, BatchRead, CallOptions, NextBatch, Outcome, TimeRange } from '../upstreamReader.ts';

/** Collects subjects while one query of each kind has room. It reads all hosts of an application, so these need none. */
export class NextCall<S> {
  readonly subjects: S[] = [];
  readonly parts: NeededPart[] = [];
  readonly #memory: AccountMemory;
  readonly #kinds = new Set<QueryKind>();
  readonly #sizes = new Map<QueryKind, Size>();
  /** Condition by application, key transaction or entity. */
  readonly #conditions = new Map<SubjectId, string>();
  #key: unknown;
  /** True if the call reads subjects that are apart; undefined while it has no part. */
  #isApart: boolean | undefined;

  constructor(memory: AccountMemory) {
    this.#memory = memory;
  }

  /**
   * Adds a subject. Skips it for another call if it is apart and the call's subjects are not, or the reverse.
   *
   * @param parts parts of queries, each of another kind; none if the subject needs no query
   * @param key subjects with different keys share no call
   * @returns false if the call takes no further subject
   */
  add(subject: S, parts: readonly NeededPart[], key: unknown = parts[0]?.kind): boolean {
    if (this.#key !== undefined && key !== undefined && key !== this.#key) return false;
    this.#key ??= key;
    const [part] = parts;
    if (part !== undefined) {
      // A subject that is apart would make all subjects of its call wait.
      const isApart = this.#isSetApart(part);
      if (this.#isApart !== undefined && this.#isApart !== isApart) return true;
      const before = this.#conditions.get(part.id);
      if (before !== undefined && before !== part.selector.condition) return false;
      if (before === undefined && !this.#fits(parts)) return false;
      this.#conditions.set(part.id, part.selector.condition);
      this.#isApart = isApart;
    }
    for (const each of parts) {
      this.#kinds.add(each.kind);
      this.parts.push(each);
    }
    this.subjects.push(subject);
    return true;
  }

  /** Returns the subjects, and the number of calls for one query of each kind over the range. */
  makeBatch(range: TimeRange): NextBatch<S> {
    // Several subjects fit into one query of each kind, so thousands of them need no planning to be counted.
    const isCounted = this.#conditions.size === 1 || !this.#memory.failures.isEmpty;
    return this.makeBatchWithCalls(
      isCounted ? countQueries(this.#memory, makeQueries(this.parts, range)) : this.#kinds.size,
    );
  }

  makeBatchWithCalls(calls: number): NextBatch<S> {
    if (this.subjects.length === 0) throw new RangeError('no subjects');
    return { subjects: this.subjects, calls: Math.max(1, calls) };
  }

  /** False if a query would be too large. A subject that is too large for a query gets a call of its own. */
  #fits(parts: readonly NeededPart[]): boolean {
    let fits = true;
    for (const part of parts) {
      const size = getOrAdd(this.#sizes, part.kind, () => new Size(this.#memory, part.kind));
      size.add(part);
      fits &&= size.fits;
    }
    return fits || this.#isApart === undefined;
  }

  #isSetApart({ id, hosts = [], kind: { read } }: NeededPart): boolean {
    const { failures } = this.#memory;
    return failures.isApart(read, id) || hosts.some((host) => failures.isApart(read, id, host));
  }
}

/**
 * Makes a read of subjects by the rows of their applications.
 *
 * @param makeParts makes the parts of a subject for a range; the parts of one range must share their kinds
 * @param toValue gets the rows of the subject's application; undefined without a query
 */
export function createRowsRead<S extends ApplicationSubject & { readonly hostKey?: string | undefined }, V>(
  account: NerdGraphAccount,
  makeParts: (range: TimeRange) => (subject: S) => readonly NeededPart[],
  toValue: (subject: S, rows: SubjectRows | undefined, range: TimeRange) => V,
): BatchRead<S, V> {
  return {
    take<T extends S>(subjects: Iterable<T>, range: TimeRange) {
      const next = new NextCall<T>(account.memory);
      const makePartsOf = makeParts(range);
      for (const subject of subjects) if (!next.add(subject, makePartsOf(subject))) break;
      return next.makeBatch(range);
    },
    async read(subjects, range, call) {
      const found = await readQueries(account, makeQueries(subjects.flatMap(makeParts(range)), range), call);
      return subjects.map((subject): Outcome<V> => {
        const rows = found.get(subject.applicationId);
        const error = rows?.failureOf(subject.hostKey);
        return error === undefined ? { value: toValue(subject, rows, range) } : { error };
      });
    },
  };
}

/** Makes one query for the parts of each kind. */
export function makeQueries(parts: readonly NeededPart[], range: TimeRange): TimesliceQuery[] {
  return Array.from(new Set(parts.map(({ kind }) => kind)), (kind) => {
    const alike = joinHosts(parts.filter((part) => part.kind === kind));
    const needsSquares = alike.some(({ selector }) => selector.needsSquares);
    return makeQuery(needsSquares ? { ...kind, columns: 'squares' } : kind, alike, range);
  });
}

export function makeQuery(kind: QueryKind, parts: readonly QueryPart[], range: TimeRange): TimesliceQuery {
  const { seconds } = kind;
  const queried = seconds === undefined ? range : alignRange({ from: range.to - seconds, to: range.to });
  return { ...kind, parts, range: queried };
}

/** Joins parts of one application and one set of metrics into one part with all requested hosts. */
function joinHosts(parts: readonly QueryPart[]): QueryPart[] {
  const joined = new Map<string, { readonly part: QueryPart; readonly hosts: Set<string> }>();
  for (const part of parts) {
    const key = `${part.id} ${part.selector.condition}`;
    const alike = getOrAdd(joined, key, () => ({ part, hosts: new Set<string>() }));
    for (const host of part.hosts ?? []) alike.hosts.add(host);
  }
  return Array.from(joined.values(), ({ part, hosts }) =>
    part.hosts === undefined ? part : { ...part, hosts: [...hosts] },
  );
}

/** Reads the rows of all queries, by subject. */
export async function readQueries(
  account: NerdGraphAccount,
  queries: readonly TimesliceQuery[],
  call: CallOptions,
): Promise<FoundRows> {
  return joinRows(await Promise.all(queries.map((query) => readTimeslices(account, query, call))));
}

/** Joins the rows of several queries. Appends rows of later queries. */
export function joinRows([first = new Map(), ...others]: readonly FoundRows[]): FoundRows {
  if (others.length === 0) return first;
  const joined = new Map(first);
  for (const [id, rows] of others.flatMap((each) => [...each])) {
    const before = joined.get(id);
    if (before === undefined) joined.set(id, rows);
    else before.append(rows);
  }
  return joined;
}
