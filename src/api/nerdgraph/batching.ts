import type { Suspects } from './suspects.ts';
import { all, any, equals, filled, isIn, isNotNull, type Condition } from './nrql.ts';
import type { Wanted } from './wanted.ts';
import type { NextCall } from '../reader.ts';
import type { Application } from '../types.ts';

/** The service gives 5,000 rows and keeps silent about the rest: this leaves room for what is new since the last look. */
export const MOST_ROWS = 4_500;
/** A longest text exists, but no public page says which. */
const MOST_CHARACTERS = 8_000;
/** What stands around the conditions of a query. */
const FRAME = 420;
const FRAME_OF_GROUP = 70;

/** Of an application that was not read yet. */
const FIRST_DATASTORES = 3;
/** How many metric names a filter finds in an application that was not read yet. */
const FIRST_MATCHES = 50;

/** What is known of one application and decides how many fit into a query. */
interface Facts {
  readonly isListed: boolean;
  readonly language: string | undefined;
  readonly isReporting: boolean;
  /** As the application list says. */
  readonly countedHosts: number;
  /** As they were read. */
  hosts: number | undefined;
  datastores: number | undefined;
  matches: number | undefined;
}

const UNLISTED: Omit<Facts, 'hosts' | 'datastores' | 'matches'> = {
  isListed: false,
  language: undefined,
  isReporting: false,
  countedHosts: 1,
};

/** What earlier answers told about the applications of an account. It outlives a reload of the configuration. */
export class Fleet {
  #facts = new Map<number, Facts>();
  #suspects: Suspects;

  constructor(suspects: Suspects) {
    this.#suspects = suspects;
  }

  get suspects(): Suspects {
    return this.#suspects;
  }

  inherit(before: Fleet): void {
    this.#facts = before.#facts;
    this.#suspects = before.#suspects;
  }

  /** Takes the whole application list; whatever is not on it any more is forgotten. */
  listed(applications: readonly Application[]): void {
    const before = this.#facts;
    this.#facts = new Map(
      applications.map(({ id, language, reporting, hosts }) => {
        const { hosts: read, datastores, matches } = before.get(id) ?? {};
        const listed = { isListed: true, language, isReporting: reporting === true, countedHosts: hosts ?? 1 };
        return [id, { ...listed, hosts: read, datastores, matches }];
      }),
    );
    this.#suspects.forgetOld();
  }

  /** Ids of the applications that reported at the last list. */
  get reporting(): readonly number[] {
    return [...this.#facts].filter(([, { isReporting }]) => isReporting).map(([id]) => id);
  }

  /** Whether it was on the last list: otherwise it is one that the key cannot see. */
  isListed(applicationId: number): boolean {
    return this.#facts.get(applicationId)?.isListed === true;
  }

  language(applicationId: number): string | undefined {
    return this.#facts.get(applicationId)?.language;
  }

  /** How many hosts it has: as its hosts were read, at first as the list counts them; at least 1. */
  hosts(applicationId: number): number {
    const facts = this.#facts.get(applicationId);
    return Math.max(1, facts?.hosts ?? facts?.countedHosts ?? 1);
  }

  sawHosts(applicationId: number, hosts: number): void {
    this.#of(applicationId).hosts = hosts;
  }

  /** How many datastore metrics it has. */
  datastores(applicationId: number): number {
    return this.#facts.get(applicationId)?.datastores ?? FIRST_DATASTORES;
  }

  sawDatastores(applicationId: number, types: number): void {
    this.#of(applicationId).datastores = types;
  }

  /** How many of its metric names the filters of custom metrics find. */
  matches(applicationId: number): number {
    return this.#facts.get(applicationId)?.matches ?? FIRST_MATCHES;
  }

  sawMatches(applicationId: number, names: number): void {
    this.#of(applicationId).matches = names;
  }

  /** An application that is not on the list, the owner of a key transaction, is forgotten with the next list. */
  #of(applicationId: number): Facts {
    let facts = this.#facts.get(applicationId);
    if (facts === undefined) {
      facts = { ...UNLISTED, hosts: undefined, datastores: undefined, matches: undefined };
      this.#facts.set(applicationId, facts);
    }
    return facts;
  }
}

/** What a query asks for of one application. */
export interface Part {
  readonly applicationId: number;
  readonly wanted: Wanted;
  /** The hosts that are asked for; undefined: the application itself, or whichever hosts it has. */
  readonly hosts: readonly string[] | undefined;
  /** Whether the query names these hosts. Otherwise it asks for all that the application has: a shorter text. */
  readonly namesHosts: boolean;
}

/** The parts that one query asks for. */
export type Batch = readonly Part[];

/** A kind of query; what broke one is remembered by kind. */
export interface QueryKind {
  readonly kind: string;
  readonly byHost: boolean;
  readonly mostRows: number;
}

/** What one subject of a read asks for: metrics of an application, or of one of its hosts. */
export interface Asked {
  readonly applicationId: number;
  readonly host: string | undefined;
  readonly wanted: Wanted;
}

