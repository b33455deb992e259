import { PLANNED_FACETS } from '../../nrql/facets.ts';
import type { AccountMemory, KeyTransactionDetails } from './accountMemory.ts';
import { all, any, isIn } from './nrql.ts';
import type { Kind } from '../../reads/reads.ts';
import { MetricSelector } from './metricSelector.ts';
import type { SubjectId } from '../http/failureMemory.ts';
import { frameLength, idLength, literal, recordId, sourceKey, type GoldenSource } from '../../nrql/goldenMetric.ts';

/** Limit for the characters of a query. New Relic has one, but no public page documents it. */
const MAX_CHARACTERS = 8_000;
/** Characters of a query without its conditions, and of a condition without its ids, hosts and metrics. */
const FRAME = 420;
const FRAME_OF_CONDITION = 70;

/** A subject in a query: metrics of an application or of its hosts, a key transaction, or golden metrics of an entity. */
export interface QueryPart {
  readonly id: SubjectId;
  readonly selector: MetricSelector;
  /** The requested hosts; undefined: the application itself, or all of its hosts. */
  readonly hosts?: readonly string[] | undefined;
  /** True if the query names these hosts. Otherwise it reads all hosts of the application, which takes a shorter text. */
  readonly namesHosts?: boolean;
  /** The name in messages, where the id means nothing to users. */
  readonly displayName?: string;
  /** Of a key transaction: what the query of its application needs. */
  readonly keyTransaction?: KeyTransactionDetails;
}

export type Batch = readonly QueryPart[];

/** A part of a query that a subject needs. */
export interface NeededPart extends QueryPart {
  readonly kind: QueryKind;
}

/** How a read is queried in rows. */
export interface QueryKind {
  /** Calls are counted by its group, and failures are remembered under its name. */
  readonly read: Kind;
  /** The subject of a row: a metric of an application or of a host, a key transaction, or an entity with golden metrics. */
  readonly groupBy: 'application' | 'host' | 'key_transaction' | 'entity';
  /** The source of golden metrics; their selected values are the columns of the query. */
  readonly golden?: GoldenSource;
  /** `names`: only facets are used. `sums`: counts, sums. `values` (default): extremes, too. `squares`: sums of squares, too. */
  readonly columns?: 'names' | 'sums' | 'values' | 'squares';
  /** Limit for the expected rows of a query; 4,500 by default. */
  readonly maxRows?: number | undefined;
  /** Minutes per bucket; undefined: one row over the whole range. */
  readonly bucketMinutes?: number;
  /** True: unreadable buckets are kept without columns, and others outside the window left out; by default they fail. */
  readonly keepsUnreadable?: true;
  /** The longest time for which a subject without data is left out, in milliseconds; undefined: as lookups are kept. */
  readonly maxOmissionMs?: number;
  /** The length, in seconds, of a window that ends with the range; undefined: the range itself. */
  readonly seconds?: number;
}

/** One part for each application and each set of metrics, with all the requested hosts. */
export function hostsJoined(subjects: readonly QueryPart[]): QueryPart[] {
  const parts = new Map<SubjectId, { readonly part: QueryPart; readonly hosts: Set<string> }[]>();
  for (const part of subjects) {
    const ofSubject = parts.get(part.id) ?? [];
    parts.set(part.id, ofSubject);
    const alike = ofSubject.find((each) => each.part.selector.condition === part.selector.condition);
    if (alike === undefined) ofSubject.push({ part, hosts: new Set(part.hosts) });
    else for (const host of part.hosts ?? []) alike.hosts.add(host);
  }
  return [...parts.values()]
    .flat()
    .map(({ part, hosts }) => (part.hosts === undefined ? part : { ...part, hosts: [...hosts] }));
}

/** The expected size of the query for a batch. */
class Size {
  fits = true;
  #rows = 0;
  #characters = FRAME;
  readonly #sharedTexts = new Set<string>();
  readonly #memory: AccountMemory;
  readonly #kind: QueryKind;

  constructor(memory: AccountMemory, kind: QueryKind) {
    this.#memory = memory;
    this.#kind = kind;
    if (kind.golden !== undefined) this.#characters = frameLength(kind.golden);
  }

  static of(batch: Batch, memory: AccountMemory, kind: QueryKind): Size {
    const size = new Size(memory, kind);
    for (const part of batch) size.add(part);
    return size;
  }

