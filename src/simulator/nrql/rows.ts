import type { Group, Groups, Tallies } from './groups.ts';
import type { NrqlQuery } from './query.ts';
import type { Answer } from './tally.ts';
import type { TimeRange } from './timeRange.ts';

/** One row of an answer. */
export type Row = Readonly<Record<string, Answer | string>>;

/** The rows of an answer, and what the facets that are not shown have together. */
export interface Rows {
  readonly results: readonly Row[];
  readonly otherResult: Row | readonly Row[] | null;
  readonly totalResult: Row | readonly Row[] | null;
}

/** Writes the groups of a query as the service does; `shown` are the facets that its limit leaves. */
export function toRows(query: NrqlQuery, range: TimeRange, groups: Groups, shown: readonly Group[]): Rows {
  const isSeries = query.bucketMinutes !== undefined;
  const cells = (tallies: Tallies | undefined): Row => {
    const known = tallies ?? groups.empty();
    return Object.fromEntries(
      query.select.map((selected, index) => {
        const answer = groups.tally(known, index).answer(selected);
        // An empty bucket of a series is zeros, not nulls.
        return [selected.key, answer === null && isSeries ? 0 : answer];
      }),
    );
  };
  const inBuckets = (talliesOf: (bucket: number) => Tallies | undefined, facet: Row = {}): readonly Row[] =>
    range.buckets.map(({ begin, end }, bucket) => ({
      ...facet,
      ...(isSeries ? { beginTimeSeconds: begin / 1000, endTimeSeconds: end / 1000 } : {}),
      ...cells(talliesOf(bucket)),
    }));
  if (query.facets.length === 0) {
    const results = inBuckets((bucket) => groups.together(groups.all(), bucket));
    return { results, otherResult: null, totalResult: null };
  }
  const isShown = new Set(shown);
  const others = groups.all().filter((group) => !isShown.has(group));
  const summary = (part: readonly Group[]): Row | readonly Row[] => {
    const rows = inBuckets((bucket) => groups.together(part, bucket));
    return isSeries ? rows : (rows[0] ?? {});
  };
  return {
    results: shown.flatMap((group) => inBuckets((bucket) => group.buckets[bucket], facetOf(query, group))),
    otherResult: summary(others),
    totalResult: summary(groups.all()),
  };
}

/** One attribute: its value and a member of its name; several: their values in a list, as texts. */
function facetOf({ facets }: NrqlQuery, { facet }: Group): Row {
  const [attribute] = facets;
  const [value] = facet;
  return facets.length === 1 && attribute !== undefined && value !== undefined
    ? { facet: value, [attribute]: value }
    : { facet };
}
