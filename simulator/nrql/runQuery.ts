import type { StoredEvent } from '../world/accountEvents.ts';
import { findEvents } from '../world/events.ts';
import type { World } from '../world/world.ts';
import { MINUTE } from '../world/worldEntities.ts';
import { EVENT_TYPE, NrqlError, type Value } from './condition.ts';
import { collectMetrics } from './metricRecords.ts';
import { isOfResources, METRIC, type NrqlQuery, parseNrql } from './parseQuery.ts';
import { Groups, type NrqlRow, timeRange } from './rowTally.ts';

/** The data and settings of a query. */
interface NrqlContext {
  readonly world: World;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Long ranges of metrics are moved to whole steps of 5 or 10 minutes. */
  readonly snaps: boolean;
  /** The most facets to show of a given number, besides the LIMIT: a fault can lower it. */
  readonly truncate: (facets: number) => number;
}

const HOUR = 60 * MINUTE;
const DEFAULT_FACETS = 10;
const MAX_FACETS = 5000;
const MAX_CHARACTERS = 10_000;
/** A result of more rows (facets times buckets) is too big. */
const MAX_ROWS = 50_000;
const TOO_BIG =
  'that query is a little too big. If using TIMESERIES, try fewer buckets and if faceting, reduce the LIMIT';

/** What New Relic says beside each result of count(*) of metrics, since it adds up their own counts. */
const COUNTS_OF_METRICS =
  'count(*) of Metric data now adds up the count of each metric. Use datapointCount() for the number of data points.';

/**
 * The result of an NRQL query: the rows, the facets (undefined without FACET), the range of the rows, and New Relic's messages.
 * Throws an NrqlError.
 */
export function runNrql(text: string, context: NrqlContext) {
  const { now, snaps } = context;
  if (text.length > MAX_CHARACTERS) throw new NrqlError(TOO_BIG);
  const query = parseNrql(text);
  const range = timeRange(query, now, (length) => (snaps && isOfMetrics(query) ? stepOf(length) : 1));
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
    messages: countsAllOfMetrics(query) ? [COUNTS_OF_METRICS] : [],
    since: range.since,
    until: range.until,
  };
}

/** The step, in milliseconds, to whose multiples both ends of a long range of metrics are moved, by its length. */
function stepOf(length: number): number {
  if (length >= 24 * HOUR) return 10 * MINUTE;
  return length >= HOUR ? 5 * MINUTE : 1;
}

function isOfMetrics({ from }: NrqlQuery): boolean {
  return 'select' in from ? isOfMetrics(from) : from.includes(METRIC);
}

function countsAllOfMetrics({ from, inputs }: NrqlQuery): boolean {
  if ('select' in from) return countsAllOfMetrics(from);
  return from.includes(METRIC) && inputs.some(({ attribute, field }) => attribute === undefined && field === 'count');
}

function run(query: NrqlQuery, range: ReturnType<typeof timeRange>, context: NrqlContext): ReturnType<Groups['rows']> {
  const groups = new Groups(query, range);
  if ('select' in query.from) {
    // The outer query reads the rows of the inner one over the whole range.
    const innerRange = timeRange({ since: range.begin, until: range.until }, 0, () => 1);
    const inner = run(query.from, innerRange, { ...context, truncate: (facets) => facets });
    for (const row of inner.results) addEvent(eventOf(row, query.from, range.begin), undefined, groups);
  } else if (query.from.includes(METRIC) && !isOfResources(query.inputs)) {
    collectMetrics(groups, context);
  } else {
    for (const type of query.from) collectEvents(type, groups, context);
  }
  const ranked = groups.ranked();
  const most = Math.min(query.limit ?? DEFAULT_FACETS, MAX_FACETS, context.truncate(ranked.length));
  if (Math.min(most, ranked.length) * range.buckets.length > MAX_ROWS) throw new NrqlError(TOO_BIG);
  return groups.rows(ranked.slice(0, most));
}

/** A row of an inner query as an event for the outer query. */
function eventOf(row: NrqlRow, { facets, select }: NrqlQuery, timestamp: number): StoredEvent {
  const given = row['facet'] ?? null;
  const facet = facets.length > 1 && Array.isArray(given) ? (given as readonly Value[]) : [given as Value];
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
