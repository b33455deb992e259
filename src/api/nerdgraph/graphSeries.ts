import type {
  SeriesChunk,
  TimeRange,
  NextCall,
  CallOptions,
  MetricDataAnswer,
  MetricDataSubject,
  MetricSeries,
  Outcome,
  SeriesRead,
} from '../reader.ts';
import { countCalls } from '../batches.ts';
import { nextCell, cellsOf, type Fleet, MOST_ROWS, rowsOf, type Cell, type PlanOptions } from './batching.ts';
import { ITSELF, type Found, mergeRows, type Row } from './rows.ts';
import { groupOf, needsSquares, optionsOf, readByScope, wantedOf } from './dataReads.ts';
import { SIGN_OF_LIFE, ZERO_WITHOUT_ROW, type Terms } from './terms.ts';
import { MOST_BUCKET_ROWS } from './nrqlAnswer.ts';
import type { TimesliceQuery, Timeslices } from './timeslices.ts';
import { answerOf } from './rowValues.ts';
import type { Timeslice } from '../types.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The most buckets that the service gives for one query. */
const MOST_BUCKETS = 366;
/** Whole hours, and whole days, within that. */
const LONGEST_BY_MINUTE = 360 * MINUTE;
const LONGEST_BY_HOUR = 360 * HOUR;
/** How long the service keeps minutes; hours after that. */
const BY_MINUTE_UP_TO = 8 * DAY;
/** A long run gets older while it works. */
const MARGIN = HOUR;

/**
 * The queries that give each sample of the range its window, oldest first: by the minute where the service keeps minutes, by
 * the hour before that. Where the resolution changes, the minutes begin one window early, so that no sample has half a
 * window. Empty when nothing but hours is kept and no whole hour ends in the range.
 *
 * @param window seconds, whole minutes
 * @param now Unix seconds
 */
function planChunks(range: TimeRange, window: number, now: number): SeriesChunk[] {
  const oldestMinute = Math.ceil((now - BY_MINUTE_UP_TO + MARGIN) / MINUTE) * MINUTE;
  if (range.from - window >= oldestMinute) return pieces(range.from - window, range.to, LONGEST_BY_MINUTE, MINUTE);
  const change = Math.ceil((oldestMinute + window) / HOUR) * HOUR;
  const hoursEnd = Math.min(change, Math.floor(range.to / HOUR) * HOUR);
  const lead = window % HOUR === 0 ? window : HOUR;
  const hours = pieces(Math.floor(range.from / HOUR) * HOUR + HOUR - lead, hoursEnd, LONGEST_BY_HOUR, HOUR);
  if (change >= range.to) return hours;
  return [...hours, ...pieces(change - window, range.to, LONGEST_BY_MINUTE, MINUTE)];
}

function pieces(from: number, to: number, longest: number, granule: number): SeriesChunk[] {
  const count = Math.max(0, Math.ceil((to - from) / longest));
  return Array.from({ length: count }, (_, index) => {
    const start = from + index * longest;
    return { from: start, to: Math.min(to, start + longest), readFrom: start, granule };
  });
}

/** Reads metric data minute by minute or hour by hour. Its timeslices hold rows, not yet values of the REST interface. */
export class MetricSeriesRead implements SeriesRead {
  readonly #timeslices: Timeslices;
  readonly #fleet: Fleet;
  readonly #terms: Terms;

  constructor(timeslices: Timeslices, fleet: Fleet, terms: Terms) {
    this.#timeslices = timeslices;
    this.#fleet = fleet;
    this.#terms = terms;
  }

  plan(range: TimeRange, window: number, now: number): readonly SeriesChunk[] {
    return planChunks(range, window, now);
  }

