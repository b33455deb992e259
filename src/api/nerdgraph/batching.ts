import { PLANNED_FACETS } from '../../nrql/facets.ts';
import type { AccountMemory, KeyTransactionDetails } from './accountMemory.ts';
import { joinWithAnd, joinWithOr, whereIn } from './nrql.ts';
import type { Kind } from '../../reads/reads.ts';
import { MetricSelector } from './metricSelector.ts';
import type { ApartKey, SubjectId } from './failureMemory.ts';
import { frameLength, idLength, literal, recordId, sourceKey, type GoldenSource } from '../../nrql/goldenMetric.ts';

/** Maximum length of a query. New Relic has a limit, but no public page documents it. */
const MAX_CHARACTERS = 8_000;
/** Length of a query without its conditions, and of a condition without ids, hosts and metrics. */
const FRAME = 420;
const CONDITION_FRAME = 70;

/** What one subject asks of a query: metrics of an application or its hosts, a key transaction, or golden metrics. */
export interface QueryPart {
  readonly id: SubjectId;
  readonly selector: MetricSelector;
  /** Requested hosts; undefined: the application itself, or all of its hosts. */
  readonly hosts?: readonly string[] | undefined;
  /** True if the query names these hosts. Without names, the query is shorter and reads all hosts. */
  readonly namesHosts?: boolean;
  /** Name in messages, if the id means nothing to users. */
  readonly displayName?: string;
  /** Set for a key transaction: the query of its application needs these details. */
  readonly keyTransaction?: KeyTransactionDetails;
}

export type Batch = readonly QueryPart[];

/** A part, with the kind of query that reads it. */
export interface NeededPart extends QueryPart {
  readonly kind: QueryKind;
}

/** How one kind of data is read in rows. */
export interface QueryKind {
  /** The kind. Its group counts the calls; its name is part of the key of remembered failures. */
  readonly read: Kind;
  /** What a row is about: a metric of an application or host, a key transaction, or an entity with golden metrics. */
  readonly groupBy: 'application' | 'host' | 'key_transaction' | 'entity';
  /** Source of golden metrics. The SELECT expressions of golden metrics are the columns of the query. */
  readonly golden?: GoldenSource;
  /** `names`: facets only. `sums`: counts, sums. `values` (default): also extremes. `squares`: also sums of squares. */
  readonly columns?: 'names' | 'sums' | 'values' | 'squares';
  /** Limit for the expected rows of a query; `PLANNED_FACETS` by default. */
  readonly maxRows?: number | undefined;
  /** Minutes per bucket; undefined: one row over the whole range. */
  readonly bucketMinutes?: number;
  /** True: unreadable buckets stay without columns, buckets outside the window are ignored. By default both fail. */
  readonly keepsUnreadable?: true;
  /** Maximum time to leave out a subject without data, in milliseconds; `detailsMs` is another limit. */
  readonly maxOmissionMs?: number;
  /** Length in seconds of a window that ends with the range; undefined: the range itself. */
  readonly seconds?: number;
}

/** Adds up the expected size of the query for a batch. */
export class Size {
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

