import type { Application, KeyTransaction, UpstreamError } from '../../api/types.ts';
import type { Outcome, TimeRange } from '../../api/upstreamReader.ts';
import type { GraphConnection, RestConnection } from './connections.ts';
import type { Judged } from './evidence.ts';
import type { FactId } from './facts.ts';

/** What an account said of some facts. */
export type Verdicts = Partial<Record<FactId, Judged>>;

/** An account that is asked: its connections, and what its lists hold of it. */
export interface Asked {
  /** The reporting applications that are asked for values, largest first. */
  readonly largest: readonly Application[];
  /** Unix seconds, a whole minute: the newest that data are complete for. */
  readonly to: number;
  /** Unix seconds, the begin of the current minute. */
  readonly minute: number;
}

/** An account over REST. */
export interface AskedRest extends Asked {
  readonly rest: RestConnection;
  /** As REST lists them; where the other interface lists the account, the largest ones. */
  readonly listed: readonly Application[];
  readonly keyTransactions: readonly KeyTransaction[];
}

/** An account over NerdGraph. */
export interface AskedGraph extends Asked {
  readonly graph: GraphConnection;
  readonly accountId: number;
  readonly listed: readonly Application[];
}

/** Facts that are asked together, because one call decides several. */
export interface Probe<A> {
  readonly ids: readonly FactId[];
  /** A fact without which these cannot be asked. */
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

/** What a read gave; undefined where it failed. */
export function valueOf<V>(outcome: Outcome<V> | undefined): V | undefined {
  return outcome !== undefined && 'value' in outcome ? outcome.value : undefined;
}

export function errorOf<V>(outcome: Outcome<V> | undefined): UpstreamError | undefined {
  return outcome !== undefined && 'error' in outcome ? outcome.error : undefined;
}

/** A number at a key of a row; 0 where it has none. */
export function numberAt(row: unknown, key: string): number {
  const value = typeof row === 'object' && row !== null ? (row as Record<string, unknown>)[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
