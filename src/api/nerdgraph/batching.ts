import { PLANNED_FACETS } from '../../nrql/limits.ts';
import type { AccountMemory } from './accountMemory.ts';
import { all, any, equals, filled, isIn, isNotNull, type Condition } from './nrql.ts';
import type { CallGroup } from './transport.ts';
import type { MetricSelector } from './metricSelector.ts';
import type { SubjectId } from '../http/failureMemory.ts';
import { frameLength, idLength, recordId, type GoldenSource } from '../../nrql/goldenMetric.ts';

/** A longest text exists, but no public page says which. */
const MOST_CHARACTERS = 8_000;
/** What stands around the conditions of a query. */
const FRAME = 420;
const FRAME_OF_GROUP = 70;

/** What a query asks for of one application or key transaction. */
export interface QueryPart extends Omit<BatchSubject, 'host'> {
  /** The hosts that are asked for; undefined: the application itself, or whichever hosts it has. */
  readonly hosts: readonly string[] | undefined;
  /** Whether the query names these hosts. Otherwise it asks for all that the application has: a shorter text. */
  readonly namesHosts: boolean;
}

/** The parts that one query asks for. */
export type Batch = readonly QueryPart[];

/** A kind of query; what broke one is remembered by its name. */
export interface QueryKind {
  readonly name: string;
  /** For whom its calls are counted. */
  readonly group: CallGroup;
  /** What a row is about: a metric of an application or of a host, a key transaction, or an entity with golden metrics. */
  readonly groupBy: 'application' | 'host' | 'key_transaction' | 'entity';
  /** Where golden metrics are read; what is selected of them are the columns of the query. */
  readonly golden?: GoldenSource;
  /**
   * `names`: only the facets of the rows are of use, so that any window is good. `sums`: without the extremes. `squares`: with the sums of squares.
   * `values` by default.
   */
  readonly columns?: 'names' | 'sums' | 'values' | 'squares';
  /** How many rows a query is planned for; 4,500 by default. */
  readonly mostRows?: number;
  /** Buckets whose count or sum cannot be read are kept, as NaN; they fail their subject by default. */
  readonly keepsUnreadable?: true;
  /** It asks for so many seconds before the end of the range that is read; undefined: for the range itself. */
  readonly seconds?: number;
}

/** What one subject of a read asks for: metrics of an application or of one of its hosts, or a key transaction. */
export interface BatchSubject {
  readonly id: SubjectId;
  readonly host?: string | undefined;
  readonly selector: MetricSelector;
  /** Whether a value is calculated with the sum of squares. */
  readonly needsSquares?: boolean;
  /** What messages call it, where its id says nothing to a reader. */
  readonly called?: string;
}

/** One part for each application and each set of metrics, with all the hosts that are asked for. */
export function partsOf(subjects: readonly BatchSubject[]): QueryPart[] {
  const parts = new Map<SubjectId, { readonly part: QueryPart; readonly hosts: Set<string> }[]>();
  for (const each of subjects) {
    let ofSubject = parts.get(each.id);
    if (ofSubject === undefined) parts.set(each.id, (ofSubject = []));
    const alike = ofSubject.find(({ part }) => part.selector === each.selector);
    if (alike === undefined)
      ofSubject.push({ part: partOf(each), hosts: new Set(each.host === undefined ? [] : [each.host]) });
    else alike.hosts.add(each.host ?? '');
  }
  return [...parts.values()]
    .flat()
    .map(({ part, hosts }) => (part.hosts === undefined ? part : { ...part, hosts: [...hosts] }));
}

function partOf({ host, ...subjects }: BatchSubject): QueryPart {
  return { ...subjects, hosts: host === undefined ? undefined : [host], namesHosts: false };
}

/** How large the query for a batch is going to be. */
export class Size {
  rows = 0;
  characters = FRAME;
  readonly #groups = new Set<MetricSelector>();
  readonly #memory: AccountMemory;
  readonly #kind: QueryKind;

  constructor(memory: AccountMemory, kind: QueryKind) {
    this.#memory = memory;
    this.#kind = kind;
    if (kind.golden !== undefined) this.characters = frameLength(kind.golden);
  }

  static of(batch: Batch, memory: AccountMemory, kind: QueryKind): Size {
    const size = new Size(memory, kind);
    for (const part of batch) size.add(part);
    return size;
  }

