import type { QueryResult, QuerySubject } from '../api/upstreamReader.ts';
import { querySamples, type Query } from '../metrics/queryFamilies.ts';
import type { DroppedSeries, Sample, WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import { NO_SAMPLES, readSamples, writeLabels } from '../metrics/writeSamples.ts';
import { PERCENTILE_LABEL, type ROW_DROP_REASONS } from '../nrql/queryRows.ts';
import type { Task, Subject } from './task.ts';
import type { AccountContext } from './selection.ts';

/** A query of the account, with its last read rows. */
export interface QueryRecord {
  readonly query: Query;
  readonly task: Task;
  readonly labels: WrittenLabels;
  samples: WrittenSamples;
  /** Series that the query's own limit has cut, by family. */
  cut: readonly DroppedSeries[];
  /** Undefined before the first read. */
  rows: number | undefined;
  columns: readonly string[];
  /** Rows that gave no series, since the start. */
  readonly dropped: Record<(typeof ROW_DROP_REASONS)[number], number>;
  /** The problems of the last rows, in sentences. */
  warnings: readonly string[];
  /** All of its series, including series that an earlier query publishes; undefined when no other query feeds its families. */
  all: readonly Sample[] | undefined;
}

/** The number of columns that a warning names. */
const MOST_NAMED = 20;

/** The queries of an account, in the order of its configuration. */
export class QueryRecords {
  #context: AccountContext;
  readonly #make: (name: string) => Task;
  #records: ReadonlyMap<string, QueryRecord> = new Map();
  /** The names of families that several queries feed. */
  #shared: ReadonlySet<string> = new Set();
  /** Queries whose last rows are too old to be served: a later query may publish their series. */
  readonly #tooOld = new Set<QueryRecord>();

  constructor(context: AccountContext, make: (name: string) => Task) {
    this.#context = context;
    this.#make = make;
  }

  all(): Iterable<QueryRecord> {
    return this.#records.values();
  }

  of({ query }: Subject): QueryRecord | undefined {
    return query === undefined ? undefined : this.#records.get(query);
  }

  /**
   * Takes over the queries of a configuration: a query that gives the same rows as before keeps its last read rows.
   *
   * @returns the tasks that were removed or now request something else
   */
  configure(context: AccountContext): readonly Task[] {
    this.#context = context;
    const { account, queries, reader } = context;
    const before = this.#records;
    const next = new Map<string, QueryRecord>();
    for (const query of reader.queries === undefined ? [] : queries) {
      const { name, interval } = query.definition;
      const known = before.get(name);
      const labels = writeLabels({ account: account.name, ...account.labels }, known?.labels);
      const fresh = {
        query,
        samples: NO_SAMPLES,
        cut: [],
        rows: undefined,
        columns: [],
        dropped: known?.dropped ?? { not_a_number: 0, repeated: 0 },
        warnings: [],
        all: undefined,
      };
      const record: QueryRecord =
        known !== undefined && isSame(known.query, query)
          ? { ...known, labels }
          : { ...fresh, labels, task: this.#make(name) };
      record.task.interval = interval;
      next.set(name, record);
    }
    this.#records = next;
    this.#tooOld.clear();
    const names = queries.flatMap(({ families }) => families.map(({ name }) => name));
    this.#shared = new Set(names.filter((name, index) => names.indexOf(name) !== index));
    for (const record of next.values()) {
      if (this.#isShared(record)) record.all ??= readSamples(record.samples);
      else this.#publishAlone(record, record.all);
    }
    this.#publish(new Set(next.values()));
    return Array.from(before.values(), ({ task }) => task).filter((task) => this.of(task.subject)?.task !== task);
  }

  /** The subject of the request for a query. */
  subjectOf(subject: Subject): QuerySubject {
    const query = this.of(subject)?.query;
    if (query === undefined) throw new Error('a query that has left the configuration is not read');
    const { nrql, window } = query.definition;
    return { nrql, window: window === undefined ? undefined : window / 1000, rules: query.rules };
  }

  /** Takes over the rows of a query. */
  arrive(subject: Subject, { rows, reading }: QueryResult): void {
    const record = this.of(subject);
    if (record === undefined) return;
    const { query, dropped } = record;
    record.rows = rows.length;
    record.columns = reading.columns;
    const all = querySamples(query, reading);
    this.#tooOld.delete(record);
    let { repeated } = reading.dropped;
    if (this.#isShared(record)) {
      record.all = all;
      repeated += this.#publish(new Set([record]), record);
    } else {
      this.#publishAlone(record, all);
    }
    dropped.not_a_number += reading.dropped.not_a_number;
    dropped.repeated += repeated;
    record.cut = query.families.flatMap(({ name: family }, index) => {
      const series = reading.cut[index] ?? 0;
      return series === 0 ? [] : [{ family, series, reading }];
    });
    const { name, max_series } = query.definition;
    record.warnings = [
      ...(reading.badColumns.length === 0 ? [] : [notANumber(name, reading.badColumns, reading.columns)]),
      ...(repeated === 0
        ? []
        : [`queries: rows of "${name}" repeat labels that another row has: the first one counts`]),
      ...(record.cut.length === 0
        ? []
        : [`queries: "${name}" has more than ${max_series} series (max_series): the rest is cut`]),
    ];
  }

  /**
   * The served queries, in the order of the configuration, with their series in the exposition: if two queries have the same
   * series, the first served query publishes it.
   *
   * @param isServed false for a query whose last rows are too old
   */
  served(isServed: (record: QueryRecord) => boolean): readonly (readonly [QueryRecord, WrittenSamples])[] {
    const changed = new Set<QueryRecord>();
    for (const record of this.#records.values()) {
      if (isServed(record) !== this.#tooOld.has(record)) continue;
      changed.add(record);
      if (!this.#tooOld.delete(record)) this.#tooOld.add(record);
    }
    if (this.#shared.size > 0 && changed.size > 0) this.#publish(changed);
    return Array.from(this.#records.values(), (record) => [record, record.samples]);
  }

  #isShared({ query }: QueryRecord): boolean {
    return query.families.some(({ name }) => this.#shared.has(name));
  }

  /** Writes the series of a query whose families no other query feeds; undefined when they are already written. */
  #publishAlone(record: QueryRecord, all: readonly Sample[] | undefined): void {
    if (all !== undefined) record.samples = this.#context.writer.write('queries', all, record.samples);
    record.all = undefined;
  }

  /**
   * Writes the series of queries that share a family with others: of the changed ones (new rows, served again, or no longer
   * served) and of all later ones, without the series that an earlier query serves.
   *
   * @returns the number of rows of `counted` that it left out
   */
  #publish(changed: ReadonlySet<QueryRecord>, counted?: QueryRecord): number {
    const taken = new Set<string>();
    const leftOut = new Set<string>();
    let isLater = false;
    for (const record of this.#records.values()) {
      const { all } = record;
      if (all === undefined) continue;
      const shared = all.filter(({ family }) => this.#shared.has(family.name));
      if (changed.has(record) || (isLater && shared.length > 0)) {
        const own = taken.size === 0 ? all : all.filter((sample) => !taken.has(seriesOf(sample)));
        record.samples = this.#context.writer.write('queries', own, record.samples);
        if (record === counted) {
          for (const sample of shared) if (taken.has(seriesOf(sample))) leftOut.add(rowOf(sample));
        }
      }
      if (!this.#tooOld.has(record)) for (const sample of shared) taken.add(seriesOf(sample));
      isLater ||= changed.has(record);
    }
    return leftOut.size;
  }
}

/** A text that is the same for all samples of one series. */
function seriesOf({ family, labels }: Sample): string {
  return `${family.name} ${JSON.stringify(labels)}`;
}

/** A text that is the same for all samples of one row. */
function rowOf({ labels }: Sample): string {
  return JSON.stringify({ ...labels, [PERCENTILE_LABEL]: undefined });
}

/** True when both queries give the same rows. */
function isSame(a: Query, b: Query): boolean {
  const rowsOf = ({ definition }: Query): string => JSON.stringify({ ...definition, interval: undefined });
  return rowsOf(a) === rowsOf(b);
}

function notANumber(name: string, bad: readonly string[], columns: readonly string[]): string {
  const named = columns.slice(0, MOST_NAMED).map((column) => `"${column}"`);
  return `queries: "${name}" has rows without a number in ${bad.map((column) => `"${column}"`).join(', ')}: the columns are ${named.join(', ')}`;
}
