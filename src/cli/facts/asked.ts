import type { Application, KeyTransaction, UpstreamError } from '../../api/types.ts';
import type { Outcome, TimeRange } from '../../api/upstreamReader.ts';
import type { GraphConnection, RestConnection } from './connections.ts';
import type { Judged } from './evidence.ts';
import type { FactId } from './facts.ts';

/** The verdicts of an account on some facts. */
export type Verdicts = Partial<Record<FactId, Judged>>;

/** The account under check: its connections, and the contents of its lists. */
export interface Asked {
  /** The reporting applications whose values are read, largest first. */
  readonly largest: readonly Application[];
  /** The newest minute with complete data, in Unix seconds. */
  readonly to: number;
  /** The start of the current minute, in Unix seconds. */
  readonly minute: number;
}

/** An account over REST. */
export interface AskedRest extends Asked {
  readonly rest: RestConnection;
  /** The applications of the REST list; only the largest ones when the account uses NerdGraph. */
  readonly listed: readonly Application[];
  readonly keyTransactions: readonly KeyTransaction[];
}

/** An account over NerdGraph. */
export interface AskedGraph extends Asked {
  readonly graph: GraphConnection;
  readonly accountId: number;
  readonly listed: readonly Application[];
}

/** Facts that are checked together, because one call decides several. */
export interface Probe<A> {
  readonly ids: readonly FactId[];
  /** The fact that these depend on. */
  readonly needs?: FactId;
  /** Rejects with an UpstreamError, or with CallsSpent. */
  readonly ask: (asked: A) => Promise<Verdicts>;
}

export const TEN_MINUTES = 600;
export const HOUR = 3_600;
export const DAY = 86_400;

export function before(to: number, seconds: number): TimeRange {
  return { from: to - seconds, to };
}

/** The value of an outcome; undefined where the read failed. */
export function valueOf<V>(outcome: Outcome<V> | undefined): V | undefined {
  return outcome !== undefined && 'value' in outcome ? outcome.value : undefined;
}

export function errorOf<V>(outcome: Outcome<V> | undefined): UpstreamError | undefined {
  return outcome !== undefined && 'error' in outcome ? outcome.error : undefined;
}

/** The number at a key of a row; 0 without one. */
export function numberAt(row: unknown, key: string): number {
  const value = typeof row === 'object' && row !== null ? (row as Record<string, unknown>)[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
