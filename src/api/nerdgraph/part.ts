import { all, any, equals, filled, isIn, isLike, isNotNull, isNull } from './nrql.ts';
import type { Condition } from './nrql.ts';

/** A metric name, or a pattern of names. */
export interface Term {
  readonly text: string;
  readonly like: boolean;
  /**
   * Agents report some names also for single transactions, in the attribute `scope`. Whether a name counts those too when no
   * scope is asked for is not documented, so names that may have them are asked for without a scope.
   */
  readonly unscoped: boolean;
}

/** The metrics of one application, of it as a whole or by host. */
export interface Piece {
  readonly applicationId: number;
  /** Only these hosts; undefined: all of them, or no hosts at all. */
  readonly hosts: readonly string[] | undefined;
  readonly terms: readonly Term[];
}

/** What one query asks for. */
export interface Part {
  readonly byHost: boolean;
  readonly pieces: readonly Piece[];
}

/** The WHERE clause of a query for a part. */
export function conditionOf({ byHost, pieces }: Part): Condition {
  const groups = new Map<string, { terms: readonly Term[]; pieces: [Piece, ...Piece[]] }>();
  for (const piece of pieces) {
    for (const terms of [termsOf(piece, false), termsOf(piece, true)]) {
      if (terms.length === 0) continue;
      const key = `${piece.hosts === undefined ? '' : piece.applicationId} ${keyOf(terms)}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { terms, pieces: [piece] });
      else group.pieces.push(piece);
    }
  }
  const conditions = filled([...groups.values()].map((group) => groupCondition(group.terms, group.pieces)));
  if (conditions === undefined) throw new RangeError('a query needs an application and a metric');
  return byHost ? all([isNotNull('host'), any(conditions)]) : any(conditions);
}

function groupCondition(terms: readonly Term[], [first, ...others]: readonly [Piece, ...Piece[]]): Condition {
  const ids = [first.applicationId, ...others.map(({ applicationId }) => applicationId)] as const;
  const hosts = filled(first.hosts ?? []);
  return all([
    ids.length === 1 ? equals('appId', ids[0]) : isIn('appId', ids),
    ...(hosts === undefined ? [] : [isIn('host', hosts)]),
    ...(terms[0]?.unscoped === true ? [isNull('scope')] : []),
    termCondition(terms),
  ]);
}

function termCondition(terms: readonly Term[]): Condition {
  const names = filled(terms.flatMap(({ text, like }) => (like ? [] : [text])));
  const patterns = terms.flatMap(({ text, like }) => (like ? [isLike('metricTimesliceName', text)] : []));
  const conditions = filled([...(names === undefined ? [] : [isIn('metricTimesliceName', names)]), ...patterns]);
  if (conditions === undefined) throw new RangeError('a query needs a metric');
  return any(conditions);
}

/** Subjects share their lists of terms, so what is found out of a list is kept with it. */
const scopes = new WeakMap<readonly Term[], readonly [scoped: readonly Term[], unscoped: readonly Term[]]>();
const keys = new WeakMap<readonly Term[], string>();

/** The terms of a piece that ask for a scope of none, or the others. */
export function termsOf({ terms }: Piece, unscoped: boolean): readonly Term[] {
  let both = scopes.get(terms);
  if (both === undefined) {
    both = [terms.filter((term) => !term.unscoped), terms.filter((term) => term.unscoped)];
    scopes.set(terms, both);
  }
  return both[unscoped ? 1 : 0];
}

function keyOf(terms: readonly Term[]): string {
  let key = keys.get(terms);
  if (key === undefined) {
    key = JSON.stringify(terms);
    keys.set(terms, key);
  }
  return key;
}

/**
 * Two halves of a part that is too large: of its applications; of the hosts of one; of its metrics, if `byMetric`. Undefined
 * where there is nothing left to divide.
 *
 * @param hostsOf the hosts that are asked for of an application whose piece names none
 */
export function divide(
  part: Part,
  hostsOf: (applicationId: number) => readonly string[] | undefined,
  byMetric: boolean,
): readonly [Part, Part] | undefined {
  const { pieces } = part;
  const [piece] = pieces;
  if (piece === undefined) return undefined;
  if (pieces.length > 1) return halves(pieces, (half) => ({ ...part, pieces: half }));
  const hosts = piece.hosts ?? (part.byHost ? hostsOf(piece.applicationId) : undefined);
  if (hosts !== undefined && hosts.length > 1) {
    return halves(hosts, (half) => ({ ...part, pieces: [{ ...piece, hosts: half }] }));
  }
  if (!byMetric || piece.terms.length < 2) return undefined;
  const limited = hosts === undefined ? piece : { ...piece, hosts };
  return halves(piece.terms, (half) => ({ ...part, pieces: [{ ...limited, terms: half }] }));
}

function halves<T>(list: readonly T[], make: (half: readonly T[]) => Part): readonly [Part, Part] {
  const middle = Math.ceil(list.length / 2);
  return [make(list.slice(0, middle)), make(list.slice(middle))];
}
