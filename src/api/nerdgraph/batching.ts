import type { Fleet, SubjectId } from './fleet.ts';
import { all, any, equals, filled, isIn, isNotNull, type Condition } from './nrql.ts';
import type { CallGroup } from './transport.ts';
import type { Wanted } from './wanted.ts';
import type { NextCall } from '../reader.ts';

/** The service gives 5,000 rows and keeps silent about the rest: this leaves room for what is new since the last look. */
export const MOST_ROWS = 4_500;
/** A longest text exists, but no public page says which. */
const MOST_CHARACTERS = 8_000;
/** What stands around the conditions of a query. */
const FRAME = 420;
const FRAME_OF_GROUP = 70;

/** What a query asks for of one application or key transaction. */
export interface QueryPart extends Omit<Asked, 'host'> {
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
  /** What a row is about: a metric of an application or of a host, or a key transaction. */
  readonly by: 'application' | 'host' | 'key_transaction';
  /**
   * `names`: only the facets of the rows are of use, so that any window is good. `squares`: with the sums of squares.
   * `values` by default.
   */
  readonly columns?: 'names' | 'values' | 'squares';
  /** How many rows a query is planned for; 4,500 by default. */
  readonly mostRows?: number;
  /** It asks for so many seconds before the end of the range that is read; undefined: for the range itself. */
  readonly seconds?: number;
}

/** What one subject of a read asks for: metrics of an application or of one of its hosts, or a key transaction. */
export interface Asked {
  readonly id: SubjectId;
  readonly host?: string | undefined;
  readonly wanted: Wanted;
  /** Whether a value is calculated with the sum of squares. */
  readonly needsSquares?: boolean;
  /** What messages call it, where its id says nothing to a reader. */
  readonly called?: string;
}

/** One part for each application and each set of metrics, with all the hosts that are asked for. */
export function partsOf(asked: readonly Asked[]): QueryPart[] {
  const parts = new Map<SubjectId, { readonly part: QueryPart; readonly hosts: Set<string> }[]>();
  for (const each of asked) {
    let ofSubject = parts.get(each.id);
    if (ofSubject === undefined) parts.set(each.id, (ofSubject = []));
    const alike = ofSubject.find(({ part }) => part.wanted === each.wanted);
    if (alike === undefined)
      ofSubject.push({ part: partOf(each), hosts: new Set(each.host === undefined ? [] : [each.host]) });
    else alike.hosts.add(each.host ?? '');
  }
  return [...parts.values()]
    .flat()
    .map(({ part, hosts }) => (part.hosts === undefined ? part : { ...part, hosts: [...hosts] }));
}

function partOf({ host, ...asked }: Asked): QueryPart {
  return { ...asked, hosts: host === undefined ? undefined : [host], namesHosts: false };
}

/** How large the query for a batch is going to be. */
class Size {
  rows = 0;
  characters = FRAME;
  readonly #groups = new Set<Wanted>();
  readonly #fleet: Fleet;
  readonly #kind: QueryKind;

  constructor(fleet: Fleet, kind: QueryKind) {
    this.#fleet = fleet;
    this.#kind = kind;
  }

  static of(batch: Batch, fleet: Fleet, kind: QueryKind): Size {
    const size = new Size(fleet, kind);
    for (const part of batch) size.add(part);
    return size;
  }

