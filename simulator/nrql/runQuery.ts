import type { StoredEvent } from '../world/accountEvents.ts';
import { findEvents } from '../world/events.ts';
import type { World } from '../world/world.ts';
import { MINUTE } from '../world/worldEntities.ts';
import { EVENT_TYPE, NrqlError, type Value } from './condition.ts';
import { collectMetrics } from './metricRecords.ts';
import { readsResources, METRIC, type NrqlQuery, parseNrql } from './parseQuery.ts';
import { Groups, type NrqlRow, timeRange } from './rowTally.ts';

/** The data and settings of a query. */
interface NrqlContext {
  readonly world: World;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Moves long ranges of metrics to whole steps of 5 or 10 minutes. */
  readonly snaps: boolean;
  /** Returns the most facets to show, besides LIMIT, by the number of facets. A fault can lower it. */
  readonly truncate: (facets: number) => number;
}

const HOUR = 60 * MINUTE;
const DEFAULT_FACETS = 10;
const MAX_FACETS = 5000;
const MAX_CHARACTERS = 10_000;
/** New Relic refuses a result with more rows (facets times buckets). */
const MAX_ROWS = 50_000;
const TOO_BIG =
  'that query is a little too big. If using TIMESERIES, try fewer buckets and if faceting, reduce the LIMIT';

/** New Relic's message beside each result of count(*) over metrics. */
const COUNTS_OF_METRICS =
  'count(*) of Metric data now adds up the count of each metric. Use datapointCount() for the number of data points.';

/**
 * Runs an NRQL query. Returns the rows, the facets (undefined without FACET), the range of the rows, and New Relic's
 * messages. Throws an NrqlError.
 */
export function runNrql(text: string, context: NrqlContext) {
  const { now, snaps } = context;
  if (text.length > MAX_CHARACTERS) throw new NrqlError(TOO_BIG);
  const query = parseNrql(text);
  const range = timeRange(query, now, (length) => (snaps && readsMetrics(query) ? stepOf(length) : 1));
  for (const { query: inner, values } of query.subqueries) {
    const [since, until] = [inner.since ?? range.since, inner.until ?? range.until];
    const times = { since: since < 0 ? now + since : since, until: until < 0 ? now + until : until };
    const found = run(
      inner,
      timeRange(times, now, () => 1),
      context,
    ).results;
    const [column] = inner.select;
    const all = found.flatMap((row) => (column === undefined ? [] : [row[column.key] ?? []].flat()));
    for (const value of all) if (typeof value === 'string' || typeof value === 'number') values.add(String(value));
  }
  const rows = run(query, range, context);
  const facets = query.facets.length === 0 ? undefined : query.facets.map(({ key }) => key);
  return {
    ...rows,
    facets,
    messages: countsMetrics(query) ? [COUNTS_OF_METRICS] : [],
    since: range.since,
    until: range.until,
  };
}

/** Returns the step, in milliseconds, for both ends of a range of metrics with this length. */
function stepOf(length: number): number {
  if (length >= 24 * HOUR) return 10 * MINUTE;
  return length >= HOUR ? 5 * MINUTE : 1;
}

function readsMetrics({ from }: NrqlQuery): boolean {
  return 'select' in from ? readsMetrics(from) : from.includes(METRIC);
}

function countsMetrics({ from, inputs }: NrqlQuery): boolean {
  if ('select' in from) return countsMetrics(from);
  return from.includes(METRIC) && inputs.some(({ attribute, field }) => attribute === undefined && field === 'count');
}

function run(query: NrqlQuery, range: ReturnType<typeof timeRange>, context: NrqlContext): ReturnType<Groups['rows']> {
  const groups = new Groups(query, range);
  if ('select' in query.from) {
    // The outer query reads the rows of the inner one over the whole range.
    const innerRange = timeRange({ since: range.begin, until: range.until }, 0, () => 1);
    const inner = run(query.from, innerRange, { ...context, truncate: (facets) => facets });
    for (const row of inner.results) addEvent(createEvent(row, query.from, range.begin), undefined, groups);
  } else if (query.from.includes(METRIC) && !readsResources(query.inputs)) {
    collectMetrics(groups, context);
  } else {
    for (const type of query.from) collectEvents(type, groups, context);
  }
  const ranked = groups.ranked();
  const most = Math.min(query.limit ?? DEFAULT_FACETS, MAX_FACETS, context.truncate(ranked.length));
  if (Math.min(most, ranked.length) * range.buckets.length > MAX_ROWS) throw new NrqlError(TOO_BIG);
  return groups.rows(ranked.slice(0, most));
}

/** Creates an event for the outer query from a row of the inner query. */
function createEvent(row: NrqlRow, { facets, select }: NrqlQuery, timestamp: number): StoredEvent {
  const found = row['facet'] ?? null;
  const facet = facets.length > 1 && Array.isArray(found) ? (found as readonly Value[]) : [found as Value];
  const columns = select.flatMap(({ key }) => {
    const value = row[key] ?? null;
    return typeof value !== 'object' || Array.isArray(value) ? [[key, value as Value] as const] : [];
  });
  const values = facets.map(({ key }, index) => [key, facet[index] ?? ''] as const);
  return { ...Object.fromEntries([...values, ...columns]), timestamp };
}

/** Adds an event to the groups of a query. */
function addEvent(event: StoredEvent, type: string | undefined, groups: Groups): void {
  const { where, facets, inputs } = groups.query;
  const valueOf = (attribute: string): Value | null => (attribute === EVENT_TYPE ? type : event[attribute]) ?? null;
  if (where.meets(valueOf) !== true) return;
  const facet = facets.map((each) => each.valueOf(valueOf));
  if (facet.includes(null)) return;
  const group = groups.group(
    facet.map((value) => (Array.isArray(value) ? (value as readonly string[]) : String(value))),
  );
  const [first] = inputs;
  group.isChosen ||= first?.attribute === undefined || valueOf(first.attribute) !== null;
  group.records += 1;
  const tallies = groups.tallies(group, groups.range.bucketOf(event.timestamp));
  for (const [index, input] of inputs.entries()) {
    const value = input.attribute === undefined ? true : valueOf(input.attribute);
    if (value !== null && input.where.meets(valueOf) === true) tallies[index]?.addValue(value, event.timestamp, input);
  }
}

function collectEvents(type: string, groups: Groups, { world, now }: NrqlContext): void {
  const { query, range } = groups;
  const found = findEvents(type, {
    world,
    now,
    since: range.begin,
    // Only minutes that have ended have data.
    until: Math.min(range.until, now - (now % MINUTE)),
    mayMatch: (attributes) =>
      query.where.meets((attribute) => (attribute === EVENT_TYPE ? type : attributes[attribute])) !== false,
  });
  for (const event of found) addEvent(event, type, groups);
}