  add(part: QueryPart): void {
    const { id, selector, hosts, namesHosts = false } = part;
    const { golden, groupBy, maxRows = PLANNED_FACETS } = this.#kind;
    this.#rows += expectedRows(part, groupBy, this.#memory);
    if (typeof id === 'number') this.#characters += String(id).length + 1;
    else if (golden === undefined) this.#characters += literal(id).length + 1;
    else this.#characters += idLength(recordId(id, golden.eventObjectId) ?? '', golden.eventObjectId);
    // Applications with the same request and without named hosts share the text of the condition.
    const { condition } = selector;
    if (namesHosts || !this.#sharedTexts.has(condition)) this.#characters += FRAME_OF_CONDITION + condition.length;
    if (!namesHosts) this.#sharedTexts.add(condition);
    else for (const host of hosts ?? []) this.#characters += literal(host).length + 1;
    this.fits = this.#rows <= maxRows && this.#characters <= MAX_CHARACTERS;
  }
}

/** The expected rows of a part, by the numbers of hosts, datastore types and matching names that were last seen. */
export function expectedRows(
  { id, selector, hosts, namesHosts }: QueryPart,
  groupBy: QueryKind['groupBy'],
  memory: AccountMemory,
): number {
  if (groupBy === 'entity') return 1;
  const sizes = memory.sizes(id);
  const { names, filters, hasDatastores } = selector;
  const found = (hasDatastores ? sizes.datastores : 0) + (filters.length > 0 ? sizes.matches : 0);
  const rows = Math.max(1, names.length + found);
  return groupBy !== 'host' ? rows : rows * (namesHosts === true && hosts !== undefined ? hosts.length : sizes.hosts);
}

/**
 * Takes the subjects of the next call, as many as one query of each kind can carry; `isOne`: all belong to one subject, which
 * may need several queries. Further hosts of an application add nothing, because the query reads all. Suspects are left for
 * later.
 */
export function takeSubjects<S>(
  subjects: Iterable<S>,
  memory: AccountMemory,
  partsOf: (subject: S) => readonly NeededPart[],
  keyOf: ((subject: S) => string) | undefined,
  maxRows: number | undefined,
) {
  const taken: { readonly subject: S; readonly parts: readonly NeededPart[] }[] = [];
  const selectors = new Map<SubjectId, string>();
  const sizes = new Map<QueryKind, Size>();
  const kinds = new Set<QueryKind>();
  let key: unknown;
  let first: NeededPart | undefined;
  for (const subject of subjects) {
    const parts = partsOf(subject);
    const [part] = parts;
    const ownKey = keyOf === undefined ? part?.kind : keyOf(subject);
    if (key !== undefined && ownKey !== undefined && ownKey !== key) break;
    key ??= ownKey;
    if (part !== undefined) {
      if (first !== undefined && memory.failures.hasSuspects && !goTogether(first, part, memory)) {
        if (mustBeAlone(first, memory)) break;
        continue;
      }
      const before = selectors.get(part.id);
      if (before !== undefined && before !== part.selector.condition) break;
      if (before === undefined) {
        for (const each of parts) {
          const size =
            sizes.get(each.kind) ?? new Size(memory, { ...each.kind, maxRows: maxRows ?? each.kind.maxRows });
          sizes.set(each.kind, size);
          size.add(each);
        }
        // A subject that is too large for one query stays alone.
        if (first !== undefined && !parts.every(({ kind }) => sizes.get(kind)?.fits)) break;
        selectors.set(part.id, part.selector.condition);
      }
      first ??= part;
    }
    for (const { kind } of parts) kinds.add(kind);
    taken.push({ subject, parts });
  }
  const [head] = taken;
  if (head === undefined) throw new RangeError('no subjects');
  return { taken, first: head.subject, kinds, isOne: selectors.size === 1 };
}

/** A suspect is read alone, but hosts of an application that is a suspect as a whole are read together. */
function goTogether(first: NeededPart, other: NeededPart, memory: AccountMemory): boolean {
  if (!mustBeAlone(first, memory) && !mustBeAlone(other, memory)) return true;
  const { failures } = memory;
  const { read } = first.kind;
  return (
    first.id === other.id && failures.isSuspect(read, first.id) && !failures.isSuspect(read, other.id, other.hosts?.[0])
  );
}

function mustBeAlone({ id, hosts = [], kind: { read } }: NeededPart, { failures }: AccountMemory): boolean {
  return failures.isSuspect(read, id) || hosts.some((host) => failures.isSuspect(read, id, host));
}

/** The batches in which the parts are read when nothing fails; parts that `failures` omits are in none. */
export function planQueries(parts: readonly QueryPart[], memory: AccountMemory, kind: QueryKind): Batch[] {
  const { failures } = memory;
  const isHealthy = !failures.hasSuspects && !failures.hasOmissions;
  const [together, batches]: ReturnType<typeof separate> = isHealthy ? [parts, []] : separate(parts, memory, kind);
  let batch: QueryPart[] = [];
  let size = new Size(memory, kind);
  for (const part of together) {
    size.add(part);
    if (!size.fits) {
      const own = Size.of([part], memory, kind);
      if (!own.fits) {
        batches.push(...divided([namingHosts(part, kind)], memory, kind));
        size = Size.of(batch, memory, kind);
        continue;
      }
      batches.push(batch);
      batch = [];
      size = own;
    }
    batch.push(part);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** The parts that go together, and batches of the others: suspects, and what returns from an omission, are alone. */
function separate(
  parts: readonly QueryPart[],
  memory: AccountMemory,
  kind: QueryKind,
): [together: readonly QueryPart[], apart: Batch[]] {
  const { failures } = memory;
  const together: QueryPart[] = [];
  const present = parts.filter(({ id }) => !failures.isOmitted(kind.read, id));
  const [known, batches] = separateColumns(present, memory, kind);
  for (const part of known) {
    const [healthy, suspects] = separateSuspects(part, memory, kind);
    batches.push(...suspects.map((each) => [each]));
    if (healthy === undefined) continue;
    if (failures.isSuspect(kind.read, part.id)) batches.push(...divided([namingHosts(healthy, kind)], memory, kind));
    else if (failures.isReturning(kind.read, part.id) && Size.of([healthy], memory, kind).fits) batches.push([healthy]);
    else together.push(healthy);
  }
  return [together, batches];
}

function namingHosts(part: QueryPart, { groupBy }: QueryKind): QueryPart {
  return { ...part, namesHosts: part.hosts !== undefined && groupBy === 'host' };
}

/**
 * The parts without suspect columns of golden metrics, and the queries of these: a column that failed for several entities is
 * read of all of them together, one that failed for an entity of that one, and so are its other columns.
 */
function separateColumns(
  parts: readonly QueryPart[],
  { failures }: AccountMemory,
  { golden }: QueryKind,
): [readonly QueryPart[], Batch[]] {
  if (golden === undefined || !failures.hasSuspects) return [parts, []];
  const idOf = new Map(columnsOf(parts).map((column) => [column, columnId(golden, column)]));
  const batches: Batch[] = [];
  const alone = new Set<SubjectId>();
  let left = parts;
  for (const [column, key] of idOf) {
    const having = (each: readonly QueryPart[]): readonly QueryPart[] =>
      each.filter(({ selector }) => selector.names.includes(column));
    const isWhole = failures.isSuspect(COLUMNS, key);
    if (!isWhole && !failures.hasSuspectPart(COLUMNS, key)) continue;
    const apart = having(left).filter(({ id }) => isWhole || failures.isSuspect(COLUMNS, key, String(id)));
    const suspects = withColumns(apart, [column]);
    if (!isWhole) for (const { id } of apart) alone.add(id);
    batches.push(...(isWhole && suspects.length > 0 ? [suspects] : suspects.map((part) => [part])));
    left = left.flatMap((part) => {
      const others = part.selector.names.filter((name) => name !== column);
      return apart.includes(part) ? withColumns([part], others) : [part];
    });
  }
  batches.push(...left.filter(({ id }) => alone.has(id)).map((part) => [part]));
  return [left.filter(({ id }) => !alone.has(id)), batches];
}

/** The part without its suspect hosts, which then names its hosts, and a part for each suspect host. */
function separateSuspects(
  part: QueryPart,
  { failures }: AccountMemory,
  { read }: QueryKind,
): [QueryPart | undefined, QueryPart[]] {
  const { id, hosts } = part;
  const alone = hosts?.filter((host) => failures.isSuspect(read, id, host)) ?? [];
  if (hosts === undefined) return [part, []];
  if (alone.length === 0) return [failures.hasSuspectPart(read, id) ? { ...part, namesHosts: true } : part, []];
  const others = hosts.filter((host) => !alone.includes(host));
  const apart = alone.map((host) => ({ ...part, hosts: [host], namesHosts: true }));
  return [others.length === 0 ? undefined : { ...part, hosts: others, namesHosts: true }, apart];
}

/** Divides a batch, by application, then by host, then by metric, until each part fits into a query, if it can. */
function divided(batch: Batch, memory: AccountMemory, kind: QueryKind): Batch[] {
  const halves = Size.of(batch, memory, kind).fits ? undefined : halve(batch);
  return halves === undefined ? [batch] : halves.flatMap((half) => divided(half, memory, kind));
}

/** Halves a batch by application; one application by host, or else by metric; undefined if neither is possible. */
export function halve(batch: Batch): readonly [Batch, Batch] | undefined {
  const [part] = batch;
  if (part === undefined) return undefined;
  const middle = (list: readonly unknown[]): number => Math.ceil(list.length / 2);
  if (batch.length > 1) return [batch.slice(0, middle(batch)), batch.slice(middle(batch))];
  const { hosts } = part;
  if (hosts !== undefined && hosts.length > 1) {
    const half = (some: readonly string[]): Batch => [{ ...part, hosts: some, namesHosts: true }];
    return [half(hosts.slice(0, middle(hosts))), half(hosts.slice(middle(hosts)))];
  }
  const selectors = part.selector.halves();
  if (selectors === undefined) return undefined;
  const [first, second] = selectors;
  const namesHosts = hosts !== undefined;
  return [[{ ...part, namesHosts, selector: first }], [{ ...part, namesHosts, selector: second }]];
}

/** Halves the columns of golden metrics; undefined for one column. */
export function halveColumns(batch: Batch): readonly [Batch, Batch] | undefined {
  const columns = columnsOf(batch);
  if (columns.length < 2) return undefined;
  const middle = Math.ceil(columns.length / 2);
  return [withColumns(batch, columns.slice(0, middle)), withColumns(batch, columns.slice(middle))];
}

/** The parts with no other columns of golden metrics than these; without the parts that have none of them. */
export function withColumns(batch: Batch, columns: readonly string[]): Batch {
  const wanted = new Set(columns);
  const narrowed = new Map<MetricSelector, MetricSelector>();
  return batch.flatMap((part) => {
    const { selector } = part;
    const names = selector.names.filter((name) => wanted.has(name));
    if (names.length === 0) return [];
    if (names.length === selector.names.length) return [part];
    const own = narrowed.get(selector) ?? new MetricSelector(names);
    narrowed.set(selector, own);
    return [{ ...part, selector: own }];
  });
}

/** The columns of golden metrics that a batch reads, each once. */
export function columnsOf(batch: Batch): readonly string[] {
  // Subjects share few selectors.
  const selectors = new Set(batch.map(({ selector }) => selector));
  return [...new Set([...selectors].flatMap(({ names }) => names))];
}

/** The kind under which failures of columns are remembered, by source and column; their parts are entities. */
export const COLUMNS = 'golden metric';

export function columnId(source: GoldenSource | undefined, column: string): string {
  return source === undefined ? column : `${sourceKey(source)} ${column}`;
}

/** True for a batch of one column that is read apart, because it failed for several entities. */
export function isSuspectColumn(batch: Batch, { failures }: AccountMemory, { golden }: QueryKind): boolean {
  if (golden === undefined) return false;
  const [column = '', ...others] = columnsOf(batch);
  return others.length === 0 && failures.isSuspect(COLUMNS, columnId(golden, column));
}

/** True for a batch with several subjects: applications, hosts, key transactions or entities. */
export function isShared(batch: Batch): boolean {
  return batch.length > 1 || (batch[0]?.hosts?.length ?? 1) > 1;
}

/** One subject of a batch (of several columns one of an entity) and the others (all). `at`: where, from 0 to below 1. */
export function takeOne(batch: Batch, at: number, hasColumns: boolean): readonly [one: Batch, others: Batch] {
  const index = Math.floor(at * batch.length);
  const part = batch[index];
  if (part === undefined) return [[], []];
  const { hosts, selector } = part;
  if (hasColumns) {
    const column = Math.floor(at * selector.names.length);
    return [withColumns([part], selector.names.slice(column, column + 1)), batch];
  }
  if (hosts === undefined || hosts.length < 2) return [[part], batch.toSpliced(index, 1)];
  const host = Math.floor(at * hosts.length);
  const having = (some: readonly string[]): QueryPart => ({ ...part, hosts: some, namesHosts: true });
  return [[having(hosts.slice(host, host + 1))], batch.with(index, having(hosts.toSpliced(host, 1)))];
}

/** The condition for the subjects and metrics of a batch; subjects with the same metrics share a part of it. */
export function conditionOf(batch: Batch, groupBy: QueryKind['groupBy']): string {
  const shared = new Map<string, SubjectId[]>();
  const conditions: string[] = [];
  for (const { id, selector, hosts, namesHosts } of batch) {
    const { condition } = selector;
    if (namesHosts === true && hosts !== undefined) {
      conditions.push(all([isIn('appId', [id]), isIn('host', hosts), condition]));
      continue;
    }
    const ids = shared.get(condition);
    if (ids === undefined) shared.set(condition, [id]);
    else ids.push(id);
  }
  const attribute = groupBy === 'key_transaction' ? 'entity.guid' : 'appId';
  for (const [condition, ids] of shared) conditions.push(all([isIn(attribute, ids), condition]));
  return all([groupBy === 'host' ? 'host IS NOT NULL' : '', any(conditions)]);
}