  nextCall(subjects: readonly MetricDataSubject[], chunk: SeriesChunk): NextCall {
    return nextCell(
      subjects,
      this.#fleet,
      (subject) => wantedOf(subject, this.#terms),
      (subject) => limited(optionsOf(subject), Math.min(MOST_BUCKETS, bucketsOf(chunk))),
    );
  }

  callsFor(subjects: readonly MetricDataSubject[], range: SeriesChunk): number {
    return countCalls(this, subjects, range);
  }

  async read(
    subjects: readonly MetricDataSubject[],
    chunk: SeriesChunk,
    call: CallOptions,
  ): Promise<readonly Outcome<MetricSeries>[]> {
    const found = await readByScope(subjects, async (some, options) => {
      const cells = cellsOf(some.map((subject) => wantedOf(subject, this.#terms)));
      const rows = cells.map((cell) => rowsOf({ ...cell, hosts: undefined }, false, this.#fleet));
      const most = Math.floor(MOST_BUCKET_ROWS / (Math.max(...rows) + 1));
      const buckets = Math.max(1, Math.min(MOST_BUCKETS, bucketsOf(chunk), most));
      const query = {
        ...limited(options, buckets),
        group: groupOf(some[0]),
        bucketMinutes: chunk.granule / 60,
        squares: some.some(needsSquares),
      };
      const ranges = rangesOf(chunk, buckets * chunk.granule);
      const [first, ...further] = await Promise.all(
        ranges.map((range) => this.#readRange(cells, { ...query, range }, call)),
      );
      for (const each of further) for (const [id, entity] of each) first?.get(id)?.append(entity);
      return first ?? new Map();
    });
    return subjects.map((subject) => {
      const entity = found(subject);
      const key = subject.hostKey ?? ITSELF;
      const failure = entity?.failureOf(key);
      if (failure !== undefined) return { error: failure };
      const metrics = [...(entity?.rows.get(key) ?? [])];
      return { value: { granule: chunk.granule, metrics: metrics.map(([name, rows]) => [name, toTimeslices(rows)]) } };
    });
  }

  /** Of applications that have too many rows for the range even by metric, each half of the range apart. */
  async #readRange(
    cells: readonly Cell[],
    query: TimesliceQuery & { readonly bucketMinutes: number },
    call: CallOptions,
  ): Promise<ReadonlyMap<number, Found>> {
    const { range, bucketMinutes } = query;
    const found = new Map(await this.#timeslices.read(cells, query, call));
    for (const [id, entity] of found) this.#learn(id, entity);
    const large = cells.filter(({ applicationId }) => found.get(applicationId)?.tooMany === true);
    const seconds = bucketMinutes * 60;
    const buckets = (range.to - range.from) / seconds;
    if (large.length === 0 || buckets < 2) return found;
    const middle = range.from + Math.ceil(buckets / 2) * seconds;
    const earlier = await this.#readRange(large, { ...query, range: { from: range.from, to: middle } }, call);
    const later = await this.#readRange(large, { ...query, range: { from: middle, to: range.to } }, call);
    for (const [id, entity] of earlier) {
      const rest = later.get(id);
      if (rest !== undefined) entity.append(rest);
      found.set(id, entity);
    }
    return found;
  }

  /** How many datastore metrics an application has decides how many buckets fit into the next query. */
  #learn(applicationId: number, found: Found): void {
    const datastores = found.datastores();
    if (datastores === undefined) return;
    this.#fleet.sawDatastores(applicationId, Math.max(this.#fleet.datastores(applicationId), datastores));
  }

  summarize(timeslices: ReadonlyMap<string, readonly Timeslice[]>, range: TimeRange): MetricDataAnswer {
    const rows = new Map<string, Row>();
    for (const [name, inside] of timeslices) {
      const merged = mergeRows(inside.map(toRow));
      // The window is as long as it was asked for, also where buckets are missing.
      if (merged !== undefined) rows.set(name, { ...merged, ...range });
    }
    const names = [...rows.keys()].filter((name) => name !== SIGN_OF_LIFE);
    return answerOf(rows, [...new Set([...names, ...ZERO_WITHOUT_ROW])], range);
  }
}

/** A query with buckets has a limit of rows beside that of facets. */
function limited(options: PlanOptions, buckets: number): PlanOptions {
  const mostRows = Math.min(MOST_ROWS, Math.max(1, Math.floor(MOST_BUCKET_ROWS / buckets) - 1));
  return { ...options, kind: `${options.kind} series`, mostRows };
}

function bucketsOf({ readFrom, to, granule }: SeriesChunk): number {
  return Math.ceil((to - readFrom) / granule);
}

function rangesOf({ readFrom, to }: SeriesChunk, seconds: number): TimeRange[] {
  return Array.from({ length: Math.ceil((to - readFrom) / seconds) }, (_, index) => {
    const from = readFrom + index * seconds;
    return { from, to: Math.min(to, from + seconds) };
  });
}

/** The row of a timeslice as plain numbers, which can be stored. */
function toTimeslices(rows: readonly Row[]): Timeslice[] {
  const sorted = [...rows].sort((a, b) => a.from - b.from);
  return sorted.map(({ from, to, ...members }) => {
    const known = Object.entries(members).filter((entry): entry is [string, number] => entry[1] !== undefined);
    return { from, to, values: Object.fromEntries(known) };
  });
}

function toRow({ from, to, values }: Timeslice): Row {
  return {
    from,
    to,
    count: values['count'] ?? 0,
    sum: values['sum'] ?? 0,
    exclusive: values['exclusive'],
    min: values['min'],
    max: values['max'],
    squares: values['squares'],
  };
}