  add(part: QueryPart): void {
    this.rows += rowsOf(part, this.#kind.groupBy, this.#memory);
    this.characters += idCharacters(part.id, this.#kind.golden);
    // Applications that name no hosts and ask for the same share the text that says so.
    if (!part.namesHosts && this.#groups.has(part.selector)) return;
    if (!part.namesHosts) this.#groups.add(part.selector);
    this.characters += FRAME_OF_GROUP + part.selector.characters;
    if (part.namesHosts) for (const host of part.hosts ?? []) this.characters += literalLength(host);
  }

  get fits(): boolean {
    return this.rows <= (this.#kind.mostRows ?? PLANNED_FACETS) && this.characters <= MOST_CHARACTERS;
  }
}

/** How many rows a query for a part is expected to give. */
export function rowsOf(
  { id, selector, hosts, namesHosts }: QueryPart,
  groupBy: QueryKind['groupBy'],
  memory: AccountMemory,
): number {
  if (groupBy === 'entity') return 1;
  const sizes = memory.sizes(id);
  const rows = selector.rows(sizes.datastores, sizes.matches);
  return groupBy !== 'host' ? rows : rows * (namesHosts && hosts !== undefined ? hosts.length : sizes.hosts);
}

/** What the next query carries: subjects of one kind, each with what it asks for; undefined: nothing. */
interface TakenSubjects<S> {
  readonly taken: readonly { readonly subject: S; readonly asked: BatchSubject | undefined }[];
  /** The kind of query, with the most rows that it is planned for. */
  readonly kind: QueryKind;
  /** True: they ask for one application or key transaction only, which may need several queries. */
  readonly isOne: boolean;
}

/**
 * Takes the subjects that the next query carries. Further hosts of an application that is in it cost nothing.
 *
 * @param limit the most rows of the query, in place of those of its kind
 */
export function takeSubjects<S>(
  reads: { kindOf(subject: S): QueryKind; subjectOf(subject: S): BatchSubject | undefined },
  subjects: Iterable<S>,
  memory: AccountMemory,
  limit?: number,
): TakenSubjects<S> {
  const taken: { readonly subject: S; readonly asked: BatchSubject | undefined }[] = [];
  const selectors = new Map<SubjectId, MetricSelector>();
  let alike: QueryKind | undefined;
  let kind: QueryKind | undefined;
  let size: Size | undefined;
  let first: BatchSubject | undefined;
  for (const subject of subjects) {
    const kindOf = reads.kindOf(subject);
    if (alike !== undefined && kindOf !== alike) break;
    alike = kindOf;
    kind ??= limit === undefined ? alike : { ...alike, mostRows: limit };
    size ??= new Size(memory, kind);
    const asked = reads.subjectOf(subject);
    if (asked !== undefined) {
      const before = selectors.get(asked.id);
      if (first !== undefined && !goTogether(first, asked, memory, kind)) break;
      if (before === undefined) {
        size.add(partOf(asked));
        // What is too large for one query stays alone.
        if (first !== undefined && !size.fits) break;
        selectors.set(asked.id, asked.selector);
      } else if (before !== asked.selector) break;
      first ??= asked;
    }
    taken.push({ subject, asked });
  }
  if (kind === undefined) throw new RangeError('no subjects');
  return { taken, kind, isOne: selectors.size === 1 };
}

/** A suspect goes alone, but hosts of an application that is a suspect as a whole go together. */
function goTogether(
  first: BatchSubject,
  other: BatchSubject,
  { failures }: AccountMemory,
  { name }: QueryKind,
): boolean {
  const isAlone = ({ id, host }: BatchSubject): boolean =>
    failures.isSuspect(name, id) || failures.isSuspect(name, id, host);
  if (!isAlone(first) && !isAlone(other)) return true;
  return first.id === other.id && failures.isSuspect(name, first.id) && !failures.isSuspect(name, other.id, other.host);
}

/** The queries that read these parts when nothing fails. What once broke a query is asked alone. */
export function planQueries(parts: readonly QueryPart[], memory: AccountMemory, kind: QueryKind): Batch[] {
  const together: QueryPart[] = [];
  const batches: Batch[] = [];
  for (const part of parts) {
    const [whole, alone] = withoutSuspects(part, memory, kind);
    batches.push(...alone.map((each) => [each]));
    if (whole === undefined) continue;
    if (memory.failures.isSuspect(kind.name, part.id) || !Size.of([whole], memory, kind).fits) {
      batches.push(
        ...fitting([{ ...whole, namesHosts: whole.hosts !== undefined && kind.groupBy === 'host' }], memory, kind),
      );
    } else together.push(whole);
  }
  let batch: QueryPart[] = [];
  let size = new Size(memory, kind);
  for (const part of together) {
    size.add(part);
    if (batch.length > 0 && !size.fits) {
      batches.push(batch);
      batch = [];
      size = Size.of([part], memory, kind);
    }
    batch.push(part);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** The part without the hosts that broke a query, and those apart: a query for all hosts would ask for them, too. */
function withoutSuspects(
  part: QueryPart,
  { failures }: AccountMemory,
  { name }: QueryKind,
): [QueryPart | undefined, QueryPart[]] {
  const { id, hosts } = part;
  const alone = hosts?.filter((host) => failures.isSuspect(name, id, host)) ?? [];
  if (hosts === undefined) return [part, []];
  if (alone.length === 0) return [failures.hasSuspectHost(name, id) ? { ...part, namesHosts: true } : part, []];
  const others = hosts.filter((host) => !alone.includes(host));
  const apart = alone.map((host) => ({ ...part, hosts: [host], namesHosts: true }));
  return [others.length === 0 ? undefined : { ...part, hosts: others, namesHosts: true }, apart];
}

/** Divides what is expected to be too large for one query: an application alone, by host and then by metric. */
function fitting(batch: Batch, memory: AccountMemory, kind: QueryKind): Batch[] {
  const halves = Size.of(batch, memory, kind).fits ? undefined : halve(batch, true);
  return halves === undefined ? [batch] : halves.flatMap((half) => fitting(half, memory, kind));
}

/**
 * Two halves of a batch: of its applications; of the hosts of one; of its metrics, if `byMetric`. Undefined where there is
 * nothing left to divide.
 */
export function halve(batch: Batch, byMetric: boolean): readonly [Batch, Batch] | undefined {
  const [part] = batch;
  if (part === undefined) return undefined;
  const middle = (list: readonly unknown[]): number => Math.ceil(list.length / 2);
  if (batch.length > 1) return [batch.slice(0, middle(batch)), batch.slice(middle(batch))];
  const { hosts } = part;
  if (hosts !== undefined && hosts.length > 1) {
    const half = (some: readonly string[]): Batch => [{ ...part, hosts: some, namesHosts: true }];
    return [half(hosts.slice(0, middle(hosts))), half(hosts.slice(middle(hosts)))];
  }
  const selector = byMetric ? part.selector.halves() : undefined;
  if (selector === undefined) return undefined;
  const [first, second] = selector;
  const namesHosts = hosts !== undefined;
  return [[{ ...part, namesHosts, selector: first }], [{ ...part, namesHosts, selector: second }]];
}

/** One subject of a batch, the first or the last, and the others; undefined where there is only one. */
export function takeOne(batch: Batch, last: boolean): readonly [one: Batch, others: Batch] | undefined {
  const part = last ? batch.at(-1) : batch[0];
  if (part === undefined) return undefined;
  const others = last ? batch.slice(0, -1) : batch.slice(1);
  const { hosts } = part;
  if (hosts === undefined || hosts.length < 2) return others.length === 0 ? undefined : [[part], others];
  const position = last ? hosts.length - 1 : 0;
  const rest = { ...part, hosts: hosts.filter((_, index) => index !== position), namesHosts: true };
  return [
    [{ ...part, hosts: hosts.slice(position, position + 1), namesHosts: true }],
    last ? [...others, rest] : [rest, ...others],
  ];
}

/** The WHERE clause of a query for a batch. */
export function conditionOf(batch: Batch, groupBy: QueryKind['groupBy']): Condition {
  const groups = new Map<MetricSelector, SubjectId[]>();
  const conditions: Condition[] = [];
  for (const { id, selector, hosts, namesHosts } of batch) {
    const named = namesHosts ? filled(hosts ?? []) : undefined;
    const group = groups.get(selector);
    if (named !== undefined) conditions.push(met([equals('appId', id), isIn('host', named)], selector));
    else if (group === undefined) groups.set(selector, [id]);
    else group.push(id);
  }
  const attribute = groupBy === 'key_transaction' ? 'entity.guid' : 'appId';
  for (const [selector, [first = '', ...others]] of groups) {
    const isOne = others.length === 0 ? equals(attribute, first) : isIn(attribute, [first, ...others]);
    conditions.push(met([isOne], selector));
  }
  const some = filled(conditions);
  if (some === undefined) throw new RangeError('a query needs a subject');
  return groupBy === 'host' ? all([isNotNull('host'), any(some)]) : any(some);
}

function met(subject: readonly [Condition, ...Condition[]], { condition }: MetricSelector): Condition {
  return all(condition === undefined ? subject : [...subject, condition]);
}

function idCharacters(id: SubjectId, golden: GoldenSource | undefined): number {
  if (typeof id === 'number') return String(id).length + 1;
  if (golden === undefined) return literalLength(id);
  return idLength(recordId(id, golden.eventObjectId) ?? '', golden.eventObjectId);
}

/** With quotes, a comma, and each character that has to be escaped twice. */
function literalLength(text: string): number {
  return text.length + (text.match(/[\\']/g)?.length ?? 0) + 3;
}
