import type { World } from '../world/world.ts';
import { NrqlSyntaxError, QueryTooBigError } from './condition.ts';
import { type Route, Groups, datasetOf, type Rows, toRows, type TimeRange, timeRange } from './rowTally.ts';
import { parseNrql, type Attribute, type NrqlQuery } from './parseQuery.ts';
import { type Guids, type Selection, type Series, keyTransactionSeries, timesliceSeries } from './timesliceRecords.ts';

/** What the service allows. */
export interface NrqlLimits {
  /** Characters of a query. */
  readonly characters: number;
  /** Rows of an answer: facets times buckets. */
  readonly rows: number;
}

/** What NRQL answers from. */
interface NrqlContext {
  readonly world: World;
  readonly guids: Guids;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly limits: NrqlLimits;
  /** How many of so many facets are shown; without it, as many as the LIMIT allows. */
  readonly truncate?: ((facets: number) => number) | undefined;
}

export interface NrqlResult extends Rows {
  /** Undefined without FACET. */
  readonly facets: readonly Attribute[] | undefined;
  readonly since: number;
  readonly until: number;
}

const DEFAULT_RANGE = 60 * 60_000;
const DEFAULT_FACETS = 10;
const MOST_FACETS = 5000;
const MOST_BUCKETS = 366;

/** Answers an NRQL query from the world. Throws an NrqlSyntaxError or a QueryTooBigError. */
export function runNrql(text: string, context: NrqlContext): NrqlResult {
  if (text.length > context.limits.characters) throw new QueryTooBigError();
  const query = parseNrql(text);
  const range = rangeOf(query, context.now);
  const groups = new Groups(query);
  for (const selection of selections(query, context)) collect(context.world, query, range, groups, selection);
  const [first] = query.select;
  const ranked = first === undefined ? [] : groups.ranked(first);
  const limit = Math.min(query.limit ?? DEFAULT_FACETS, MOST_FACETS, context.truncate?.(ranked.length) ?? Infinity);
  const shown = ranked.slice(0, limit);
  if (shown.length * range.buckets.length > context.limits.rows) throw new QueryTooBigError();
  return {
    ...toRows(query, range, groups, shown),
    facets: query.facets.length === 0 ? undefined : query.facets,
    since: range.since,
    until: range.until,
  };
}

function rangeOf(query: NrqlQuery, now: number): TimeRange {
  const until = query.until ?? now;
  const since = query.since ?? until - DEFAULT_RANGE;
  if (since >= until) throw new NrqlSyntaxError('SINCE must be before UNTIL');
  const buckets = query.bucketMinutes === undefined ? 1 : Math.ceil((until - since) / (query.bucketMinutes * 60_000));
  if (buckets > MOST_BUCKETS)
    throw new NrqlSyntaxError(`TIMESERIES has at most ${MOST_BUCKETS} buckets, not ${buckets}`);
  return timeRange(since, until, query.bucketMinutes, now);
}

function selections(query: NrqlQuery, { world, guids }: NrqlContext): Iterable<Selection> {
  switch (datasetOf(query)) {
    case 'timeslices':
      return timesliceSeries(world, guids, query.where);
    case 'key transactions':
      return keyTransactionSeries(world, guids, query.where);
    case 'mixed':
      throw new NrqlSyntaxError('metric timeslice data cannot be queried together with other metrics');
  }
}

interface RoutedSeries {
  readonly record: Series['record'];
  readonly route: Route;
}

/** Adds the records of a selection to their groups. A series of which only the existence counts ends with its first record. */
function collect(
  world: World,
  query: NrqlQuery,
  range: TimeRange,
  groups: Groups,
  { scope, seriesOf }: Selection,
): void {
  const existenceIsEnough = range.buckets.length === 1 && query.select.every(({ name }) => name === 'uniques');
  const pending = new Map<readonly Series[], readonly RoutedSeries[]>();
  for (const list of new Set(scope.instances.map(seriesOf))) {
    const routed = list.flatMap((series) => {
      const route = groups.route(series);
      return route === undefined ? [] : [{ record: series.record, route }];
    });
    if (routed.length > 0) pending.set(list, routed);
  }
  if (pending.size === 0) return;
  world.eachMinute(scope, range.fromMinute, range.toMinute, (done, instance, minute) => {
    const list = seriesOf(instance);
    const routed = pending.get(list) ?? [];
    const bucket = range.bucketOf(minute);
    const found = new Set<RoutedSeries>();
    for (const one of routed) {
      const record = one.record(done);
      if (record === undefined) continue;
      groups.add(one.route, bucket, record);
      if (existenceIsEnough) found.add(one);
    }
    if (found.size === routed.length && existenceIsEnough) pending.delete(list);
    else if (found.size > 0)
      pending.set(
        list,
        routed.filter((one) => !found.has(one)),
      );
    return pending.size === 0 ? 'enough' : undefined;
  });
}
