import { MINUTE } from '../world/worldEntities.ts';
import { NrqlError } from './condition.ts';
import { type ColumnValue, type FacetValue, Tally } from './nrqlFunctions.ts';
import type { NrqlQuery } from './parseQuery.ts';

const HOUR = 60 * MINUTE;
const MAX_BUCKETS = 366;
const FROM_NRDB = "External Service 'NRDB' execution resulted in 400 - cause: ";

/**
 * Returns the range of a query in milliseconds since 1970, and its buckets. Without SINCE the range is an hour long,
 * without UNTIL it ends now. Moves both ends back to multiples of `stepOf(length)`. Buckets have equal length;
 * there is one without TIMESERIES.
 * The last bucket ends with the range, so the first may begin before the range. Throws an NrqlError for a range that
 * New Relic refuses.
 */
export function timeRange(
  { since: from, until: to, bucketMinutes }: Pick<NrqlQuery, 'since' | 'until' | 'bucketMinutes'>,
  now: number,
  stepOf: (length: number) => number,
) {
  const requested = { since: from ?? (to ?? now) - HOUR, until: to ?? now };
  const length = requested.until - requested.since;
  if (length <= 0) throw new NrqlError(`${FROM_NRDB}Your query's start time must be before its end time.`);
  const step = stepOf(length);
  const since = requested.since - (requested.since % step);
  const until = requested.until - (requested.until % step);
  const bucket = bucketMinutes === undefined ? until - since : bucketMinutes * MINUTE;
  if (bucket > until - since)
    throw new NrqlError(`${FROM_NRDB}TIMESERIES step size is larger than the current time window.`);
  const count = Math.ceil((until - since) / bucket);
  if (count > MAX_BUCKETS) throw new NrqlError(`TIMESERIES supports a maximum of ${MAX_BUCKETS} buckets`);
  const begin = until - count * bucket;
  return {
    since,
    until,
    begin,
    buckets: Array.from({ length: count }, (_, index) => ({
      begin: begin + index * bucket,
      end: begin + (index + 1) * bucket,
    })),
    bucketOf: (time: number) => count - 1 - Math.floor((until - 1 - time) / bucket),
  };
}

/** Functions that rank the facets if they come first in SELECT. */
const CHOOSING: ReadonlySet<string> = new Set(['min', 'max', 'percentile', 'average', 'count']);

/** The records that share the values of the FACET attributes. */
interface FacetGroup {
  readonly facet: readonly FacetValue[];
  /** By bucket, a tally for each input of the query; undefined for empty buckets. */
  readonly buckets: (readonly Tally[] | undefined)[];
  /** True if a record has the attribute of the first function. The result omits other groups. */
  isChosen: boolean;
  /** The number of records. */
  records: number;
}

/** One row of a result. */
export type NrqlRow = Readonly<Record<string, ColumnValue>>;

/** Groups the records of a query by facet, and makes rows from the groups. */
export class Groups {
  readonly query: NrqlQuery;
  readonly range: ReturnType<typeof timeRange>;
  readonly #groups = new Map<string, FacetGroup>();

  constructor(query: NrqlQuery, range: ReturnType<typeof timeRange>) {
    this.query = query;
    this.range = range;
  }

  group(facet: readonly FacetValue[]): FacetGroup {
    const key = JSON.stringify(facet);
    const group = this.#groups.get(key) ?? { facet, buckets: [], isChosen: false, records: 0 };
    this.#groups.set(key, group);
    return group;
  }

  /** Returns the tallies of a group for a bucket. */
  tallies(group: FacetGroup, bucket: number): readonly Tally[] {
    return (group.buckets[bucket] ??= this.query.inputs.map(() => new Tally()));
  }

  /** Lists the groups that the result may have, in the order in which LIMIT prefers them. */
  ranked(): readonly FacetGroup[] {
    const chosen = [...this.#groups.values()].filter(({ isChosen }) => isChosen);
    return this.#sorted(chosen, this.query.orderBy ?? this.#sorting());
  }

  /** Returns the first function if it ranks facets. Undefined: the number of records sorts the rows. */
  #sorting(): NrqlQuery['orderBy'] {
    const { select, functions } = this.query;
    return CHOOSING.has(functions[0] ?? '') ? select[0]?.evaluate : undefined;
  }

  /** Sorts groups by an expression, or by number of records, the highest first. */
  #sorted(groups: readonly FacetGroup[], by: NrqlQuery['orderBy']): readonly FacetGroup[] {
    return groups
      .map((group) => ({ group, rank: by === undefined ? group.records : rankBy(by(this.#merge(group.buckets), 1)) }))
      .sort((a, b) => b.rank - a.rank || (a.group.facet.join() < b.group.facet.join() ? -1 : 1))
      .map(({ group }) => group);
  }

  /** Returns the rows of the shown groups, the sum of the other groups, and the sum of all. Ignores ORDER BY. */
  rows(shown: readonly FacetGroup[]) {
    const all = [...this.#groups.values()];
    if (this.query.facets.length === 0) return { results: this.#rowsOf(all), otherResult: null, totalResult: null };
    const isShown = new Set(shown);
    const summary = (part: readonly FacetGroup[]): NrqlRow | readonly NrqlRow[] => {
      const rows = this.#rowsOf(part);
      return this.query.bucketMinutes === undefined ? (rows[0] ?? {}) : rows;
    };
    return {
      results: this.#sorted(shown, this.#sorting()).flatMap((group) =>
        this.#rowsOf([group], this.#facetMembers(group)),
      ),
      otherResult: summary(all.filter((group) => !isShown.has(group))),
      totalResult: summary(all),
    };
  }

  /** Returns a row for each bucket: the columns of these groups together. */
  #rowsOf(groups: readonly FacetGroup[], facet: NrqlRow = {}): readonly NrqlRow[] {
    const { select, bucketMinutes } = this.query;
    const isSeries = bucketMinutes !== undefined;
    return this.range.buckets.map(({ begin, end }, bucket) => {
      const tallies = this.#merge(groups.map(({ buckets }) => buckets[bucket]));
      const columns = select.map(({ key, evaluate }) => [key, evaluate(tallies, end - begin)] as const);
      return {
        ...facet,
        ...(isSeries ? { beginTimeSeconds: begin / 1000, endTimeSeconds: end / 1000 } : {}),
        // In an empty bucket of a TIMESERIES the columns are 0, not null.
        ...Object.fromEntries(columns.map(([key, result]) => [key, isSeries ? (result ?? 0) : result])),
      };
    });
  }

  /** Returns `facet`: a text for one attribute, a list for several. A member with the joined keys repeats it. */
  #facetMembers({ facet }: FacetGroup): NrqlRow {
    const joined = this.query.facets.map(({ key }) => key).join('');
    const value = facet.length === 1 ? (facet[0] ?? null) : facet;
    return { facet: value, [joined]: value };
  }

  #merge(parts: readonly (readonly Tally[] | undefined)[]): readonly Tally[] {
    if (parts.length === 1 && parts[0] !== undefined) return parts[0];
    const sum = this.query.inputs.map(() => new Tally());
    // The list may have holes, which forEach skips.
    parts.forEach((part) => part?.forEach((tally, index) => sum[index]?.merge(tally)));
    return sum;
  }
}

/** Returns the rank of a row: the number, the first percentile, or the number of values. Other rows rank last. */
function rankBy(result: ColumnValue): number {
  if (typeof result === 'number') return result;
  if (typeof result !== 'object' || result === null) return -Infinity;
  return Array.isArray(result)
    ? result.length
    : (Object.values(result as Record<string, number | null>)[0] ?? -Infinity);
}