  add(part: QueryPart): void {
    this.rows += rowsOf(part, this.#kind.by, this.#fleet);
    this.characters += typeof part.id === 'number' ? String(part.id).length + 1 : literalLength(part.id);
    // Applications that name no hosts and ask for the same share the text that says so.
    if (!part.namesHosts && this.#groups.has(part.wanted)) return;
    if (!part.namesHosts) this.#groups.add(part.wanted);
    this.characters += FRAME_OF_GROUP + part.wanted.characters;
    if (part.namesHosts) for (const host of part.hosts ?? []) this.characters += literalLength(host);
  }

  get fits(): boolean {
    return this.rows <= (this.#kind.mostRows ?? MOST_ROWS) && this.characters <= MOST_CHARACTERS;
  }
}

/** How many rows a query for a part is expected to give. */
export function rowsOf({ id, wanted, hosts, namesHosts }: QueryPart, by: QueryKind['by'], fleet: Fleet): number {
  const sizes = fleet.sizes(id);
  const rows = wanted.rows(sizes.datastores, sizes.matches);
  return by !== 'host' ? rows : rows * (namesHosts && hosts !== undefined ? hosts.length : sizes.hosts);
}

/**
 * How many subjects the next query carries: of one kind only. Further hosts of an application that is in it cost nothing.
 *
 * @param limit the most rows of the query, in place of those of its kind
 */
export function nextQuery<S>(
  asking: { kindOf(subject: S): QueryKind; askedOf(subject: S): Asked | undefined },
  subjects: readonly S[],
  fleet: Fleet,
  limit?: number,
): NextCall {
  const [start] = subjects;
  if (start === undefined) throw new RangeError('no subjects');
  const alike = asking.kindOf(start);
  const kind = limit === undefined ? alike : { ...alike, mostRows: limit };
  const size = new Size(fleet, kind);
  const wanted = new Map<SubjectId, Wanted>();
  const isAlone = ({ id, host }: Asked): boolean =>
    fleet.suspects.has(kind.name, id) || fleet.suspects.has(kind.name, id, host);
  const taken: Asked[] = [];
  let count = 0;
  for (const subject of subjects) {
    if (asking.kindOf(subject) !== alike) break;
    const each = asking.askedOf(subject);
    if (each !== undefined) {
      const before = wanted.get(each.id);
      const [first] = taken;
      if (first !== undefined && (isAlone(each) || isAlone(first)) && !isSameAlone(first, each, fleet, kind)) break;
      if (before === undefined) {
        size.add(partOf(each));
        // What is too large for one query stays alone.
        if (first !== undefined && !size.fits) break;
        wanted.set(each.id, each.wanted);
      } else if (before !== each.wanted) break;
      taken.push(each);
    }
    count += 1;
  }
  const calls = wanted.size === 1 ? planQueries(partsOf(taken), fleet, kind).length : 1;
  return { count, calls: Math.max(1, calls) };
}

/** Hosts of an application that is a suspect as a whole go together. */
function isSameAlone(first: Asked, other: Asked, { suspects }: Fleet, { name }: QueryKind): boolean {
  return first.id === other.id && suspects.has(name, first.id) && !suspects.has(name, other.id, other.host);
}

/** The queries that read these parts when nothing fails. What once broke a query is asked alone. */
export function planQueries(parts: readonly QueryPart[], fleet: Fleet, kind: QueryKind): Batch[] {
  const together: QueryPart[] = [];
  const batches: Batch[] = [];
  for (const part of parts) {
    const [whole, alone] = withoutSuspects(part, fleet, kind);
    batches.push(...alone.map((each) => [each]));
    if (whole === undefined) continue;
    if (fleet.suspects.has(kind.name, part.id) || !Size.of([whole], fleet, kind).fits) {
      batches.push(
        ...fitting([{ ...whole, namesHosts: whole.hosts !== undefined && kind.by === 'host' }], fleet, kind),
      );
    } else together.push(whole);
  }
  let batch: QueryPart[] = [];
  let size = new Size(fleet, kind);
  for (const part of together) {
    size.add(part);
    if (batch.length > 0 && !size.fits) {
      batches.push(batch);
      batch = [];
      size = Size.of([part], fleet, kind);
    }
    batch.push(part);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** The part without the hosts that broke a query, and those apart: a query for all hosts would ask for them, too. */
function withoutSuspects(
  part: QueryPart,
  { suspects }: Fleet,
  { name }: QueryKind,
): [QueryPart | undefined, QueryPart[]] {
  const { id, hosts } = part;
  const alone = hosts?.filter((host) => suspects.has(name, id, host)) ?? [];
  if (hosts === undefined || alone.length === 0) return [part, []];
  const others = hosts.filter((host) => !alone.includes(host));
  const apart = alone.map((host) => ({ ...part, hosts: [host], namesHosts: true }));
  return [others.length === 0 ? undefined : { ...part, hosts: others, namesHosts: true }, apart];
}

/** Divides what is expected to be too large for one query: an application alone, by host and then by metric. */
function fitting(batch: Batch, fleet: Fleet, kind: QueryKind): Batch[] {
  const halves = Size.of(batch, fleet, kind).fits ? undefined : halve(batch, true);
  return halves === undefined ? [batch] : halves.flatMap((half) => fitting(half, fleet, kind));
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
  const wanted = byMetric ? part.wanted.halves() : undefined;
  if (wanted === undefined) return undefined;
  const [first, second] = wanted;
  const namesHosts = hosts !== undefined;
  return [[{ ...part, namesHosts, wanted: first }], [{ ...part, namesHosts, wanted: second }]];
}

/** One subject of a batch, the first or the last, and the others; undefined where there is only one. */
export function takeOne(batch: Batch, last: boolean): readonly [one: Batch, others: Batch] | undefined {
  const part = last ? batch.at(-1) : batch[0];
  if (part === undefined) return undefined;
  const others = last ? batch.slice(0, -1) : batch.slice(1);
  const { hosts } = part;
  if (hosts === undefined || hosts.length < 2) return others.length === 0 ? undefined : [[part], others];
  const place = last ? hosts.length - 1 : 0;
  const rest = { ...part, hosts: hosts.filter((_, index) => index !== place), namesHosts: true };
  return [
    [{ ...part, hosts: hosts.slice(place, place + 1), namesHosts: true }],
    last ? [...others, rest] : [rest, ...others],
  ];
}

/** The WHERE clause of a query for a batch. */
export function conditionOf(batch: Batch, by: QueryKind['by']): Condition {
  const groups = new Map<Wanted, SubjectId[]>();
  const conditions: Condition[] = [];
  for (const { id, wanted, hosts, namesHosts } of batch) {
    const named = namesHosts ? filled(hosts ?? []) : undefined;
    const group = groups.get(wanted);
    if (named !== undefined) conditions.push(met([equals('appId', id), isIn('host', named)], wanted));
    else if (group === undefined) groups.set(wanted, [id]);
    else group.push(id);
  }
  const attribute = by === 'key_transaction' ? 'entity.guid' : 'appId';
  for (const [wanted, [first = '', ...others]] of groups) {
    const isOne = others.length === 0 ? equals(attribute, first) : isIn(attribute, [first, ...others]);
    conditions.push(met([isOne], wanted));
  }
  const some = filled(conditions);
  if (some === undefined) throw new RangeError('a query needs a subject');
  return by === 'host' ? all([isNotNull('host'), any(some)]) : any(some);
}

function met(subject: readonly [Condition, ...Condition[]], { condition }: Wanted): Condition {
  return all(condition === undefined ? subject : [...subject, condition]);
}

/** With quotes, a comma, and each character that has to be escaped twice. */
function literalLength(text: string): number {
  return text.length + (text.match(/[\\']/g)?.length ?? 0) + 3;
}
