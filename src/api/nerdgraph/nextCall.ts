import { Size, type NeededPart, type QueryKind, type QueryPart } from './batching.ts';
import type { AccountMemory } from './accountMemory.ts';
import type { SubjectId } from './failureMemory.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { alignRange } from './nrql.ts';
import type { FoundRows, TimesliceQuery } from './rows.ts';
import { countQueries, readTimeslices } from './timeslices.ts';
import type { CallOptions, NextBatch, TimeRange } from '../upstreamReader.ts';

/**
 * The next call, to which subjects are added as long as one query of each kind can carry them. Further hosts of an application
 * add nothing, because the query reads all.
 */
export class NextCall<S> {
  readonly subjects: S[] = [];
  readonly parts: NeededPart[] = [];
  readonly #memory: AccountMemory;
  readonly #kinds = new Set<QueryKind>();
  readonly #sizes = new Map<QueryKind, Size>();
  /** The condition of each application, key transaction or entity. */
  readonly #conditions = new Map<SubjectId, string>();
  #key: unknown;
  /** True for a call of what is set apart; undefined until it has a part. */
  #isApart: boolean | undefined;

  constructor(memory: AccountMemory) {
    this.#memory = memory;
  }

  /**
   * Adds a subject, unless it is left for another call, as what is set apart.
   *
   * @param parts its parts of queries, each of another kind; none: it needs no query
   * @param key subjects with different keys share no call
   * @returns false when the call takes no further subject
   */
  add(subject: S, parts: readonly NeededPart[], key: unknown = parts[0]?.kind): boolean {
    if (this.#key !== undefined && key !== undefined && key !== this.#key) return false;
    this.#key ??= key;
    const [part] = parts;
    if (part !== undefined) {
      // What is apart shares no call with others, which would wait for it.
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

  /** The subjects, and the calls of one query of each kind over this range. */
  makeBatch(range: TimeRange): NextBatch<S> {
    // Several subjects need one query of each kind, so that thousands are counted without making any.
    const isCounted = this.#conditions.size === 1 || !this.#memory.failures.isEmpty;
    return this.makeBatchWithCalls(
      isCounted ? countQueries(this.#memory, makeQueries(this.parts, range)) : this.#kinds.size,
    );
  }

  makeBatchWithCalls(calls: number): NextBatch<S> {
    if (this.subjects.length === 0) throw new RangeError('no subjects');
    return { subjects: this.subjects, calls: Math.max(1, calls) };
  }

  /** False where the queries would be too large; a subject that is too large for one query stays alone. */
  #fits(parts: readonly NeededPart[]): boolean {
    let fits = true;
    for (const part of parts) {
      const size = this.#sizes.get(part.kind) ?? new Size(this.#memory, part.kind);
      this.#sizes.set(part.kind, size);
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

/** One query for the parts of each kind. */
export function makeQueries(parts: readonly NeededPart[], range: TimeRange): TimesliceQuery[] {
  return Array.from(new Set(parts.map(({ kind }) => kind)), (kind) => {
    const alike = joinHosts(parts.filter((part) => part.kind === kind));
    return makeQuery(
      alike.some(({ selector }) => selector.needsSquares) ? { ...kind, columns: 'squares' } : kind,
      alike,
      range,
    );
  });
}

export function makeQuery(kind: QueryKind, parts: readonly QueryPart[], range: TimeRange): TimesliceQuery {
  const { seconds } = kind;
  return {
    ...kind,
    parts,
    range: seconds === undefined ? range : alignRange({ from: range.to - seconds, to: range.to }),
  };
}

/** One part for each application and each set of metrics, with all the requested hosts. */
function joinHosts(subjects: readonly QueryPart[]): QueryPart[] {
  const parts = new Map<SubjectId, { readonly part: QueryPart; readonly hosts: Set<string> }[]>();
  for (const part of subjects) {
    const subjectParts = parts.get(part.id) ?? [];
    parts.set(part.id, subjectParts);
    const alike = subjectParts.find((each) => each.part.selector.condition === part.selector.condition);
    if (alike === undefined) subjectParts.push({ part, hosts: new Set(part.hosts) });
    else for (const host of part.hosts ?? []) alike.hosts.add(host);
  }
  return [...parts.values()]
    .flat()
    .map(({ part, hosts }) => (part.hosts === undefined ? part : { ...part, hosts: [...hosts] }));
}

/** The rows of all queries, by subject. */
export async function readQueries(
  account: NerdGraphAccount,
  queries: readonly TimesliceQuery[],
  call: CallOptions,
): Promise<FoundRows> {
  return joinRows(await Promise.all(queries.map((query) => readTimeslices(account, query, call))));
}

/** The rows of several queries; those of later ones are appended. */
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