/** One part for each application and each set of metrics, with all the hosts that are asked for. */
export function partsOf(asked: readonly Asked[]): Part[] {
  const parts = new Map<number, { applicationId: number; wanted: Wanted; hosts: Set<string> | undefined }[]>();
  for (const { applicationId, host, wanted } of asked) {
    let ofApplication = parts.get(applicationId);
    if (ofApplication === undefined) parts.set(applicationId, (ofApplication = []));
    const part = ofApplication.find((each) => each.wanted === wanted);
    if (part !== undefined) part.hosts?.add(host ?? '');
    else ofApplication.push({ applicationId, wanted, hosts: host === undefined ? undefined : new Set([host]) });
  }
  return [...parts.values()]
    .flat()
    .map(({ hosts, ...part }) => ({ ...part, hosts: hosts === undefined ? undefined : [...hosts], namesHosts: false }));
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

  add(part: Part): void {
    this.rows += rowsOf(part, this.#kind.byHost, this.#fleet);
    this.characters += String(part.applicationId).length + 1;
    // Applications that name no hosts and ask for the same share the text that says so.
    if (!part.namesHosts && this.#groups.has(part.wanted)) return;
    if (!part.namesHosts) this.#groups.add(part.wanted);
    this.characters += FRAME_OF_GROUP + part.wanted.characters;
    if (part.namesHosts) for (const host of part.hosts ?? []) this.characters += literalLength(host);
  }

  get fits(): boolean {
    return this.rows <= this.#kind.mostRows && this.characters <= MOST_CHARACTERS;
  }
}

/** How many rows a query for a part is expected to give. */
export function rowsOf({ applicationId, wanted, hosts, namesHosts }: Part, byHost: boolean, fleet: Fleet): number {
  const rows = wanted.rows(fleet.datastores(applicationId), fleet.matches(applicationId));
  if (!byHost) return rows;
  return rows * (namesHosts && hosts !== undefined ? hosts.length : fleet.hosts(applicationId));
}

/** How many subjects the next query carries. Further hosts of an application that is in it cost nothing. */
export function nextQuery<S>(
  subjects: readonly S[],
  fleet: Fleet,
  askedOf: (subject: S) => Asked,
  kind: QueryKind,
): NextCall {
  const size = new Size(fleet, kind);
  const wanted = new Map<number, Wanted>();
  const isAlone = ({ applicationId, host }: Asked): boolean =>
    fleet.suspects.has(kind.kind, applicationId) || fleet.suspects.has(kind.kind, applicationId, host);
  const taken: Asked[] = [];
  for (const subject of subjects) {
    const asked = askedOf(subject);
    const { applicationId } = asked;
    const before = wanted.get(applicationId);
    const [first] = taken;
    if (first !== undefined && (isAlone(asked) || isAlone(first)) && !isSameAlone(first, asked, fleet, kind)) break;
    if (before !== undefined) {
      if (before !== asked.wanted) break;
    } else {
      size.add(partOf(asked));
      // What is too large for one query stays alone.
      if (first !== undefined && !size.fits) break;
      wanted.set(applicationId, asked.wanted);
    }
    taken.push(asked);
  }
  const calls = wanted.size === 1 ? planQueries(partsOf(taken), fleet, kind).length : 1;
  return { count: taken.length, calls: Math.max(1, calls) };
}

function partOf({ applicationId, host, wanted }: Asked): Part {
  return { applicationId, wanted, hosts: host === undefined ? undefined : [host], namesHosts: false };
}

/** Hosts of an application that is a suspect as a whole go together. */
function isSameAlone(first: Asked, other: Asked, { suspects }: Fleet, { kind }: QueryKind): boolean {
  return (
    first.applicationId === other.applicationId &&
    suspects.has(kind, first.applicationId) &&
    !suspects.has(kind, other.applicationId, other.host)
  );
}

/** The queries that read these parts when nothing fails. What once broke a query is asked alone. */
export function planQueries(parts: readonly Part[], fleet: Fleet, kind: QueryKind): Batch[] {
  const together: Part[] = [];
  const batches: Batch[] = [];
  for (const part of parts) {
    const [whole, alone] = withoutSuspects(part, fleet, kind);
    batches.push(...alone.map((each) => [each]));
    if (whole === undefined) continue;
    if (fleet.suspects.has(kind.kind, part.applicationId) || !Size.of([whole], fleet, kind).fits) {
      batches.push(...fitting([{ ...whole, namesHosts: whole.hosts !== undefined && kind.byHost }], fleet, kind));
    } else together.push(whole);
  }
  let batch: Part[] = [];
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
function withoutSuspects(part: Part, { suspects }: Fleet, { kind }: QueryKind): [Part | undefined, Part[]] {
  const { applicationId, hosts } = part;
  const alone = hosts?.filter((host) => suspects.has(kind, applicationId, host)) ?? [];
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
export function conditionOf(batch: Batch, byHost: boolean): Condition {
  const groups = new Map<Wanted, Part[]>();
  const conditions: Condition[] = [];
  for (const part of batch) {
    const hosts = part.namesHosts ? filled(part.hosts ?? []) : undefined;
    if (hosts !== undefined) {
      conditions.push(all([equals('appId', part.applicationId), isIn('host', hosts), part.wanted.condition]));
      continue;
    }
    const group = groups.get(part.wanted);
    if (group === undefined) groups.set(part.wanted, [part]);
    else group.push(part);
  }
  for (const [wanted, parts] of groups) {
    const ids = filled(parts.map(({ applicationId }) => applicationId));
    if (ids === undefined) continue;
    const [first, ...others] = ids;
    conditions.push(all([others.length === 0 ? equals('appId', first) : isIn('appId', ids), wanted.condition]));
  }
  const some = filled(conditions);
  if (some === undefined) throw new RangeError('a query needs an application');
  return byHost ? all([isNotNull('host'), any(some)]) : any(some);
}

/** With quotes, a comma, and each character that has to be escaped twice. */
function literalLength(text: string): number {
  return text.length + (text.match(/[\\']/g)?.length ?? 0) + 3;
}
