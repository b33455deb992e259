import type { Application } from '../types.ts';
import { DATASTORES_LIKE } from './terms.ts';
import { divide, termsOf, type Part, type Piece, type Term } from './part.ts';
import type { NextCall } from '../reader.ts';

/** After so many good answers alone, what once broke a query travels with the others again. */
const GOOD_ANSWERS = 30;
/** While nothing at all is answered, each of so many attempts is made with small parts, too; the others are short. */
const THOROUGH_EVERY = 4;

/** Remembers what broke a query that others shared, so that it is asked alone from the next refresh on. */
export class Alone {
  /** By id, how many good answers are still needed. */
  readonly #left = new Map<number, number>();

  #unanswered = 0;

  /**
   * Whether it makes sense to divide a failing query far: not while no part of any was answered lately, because then it is the
   * service that fails, but now and then, because it may be back and slow.
   */
  get isThorough(): boolean {
    return this.#unanswered % THOROUGH_EVERY === 0;
  }

  /** How many times it was divided far in vain. */
  get round(): number {
    return Math.floor(this.#unanswered / THOROUGH_EVERY);
  }

  /** Notes whether any part of a query for several was answered. */
  tried(answered: number): void {
    this.#unanswered = answered > 0 ? 0 : this.#unanswered + 1;
  }

  has(id: number): boolean {
    return this.#left.has(id);
  }

  broke(id: number): void {
    this.#left.set(id, GOOD_ANSWERS);
  }

  answered(id: number): void {
    const left = (this.#left.get(id) ?? 0) - 1;
    if (left > 0) this.#left.set(id, left);
    else this.#left.delete(id);
  }

  keepOnly(ids: ReadonlySet<number>): void {
    for (const id of this.#left.keys()) if (!ids.has(id)) this.#left.delete(id);
  }
}

/** Of an application that was not read yet. */
const FIRST_DATASTORES = 3;
/** How many metric names a pattern finds in an application that was not read yet. */
const FIRST_MATCHES = 50;

/** What is known of applications and decides how many fit into a query. */
export class Fleet {
  /** By application id: as the application list says, and as its hosts were read. */
  #counted = new Map<number, number>();
  #hosts = new Map<number, number>();
  #datastores = new Map<number, number>();
  #matches = new Map<number, number>();
  #languages = new Map<number, string>();
  #alone = new Map<string, Alone>();
  #reporting: readonly number[] = [];

  inherit(before: Fleet): void {
    this.#counted = before.#counted;
    this.#hosts = before.#hosts;
    this.#datastores = before.#datastores;
    this.#matches = before.#matches;
    this.#languages = before.#languages;
    this.#alone = before.#alone;
    this.#reporting = before.#reporting;
  }

  /** Takes the whole application list; whatever is not on it any more is forgotten. */
  listed(applications: readonly Application[]): void {
    const ids = new Set(applications.map(({ id }) => id));
    this.#counted = new Map(applications.map(({ id, hosts }) => [id, hosts ?? 1]));
    this.#reporting = applications.flatMap(({ id, reporting }) => (reporting === true ? [id] : []));
    this.#languages.clear();
    for (const { id, language } of applications) if (language !== undefined) this.#languages.set(id, language);
    for (const sizes of [this.#hosts, this.#datastores, this.#matches]) {
      for (const id of sizes.keys()) if (!ids.has(id)) sizes.delete(id);
    }
    for (const alone of this.#alone.values()) alone.keepOnly(ids);
  }

  /** Ids of the applications that reported at the last list. */
  get reporting(): readonly number[] {
    return this.#reporting;
  }

  /** Whether it was on the last list: otherwise it is one that the key cannot see. */
  isListed(applicationId: number): boolean {
    return this.#counted.has(applicationId);
  }

  language(applicationId: number): string | undefined {
    return this.#languages.get(applicationId);
  }

  /** How many hosts it has: as its hosts were read, at first as the list counts them; at least 1. */
  hosts(applicationId: number): number {
    return Math.max(1, this.#hosts.get(applicationId) ?? this.#counted.get(applicationId) ?? 1);
  }

  sawHosts(applicationId: number, hosts: number): void {
    this.#hosts.set(applicationId, hosts);
  }

  /** How many datastore metrics it has. */
  datastores(applicationId: number): number {
    return this.#datastores.get(applicationId) ?? FIRST_DATASTORES;
  }

  sawDatastores(applicationId: number, types: number): void {
    this.#datastores.set(applicationId, types);
  }

  /** How many of its metric names match the patterns of custom metrics. */
  matches(applicationId: number): number {
    return this.#matches.get(applicationId) ?? FIRST_MATCHES;
  }

  sawMatches(applicationId: number, names: number): void {
    this.#matches.set(applicationId, names);
  }

  /** The applications that broke a query of this kind. */
  alone(kind: string): Alone {
    let alone = this.#alone.get(kind);
    if (alone === undefined) {
      alone = new Alone();
      this.#alone.set(kind, alone);
    }
    return alone;
  }
}

/*
 * The words of this folder for how subjects become queries, and answers become values:
 *
 * - Term (part.ts): a metric name, or a pattern of names.
 * - Wanted (cellBatch.ts): what one subject asks for, terms of an application or of one of its hosts.
 * - Cell: what all subjects together ask for of one application, its terms and the hosts they want.
 * - Piece (part.ts): what one query asks for of one application. It names hosts only where it asks for some of them.
 * - Part (part.ts): what one query asks for, a list of pieces. What fails or is too large is divided into smaller parts.
 * - Filling: a part that is being filled with cells, as long as they fit into one query.
 * - Row (row.ts): what an answer says of one metric of an application or host.
 * - Place (rowReading.ts): where the rows of one answer that belong to one piece are put.
 * - Found (found.ts): what was read of one application, by however many parts.
 */

/** The service gives 5,000 rows and keeps silent about the rest: this leaves room for what is new since the last look. */
export const MOST_ROWS = 4_500;
/** A longest text exists, but no public page says which. */
const MOST_CHARACTERS = 8_000;
/** What stands around the conditions of a query. */
const FRAME = 420;
const FRAME_OF_GROUP = 70;

/** The metrics of one application, and of which of its hosts they are wanted. */
export interface Cell {
  readonly applicationId: number;
  readonly terms: readonly Term[];
  /** Undefined: of the application as a whole, or of whatever hosts it has. */
  readonly hosts: readonly string[] | undefined;
}

export interface PlanOptions {
  /** Names the kind of query where it is remembered what broke one. */
  readonly kind: string;
  readonly byHost: boolean;
  readonly mostRows: number;
}

/** A query that is being filled with applications. */
export class Filling {
  readonly #fleet: Fleet;
  readonly #options: PlanOptions;
  readonly #pieces: Piece[] = [];
  readonly #groups = new Set<readonly Term[]>();
  #rows = 0;
  #characters = FRAME;
  /** Whether its first application has more hosts than one query carries. */
  #isLarge = false;

  constructor(fleet: Fleet, options: PlanOptions) {
    this.#fleet = fleet;
    this.#options = options;
  }

  /** The first always fits; what is too large for one query, or broke one, stays alone. */
  add(cell: Cell): boolean {
    const { kind, byHost, mostRows } = this.#options;
    const whole: Piece = { applicationId: cell.applicationId, terms: cell.terms, hosts: undefined };
    const isLarge = rowsOf(whole, byHost, this.#fleet) > mostRows;
    const piece = isLarge && byHost ? { ...whole, hosts: cell.hosts } : whole;
    const rows = this.#rows + rowsOf(piece, byHost, this.#fleet);
    const characters = this.#characters + charactersOf(piece, this.#groups);
    const [first] = this.#pieces;
    if (first !== undefined) {
      const alone = this.#fleet.alone(kind);
      if (alone.has(cell.applicationId) || alone.has(first.applicationId)) return false;
      if (this.#isLarge || isLarge || rows > mostRows || characters > MOST_CHARACTERS) return false;
    }
    this.#isLarge = isLarge;
    this.#pieces.push(piece);
    this.#groups.add(cell.terms);
    this.#rows = rows;
    this.#characters = characters;
    return true;
  }

  /** True when one query is expected to carry it, with whatever hosts are wanted of its applications. */
  get fits(): boolean {
    return !this.#isLarge && this.#rows <= this.#options.mostRows && this.#characters <= MOST_CHARACTERS;
  }

  get part(): Part {
    return { byHost: this.#options.byHost, pieces: this.#pieces };
  }
}

/** The queries that read these applications when nothing fails. */
export function plan(cells: readonly Cell[], fleet: Fleet, options: PlanOptions): Part[] {
  const alone = fleet.alone(options.kind);
  const together = cells.filter(({ applicationId }) => !alone.has(applicationId));
  const apart = cells.filter(({ applicationId }) => alone.has(applicationId));
  const parts: Part[] = [];
  let filling = new Filling(fleet, options);
  for (const cell of [...together, ...apart]) {
    if (filling.add(cell)) continue;
    parts.push(filling.part);
    filling = new Filling(fleet, options);
    filling.add(cell);
  }
  if (filling.part.pieces.length > 0) parts.push(filling.part);
  return parts.flatMap((part) => fitting(part, fleet, options));
}

/** Divides what is expected to be too large for one query: an application alone, by host and then by metric. */
function fitting(part: Part, fleet: Fleet, options: PlanOptions): Part[] {
  const { byHost, mostRows } = options;
  const rows = part.pieces.reduce((total, piece) => total + rowsOf(piece, byHost, fleet), 0);
  const groups = new Set<readonly Term[]>();
  let characters = FRAME;
  for (const piece of part.pieces) {
    characters += charactersOf(piece, groups);
    groups.add(piece.terms);
  }
  if (rows <= mostRows && characters <= MOST_CHARACTERS) return [part];
  const halves = divide(part, () => undefined, true);
  return halves === undefined ? [part] : halves.flatMap((half) => fitting(half, fleet, options));
}

/** How many rows a query for this is expected to give. */
export function rowsOf({ applicationId, terms, hosts }: Piece, byHost: boolean, fleet: Fleet): number {
  let rows = 0;
  for (const { text, like } of terms) {
    if (!like) rows += 1;
    else rows += text === DATASTORES_LIKE ? fleet.datastores(applicationId) : fleet.matches(applicationId);
  }
  return rows * (byHost ? (hosts?.length ?? fleet.hosts(applicationId)) : 1);
}

function charactersOf(piece: Piece, groups: ReadonlySet<readonly Term[]>): number {
  let characters = 0;
  for (const unscoped of [false, true]) {
    const terms = termsOf(piece, unscoped);
    if (terms.length === 0) continue;
    characters += String(piece.applicationId).length + 1;
    // Applications that name no hosts and ask for the same share the text that says so.
    if (piece.hosts === undefined && groups.has(piece.terms)) continue;
    characters += FRAME_OF_GROUP + textsLength(terms);
    for (const host of piece.hosts ?? []) characters += literalLength(host);
  }
  return characters;
}

const lengths = new WeakMap<readonly Term[], number>();

function textsLength(terms: readonly Term[]): number {
  let length = lengths.get(terms);
  if (length === undefined) {
    length = terms.reduce((total, { text, like }) => total + literalLength(text) + (like ? 30 : 0), 0);
    lengths.set(terms, length);
  }
  return length;
}

/** With quotes, a comma, and each character that has to be escaped twice. */
function literalLength(text: string): number {
  return text.length + (text.match(/[\\']/g)?.length ?? 0) + 3;
}

/** What a subject asks for: metrics of an application, or of one of its hosts. */
export interface Wanted {
  readonly applicationId: number;
  readonly terms: readonly Term[];
  readonly host: string | undefined;
}

/** One query that is being filled. The first subject always fits; several hosts of an application cost as much as one. */
class CellBatch<S> {
  readonly #fleet: Fleet;
  readonly #wanted: (subject: S) => Wanted;
  readonly #optionsOf: (subject: S) => PlanOptions;
  readonly #subjects: S[] = [];
  #open: { readonly options: PlanOptions; readonly filling: Filling } | undefined;
  readonly #terms = new Map<number, readonly Term[]>();

  constructor(fleet: Fleet, wanted: (subject: S) => Wanted, optionsOf: (subject: S) => PlanOptions) {
    this.#fleet = fleet;
    this.#wanted = wanted;
    this.#optionsOf = optionsOf;
  }

  add(subject: S): boolean {
    const options = this.#optionsOf(subject);
    this.#open ??= { options, filling: new Filling(this.#fleet, options) };
    if (options.kind !== this.#open.options.kind) return false;
    const { applicationId, terms, host } = this.#wanted(subject);
    const before = this.#terms.get(applicationId);
    if (before !== undefined && before !== terms) return false;
    const hosts = host === undefined ? undefined : [host];
    if (before === undefined && !this.#open.filling.add({ applicationId, terms, hosts })) return false;
    this.#terms.set(applicationId, terms);
    this.#subjects.push(subject);
    return true;
  }

  get calls(): number {
    if (this.#open === undefined) return 0;
    // What was filled is one query, unless already its first application is too large for one.
    if (this.#open.filling.fits) return 1;
    return plan(cellsOf(this.#subjects.map(this.#wanted)), this.#fleet, this.#open.options).length;
  }
}

/** How many subjects the next query carries. */
export function nextCell<S>(
  subjects: readonly S[],
  fleet: Fleet,
  wanted: (subject: S) => Wanted,
  optionsOf: (subject: S) => PlanOptions,
): NextCall {
  const batch = new CellBatch(fleet, wanted, optionsOf);
  let count = 0;
  while (count < subjects.length && batch.add(subjects[count] as S)) count += 1;
  return { count, calls: Math.max(1, batch.calls) };
}

/** One cell for each application, with all the hosts and all the metrics that are asked for of it. */
export function cellsOf(wanted: readonly Wanted[]): Cell[] {
  const cells = new Map<number, { terms: readonly Term[]; hosts: Set<string> | undefined }>();
  for (const { applicationId, terms, host } of wanted) {
    const cell = cells.get(applicationId);
    if (cell === undefined) {
      cells.set(applicationId, { terms, hosts: host === undefined ? undefined : new Set([host]) });
      continue;
    }
    if (cell.terms !== terms) cell.terms = union(cell.terms, terms);
    if (host !== undefined) cell.hosts?.add(host);
  }
  return [...cells].map(([applicationId, { terms, hosts }]) => ({
    applicationId,
    terms,
    hosts: hosts === undefined ? undefined : [...hosts],
  }));
}

function union(a: readonly Term[], b: readonly Term[]): readonly Term[] {
  return [...a, ...b.filter((term) => !a.some(({ text, like }) => text === term.text && like === term.like))];
}
