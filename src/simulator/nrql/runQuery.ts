import type { EventSearch, StoredEvent } from '../world/events.ts';
import { findEvents } from '../world/events.ts';
import type { StoredTimeslice } from '../world/timesliceValues.ts';
import type { World } from '../world/world.ts';
import type { Value } from './condition.ts';
import { EVENT_TYPE, meets, NrqlError } from './condition.ts';
import type { NrqlExpression, Input, NrqlQuery } from './parseQuery.ts';
import { KEY_TRANSACTION_ERRORS, METRIC, METRIC_VALUES, parseNrql, TIMESLICE_VALUE } from './parseQuery.ts';
import type { ColumnValue, FacetGroup, Measurement, NrqlRow, NrqlRows, Tally, NrqlRange } from './rowTally.ts';
import { Groups, timeRange } from './rowTally.ts';
import type { SelectedSeries, Series, SeriesAttributes } from './timesliceRecords.ts';
import { keyTransactionSeries, timesliceSeries } from './timesliceRecords.ts';

/** What NRQL answers from. */
export interface NrqlContext {
  readonly world: World;
  readonly guidOf: EventSearch['guidOf'];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Long ranges of metrics are answered for whole steps of 5 or 10 minutes. */
  readonly snaps: boolean;
  /** How many of so many facets are shown, where the LIMIT allows more. */
  readonly truncate: (facets: number) => number;
}

export interface NrqlResult extends NrqlRows {
  /** Undefined without FACET. */
  readonly facets: readonly string[] | undefined;
  /** The range that was answered. */
  readonly since: number;
  readonly until: number;
}

const DEFAULT_FACETS = 10;
const MOST_FACETS = 5000;
/** A longer query is too big: nobody knows the service's own figure. */
const MOST_CHARACTERS = 10_000;
/** An answer of more rows (facets times buckets) is too big. */
const MOST_ROWS = 50_000;
const TOO_BIG =
  'that query is a little too big. If using TIMESERIES, try fewer buckets and if faceting, reduce the LIMIT';

/** Answers an NRQL query from the world. Throws an NrqlError. */
export function runNrql(text: string, context: NrqlContext): NrqlResult {
  if (text.length > MOST_CHARACTERS) throw new NrqlError(TOO_BIG);
  const query = parseNrql(text);
  const range = timeRange(query, context.now, context.snaps && isOfMetrics(query));
  const rows = run(query, range, context);
  const facets = query.facets.length === 0 ? undefined : query.facets.map(({ key }) => key);
  return { ...rows, facets, since: range.since, until: range.until };
}

function isOfMetrics({ from }: NrqlQuery): boolean {
  return 'select' in from ? isOfMetrics(from) : from.includes(METRIC);
}

function run(query: NrqlQuery, range: NrqlRange, context: NrqlContext): NrqlRows {
  const groups = new Groups(query, range);
  if ('select' in query.from) {
    // What is read of the inner query are its rows, of the whole range.
    const [{ begin }] = range.buckets;
    const innerRange = timeRange({ since: begin, until: range.until, bucketMinutes: undefined }, 0, false);
    const inner = run(query.from, innerRange, { ...context, truncate: (facets) => facets });
    const add = adderOf(query, range, groups);
    for (const row of inner.results) add(eventOf(row, query.from, begin));
  } else if (query.from.includes(METRIC)) {
    for (const selection of selections(query, context)) collectMetrics(context, query, range, groups, selection);
  } else {
    for (const type of query.from) collectEvents(type, query, range, groups, context);
  }
  const ranked = groups.ranked();
  const most = Math.min(query.limit ?? DEFAULT_FACETS, MOST_FACETS, context.truncate(ranked.length));
  const shown = ranked.slice(0, most);
  if (shown.length * range.buckets.length > MOST_ROWS) throw new NrqlError(TOO_BIG);
  return groups.rows(shown);
}

/** A row of an inner query as something that the outer one reads. */
function eventOf(row: NrqlRow, { facets, select }: NrqlQuery, timestamp: number): StoredEvent {
  const facet = [row['facet'] ?? []].flat() as readonly string[];
  const isPlain = (answer: ColumnValue | undefined): answer is Value =>
    answer !== undefined && typeof answer !== 'object';
  const columns = select.flatMap(({ key }) => (isPlain(row[key]) ? [[key, row[key]] as const] : []));
  const values = facets.map(({ key }, index) => [key, facet[index] ?? ''] as const);
  return { ...Object.fromEntries([...values, ...columns]), timestamp };
}

/** The input of the first function: only what has its attribute chooses facets. */
function firstInput({ select: [{ of }], inputs }: NrqlQuery): Input | undefined {
  const calls = (one: NrqlExpression): readonly number[] => {
    if (one.kind === 'call') return [one.input];
    if (one.kind === 'number') return [];
    return one.kind === 'rate' ? calls(one.of) : [...calls(one.left), ...calls(one.right)];
  };
  return inputs[calls(of)[0] ?? 0];
}

/** Adds events of one type to the groups of a query. */
function adderOf(query: NrqlQuery, range: NrqlRange, groups: Groups, type?: string): (event: StoredEvent) => void {
  const first = firstInput(query)?.attribute;
  return (event) => {
    const valueOf = (attribute: string): Value | null => (attribute === EVENT_TYPE ? type : event[attribute]) ?? null;
    if (query.where !== undefined && meets(query.where, valueOf) !== true) return;
    const facet = query.facets.map(({ attribute }) => valueOf(attribute));
    if (facet.includes(null)) return;
    const group = groups.group(facet.map(String));
    group.isChosen ||= first === undefined || valueOf(first) !== null;
    const tallies = groups.tallies(group, range.bucketOf(event.timestamp));
    query.inputs.forEach((input, index) => {
      const value = input.attribute === undefined ? true : valueOf(input.attribute);
      if (value === null || (input.where !== undefined && meets(input.where, valueOf) !== true)) return;
      tallies[index]?.addValue(value, event.timestamp, input);
    });
  };
}

