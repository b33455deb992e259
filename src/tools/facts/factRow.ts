/** The judges of the results of single queries, by the names that rows use. */
export type JudgeName =
  | 'accepted'
  | 'refused as our mistake'
  | 'refused as forbidden'
  | 'LIMIT MAX'
  | 'otherResult'
  | 'order'
  | 'facets'
  | 'no row of an unknown name'
  | 'data'
  | 'no data'
  | 'window'
  | 'hosts'
  | 'whole minutes'
  | 'percentile'
  | 'fields';

/** A query that decides a fact on its own. */
export interface Query {
  /**
   * The statement. `{app}` is the id of the largest application, `{apps}` the ids of the five largest, `{time}` the time clauses.
   */
  readonly nrql: string;
  readonly judge: JudgeName;
  /** The length of the range in seconds; ten minutes by default. */
  readonly over?: number;
  /** Seconds by which the range ends before the newest complete minute. */
  readonly delay?: number;
  /** For `window`: the most seconds by which New Relic may move the ends of the range, which is off every step. */
  readonly maxShift?: number;
  /** The account to name in place of the configured one. */
  readonly account?: number;
  /** The timeouts to send, in seconds: the query is sent once with each. */
  readonly timeouts?: readonly number[];
  /** For `fields`: each of them should be on at least one event. */
  readonly fields?: readonly string[];
  /** For `fields`: the least number of events that can show a missing field, because few may lack it by chance. */
  readonly minEvents?: number;
}

/** A statement about New Relic that the exporter relies on and no document settles. */
export interface FactRow extends Partial<Query> {
  /** The assumption of the exporter. */
  readonly relies: string;
  /** The source of the assumption: a page, public code, or our inference. */
  readonly source: string;
  /** The method by which an account is checked, where it takes more than one query. */
  readonly checkedBy?: string;
  /** The parts of the exporter that are wrong when the fact differs: families (`*`: any part of a name), or settings. */
  readonly wrong: readonly string[];
  /** Ids of facts that may differ with this one, because their checks rely on it. */
  readonly follows?: readonly string[];
}

/** The facts of one table. Their ids have a prefix of their own, so no id stands in two tables. */
export type FactTable<Id extends string> = { readonly [id in Id]: FactRow };

export const TEN_MINUTES = 600;