  static measure(batch: Batch, memory: AccountMemory, kind: QueryKind): Size {
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
    // Applications with the same metrics share one condition, unless the query names hosts.
    const { condition } = selector;
    if (namesHosts || !this.#sharedTexts.has(condition)) this.#characters += CONDITION_FRAME + condition.length;
    if (!namesHosts) this.#sharedTexts.add(condition);
    else for (const host of hosts ?? []) this.#characters += literal(host).length + 1;
    this.fits = this.#rows <= maxRows && this.#characters <= MAX_CHARACTERS;
  }
}

/** Returns the expected rows of a part, from the last known numbers of hosts, datastore types and matching names. */
export function expectedRows(
  { id, selector, hosts, namesHosts }: QueryPart,
  groupBy: QueryKind['groupBy'],
  memory: AccountMemory,
): number {
  if (groupBy === 'entity') return 1;
  const sizes = memory.sizesOf(id);
  const { names, filters, hasDatastores } = selector;
  const found = (hasDatastores ? sizes.datastores : 0) + (filters.length > 0 ? sizes.matches : 0);
  const rows = Math.max(1, names.length + found);
  return groupBy !== 'host' ? rows : rows * (namesHosts === true && hosts !== undefined ? hosts.length : sizes.hosts);
}

/** A batch that is read alone: one subject, or one column of golden metrics with all entities that have it. */
export interface ApartBatch {
  readonly key: ApartKey;
  readonly batch: Batch;
}

/** Plans shared batches, and batches of subjects that are apart. Skips parts that are left out. */
export function planQueries(
  parts: readonly QueryPart[],
  memory: AccountMemory,
  kind: QueryKind,
): { readonly batches: Batch[]; readonly apart: readonly ApartBatch[] } {
  const { failures, omissions } = memory;
  if (failures.isEmpty && omissions.isEmpty) return { batches: packBatches(parts, memory, kind), apart: [] };
  const present = parts.filter(({ id }) => !omissions.isOmitted(kind.read, id));
  const [withoutColumns, apartColumns] = separateColumns(present, memory, kind);
  const together: QueryPart[] = [];
  const returning: Batch[] = [];
  const apart: ApartBatch[] = [...apartColumns];
  for (const part of withoutColumns) {
    if (failures.isApart(kind.read, part.id)) {
      for (const batch of divideToFit([nameHosts(part, kind)], memory, kind))
        apart.push({ key: { read: kind.read, id: part.id }, batch });
      continue;
    }
    const [others, apartHosts] = separateHosts(part, memory, kind);
    apart.push(...apartHosts);
    if (others === undefined) continue;
    if (omissions.isReturning(kind.read, part.id) && Size.measure([others], memory, kind).fits)
      returning.push([others]);
    else together.push(others);
  }
  return { batches: [...returning, ...packBatches(together, memory, kind)], apart };
}

/** Packs parts into as few batches as possible. Divides a part that is too large for a query. */
export function packBatches(parts: readonly QueryPart[], memory: AccountMemory, kind: QueryKind): Batch[] {
  const batches: Batch[] = [];
  let batch: QueryPart[] = [];
  let size = new Size(memory, kind);
  for (const part of parts) {
    size.add(part);
    if (!size.fits) {
      const sizeAlone = Size.measure([part], memory, kind);
      if (!sizeAlone.fits) {
        batches.push(...divideToFit([nameHosts(part, kind)], memory, kind));
        size = Size.measure(batch, memory, kind);
        continue;
      }
      batches.push(batch);
      batch = [];
      size = sizeAlone;
    }
    batch.push(part);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

function nameHosts(part: QueryPart, { groupBy }: QueryKind): QueryPart {
  return { ...part, namesHosts: part.hosts !== undefined && groupBy === 'host' };
}

/** Returns the key under which failures of a subject, or of its only host, are remembered. */
export function keyOf({ id, hosts }: QueryPart, { read }: QueryKind): ApartKey {
  return { read, id, host: hosts?.length === 1 ? hosts[0] : undefined };
}

/** Returns the key of a column of golden metrics. All entities with the column share the key. */
export function columnKey({ golden }: QueryKind, column: string): ApartKey {
  return { read: 'golden metric', id: golden === undefined ? column : `${sourceKey(golden)} ${column}` };
}

/** Takes golden metrics that are apart out of the parts. Returns the rest, and a batch for each such column. */
function separateColumns(
  parts: readonly QueryPart[],
  { failures }: AccountMemory,
  kind: QueryKind,
): [readonly QueryPart[], readonly ApartBatch[]] {
  if (kind.golden === undefined || failures.isEmpty) return [parts, []];
  const columns = columnsOf(parts, kind);
  const keys = new Map(columns.map((column) => [column, columnKey(kind, column)]));
  const apart = [...keys].filter(([, { read, id }]) => failures.isApart(read, id));
  if (apart.length === 0) return [parts, []];
  const others = columns.filter((column) => !apart.some(([each]) => each === column));
  return [selectColumns(parts, others), apart.map(([column, key]) => ({ key, batch: selectColumns(parts, [column]) }))];
}

/** Takes hosts that are apart out of a part. Returns the rest, which names its hosts, and a batch for each host. */
function separateHosts(
  part: QueryPart,
  { failures }: AccountMemory,
  kind: QueryKind,
): [QueryPart | undefined, readonly ApartBatch[]] {
  const { id, hosts } = part;
  if (hosts === undefined || !failures.hasApartHost(kind.read, id)) return [part, []];
  const others = hosts.filter((host) => !failures.isApart(kind.read, id, host));
  const apart = hosts
    .filter((host) => failures.isApart(kind.read, id, host))
    .map((host): ApartBatch => {
      const alone = { ...part, hosts: [host], namesHosts: true };
      return { key: keyOf(alone, kind), batch: [alone] };
    });
  return [others.length === 0 ? undefined : { ...part, hosts: others, namesHosts: true }, apart];
}

/** Halves a batch by application, then by host, then by metric, until each half fits into a query or is indivisible. */
function divideToFit(batch: Batch, memory: AccountMemory, kind: QueryKind): Batch[] {
  const halves = Size.measure(batch, memory, kind).fits ? undefined : halve(batch);
  return halves === undefined ? [batch] : halves.flatMap((half) => divideToFit(half, memory, kind));
}

/** Halves a batch by application, and one application by host or else by metric; undefined if it is indivisible. */
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
  const selectors = part.selector.halve();
  if (selectors === undefined) return undefined;
  const [first, second] = selectors;
  const namesHosts = hosts !== undefined;
  return [[{ ...part, namesHosts, selector: first }], [{ ...part, namesHosts, selector: second }]];
}

/** Halves a batch by columns of golden metrics; undefined for fewer than two columns. */
export function halveColumns(batch: Batch, kind: QueryKind): readonly [Batch, Batch] | undefined {
  const columns = columnsOf(batch, kind);
  if (columns.length < 2) return undefined;
  const middle = Math.ceil(columns.length / 2);
  return [selectColumns(batch, columns.slice(0, middle)), selectColumns(batch, columns.slice(middle))];
}

/** Reduces the parts to these columns of golden metrics. Drops parts that have none of these columns. */
export function selectColumns(batch: Batch, columns: readonly string[]): Batch {
  const wanted = new Set(columns);
  const narrowed = new Map<MetricSelector, MetricSelector>();
  return batch.flatMap((part) => {
    const { selector } = part;
    const names = selector.names.filter((name) => wanted.has(name));
    if (names.length === 0) return [];
    if (names.length === selector.names.length) return [part];
    const narrowedSelector = narrowed.get(selector) ?? new MetricSelector(names);
    narrowed.set(selector, narrowedSelector);
    return [{ ...part, selector: narrowedSelector }];
  });
}

/** Returns the columns of golden metrics in a batch without duplicates; none for other data. */
export function columnsOf(batch: Batch, { golden }: QueryKind): readonly string[] {
  if (golden === undefined) return [];
  // Thousands of subjects share a few selectors.
  const selectors = new Set(batch.map(({ selector }) => selector));
  return [...new Set([...selectors].flatMap(({ names }) => names))];
}

/** True for a batch with several subjects or several named hosts. */
export function isShared(batch: Batch): boolean {
  return batch.length > 1 || (batch[0]?.hosts?.length ?? 1) > 1;
}

/** Writes the WHERE condition of a batch. Subjects with the same metrics share one term. */
export function writeCondition(batch: Batch, groupBy: QueryKind['groupBy']): string {
  const shared = new Map<string, SubjectId[]>();
  const conditions: string[] = [];
  for (const { id, selector, hosts, namesHosts } of batch) {
    const { condition } = selector;
    if (namesHosts === true && hosts !== undefined) {
      conditions.push(joinWithAnd([whereIn('appId', [id]), whereIn('host', hosts), condition]));
      continue;
    }
    const ids = shared.get(condition);
    if (ids === undefined) shared.set(condition, [id]);
    else ids.push(id);
  }
  const attribute = groupBy === 'key_transaction' ? 'entity.guid' : 'appId';
  for (const [condition, ids] of shared) conditions.push(joinWithAnd([whereIn(attribute, ids), condition]));
  return joinWithAnd([groupBy === 'host' ? 'host IS NOT NULL' : '', joinWithOr(conditions)]);
}
