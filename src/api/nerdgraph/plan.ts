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
import type { Fleet } from './fleet.ts';
import { DATASTORES_LIKE } from './metricNames.ts';
import { divide, termsOf } from './part.ts';
import type { Part, Piece, Term } from './part.ts';

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