function collectEvents(type: string, query: NrqlQuery, range: NrqlRange, groups: Groups, context: NrqlContext): void {
  const { world, guidOf, now } = context;
  const { where } = query;
  findEvents(type, {
    world,
    guidOf,
    since: range.buckets[0].begin,
    // Data exist for minutes that are over.
    until: Math.min(range.until, now - (now % 60_000)),
    mayMatch: (attributes) =>
      where === undefined ||
      meets(where, (attribute) => (attribute === EVENT_TYPE ? type : attributes[attribute])) !== false,
    visit: adderOf(query, range, groups, type),
  });
}

function selections({ inputs, where }: NrqlQuery, { world, guidOf }: NrqlContext): Iterable<SelectedSeries> {
  const text = inputs.map(({ attribute }) => attribute);
  const isTimeslice = !text.some(
    (attribute) => attribute !== TIMESLICE_VALUE && METRIC_VALUES.includes(attribute ?? ''),
  );
  return isTimeslice ? timesliceSeries(world, guidOf, where) : keyTransactionSeries(world, guidOf, where);
}

const MINUTE = 60_000;
const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;
const HOURLY_AFTER_MINUTES = 8 * DAY_MINUTES;
const RETENTION_MINUTES = 93 * DAY_MINUTES;

/** A series with the group that its records go to, and how each input is read from one. */
interface RoutedSeries {
  readonly record: Series['record'];
  readonly group: FacetGroup;
  readonly readers: readonly (((record: StoredTimeslice, tally: Tally, input: Input) => void) | undefined)[];
  readonly choosesFacet: boolean;
}

/**
 * Adds the records of a selection to their groups. Records of a minute bear its beginning as their time; a range that
 * begins more than eight days ago finds only the records of whole hours, which bear the beginning of the hour. A series of
 * which only the existence counts ends with its first record.
 */
function collectMetrics(
  { world, now }: NrqlContext,
  query: NrqlQuery,
  range: NrqlRange,
  groups: Groups,
  { scope, seriesOf }: SelectedSeries,
): void {
  const existenceIsEnough =
    range.buckets.length === 1 && query.select.every(({ of }) => of.kind === 'call' && of.name === 'uniques');
  const pending = new Map<readonly Series[], readonly RoutedSeries[]>();
  for (const list of new Set(scope.instances.map(seriesOf))) {
    const routed = list.flatMap((series) => routeOf(series, query, groups) ?? []);
    if (routed.length > 0) pending.set(list, routed);
  }
  if (pending.size === 0) return;
  const [{ begin }] = range.buckets;
  const complete = Math.floor(now / MINUTE);
  const unit = begin < now - HOURLY_AFTER_MINUTES * MINUTE ? HOUR_MINUTES : 1;
  const fromMinute = Math.max(Math.ceil(begin / MINUTE / unit) * unit, complete - RETENTION_MINUTES);
  const toMinute = Math.min(Math.ceil(range.until / MINUTE / unit) * unit, complete);
  world.eachMinute(scope, fromMinute, toMinute, (done, instance, minute) => {
    const list = seriesOf(instance);
    const routed = pending.get(list) ?? [];
    const bucket = range.bucketOf((minute - (minute % unit)) * MINUTE);
    const found = new Set<RoutedSeries>();
    for (const one of routed) {
      const record = one.record(done);
      if (record === undefined) continue;
      one.group.isChosen ||= one.choosesFacet;
      const tallies = groups.tallies(one.group, bucket);
      one.readers.forEach((read, index) => {
        const [tally, input] = [tallies[index], query.inputs[index]];
        if (tally !== undefined && input !== undefined) read?.(record, tally, input);
      });
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

/** The way of a series' records; undefined when it lacks an attribute of the FACET, or says nothing that is asked. */
function routeOf({ attributes, record }: Series, query: NrqlQuery, groups: Groups): RoutedSeries | undefined {
  const facet = query.facets.map(({ attribute }) => attributes[attribute]);
  if (!facet.every((value) => typeof value === 'string')) return undefined;
  const readers = query.inputs.map((input) => readerOf(input, attributes));
  if (readers.every((reader) => reader === undefined)) return undefined;
  const first = firstInput(query);
  const choosesFacet = first !== undefined && readers[query.inputs.indexOf(first)] !== undefined;
  return { record, group: groups.group(facet), readers, choosesFacet };
}

const whole = ({ count, total, min, max }: StoredTimeslice): Measurement => ({ count, sum: total, min, max });
const single = (value: number): Measurement => ({ count: 1, sum: value, min: value, max: value });
const counted = ({ count }: StoredTimeslice): Measurement => ({ count, sum: count, min: count, max: count });

/** How records with these attributes are read for an input; undefined when they have nothing to say about it. */
function readerOf({ attribute = '', field }: Input, attributes: SeriesAttributes): RoutedSeries['readers'][number] {
  const value = attributes[attribute];
  if (typeof value !== 'string') return undefined;
  if (!METRIC_VALUES.includes(attribute)) return (_, tally, input) => tally.addValue(value, 0, input);
  if (field !== undefined) return (record, tally) => tally.add(single(record[field]));
  const reading = attribute === KEY_TRANSACTION_ERRORS ? counted : whole;
  return (record, tally) => tally.add(reading(record));
}
