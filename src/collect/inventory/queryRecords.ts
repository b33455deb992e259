import type { QueryResult, QuerySubject } from '../../api/upstreamReader.ts';
import { querySamples, type Query } from '../../metrics/queryFamilies.ts';
import {
  NO_SAMPLES,
  packSamples,
  seriesKey,
  writeLabels,
  type DroppedSeries,
  type PackedSamples,
  type WrittenLabels,
} from '../../metrics/writeSamples.ts';
import { describeColumnProblems, PERCENTILE_LABEL, type ROW_DROP_REASONS } from '../../nrql/queryRows.ts';
import type { AccountContext } from './accountContext.ts';
import type { Subject, Task, TaskStore } from './task.ts';

export interface QueryRecord {
  readonly query: Query;
  readonly task: Task;
  readonly labels: WrittenLabels;
  all: PackedSamples;
  /** The published part of `all`: without series that an earlier query publishes. */
  samples: PackedSamples;
  /** The series that `max_series` of the query cuts, by family. */
  cut: readonly DroppedSeries[];
  /** Undefined before the first read. */
  rows: number | undefined;
  columns: readonly string[];
  /** The rows without a series since the start. */
  readonly dropped: Record<(typeof ROW_DROP_REASONS)[number], number>;
  warnings: readonly string[];
}

export class QueryRecords {
  readonly #store: TaskStore;
  /** In the order of the configuration. */
  byName: ReadonlyMap<string, QueryRecord> = new Map();
  #shared: ReadonlySet<string> = new Set();
  /** Queries whose last rows are too old to serve. A later query may publish the series of such a query. */
  readonly #tooOld = new Set<QueryRecord>();

  constructor(context: AccountContext, store: TaskStore) {
    this.#store = store;
    this.configure(context);
  }

  find({ query = '' }: Subject): QueryRecord | undefined {
    return this.byName.get(query);
  }

  /** A query with an unchanged definition keeps its last rows. */
  configure({ account, collection, enabled, queries: all }: AccountContext): void {
    const queries = enabled.has('queries') ? all : [];
    const labels = { account: account.name, ...account.labels };
    this.byName = this.#store.sync(
      this.byName,
      queries,
      ({ definition }) => definition.name,
      (query, before) => {
        const record = this.#makeRecord(query, writeLabels(labels, before?.labels), before);
        record.task.setPace(query.definition, collection.delay);
        return record;
      },
      ({ task }) => [task],
    );
    this.#tooOld.clear();
    const names = queries.flatMap(({ families }) => families.map(({ name }) => name));
    this.#shared = new Set(names.filter((name, index) => names.indexOf(name) !== index));
    this.#publishFrom(this.byName.values().next().value);
  }

  #makeRecord(query: Query, labels: WrittenLabels, before: QueryRecord | undefined): QueryRecord {
    if (before !== undefined && isSame(before.query, query)) return { ...before, query, labels };
    if (before !== undefined) this.#store.remove([before.task]);
    return {
      query,
      labels,
      task: this.#store.make('queries', { query: query.definition.name }),
      all: NO_SAMPLES,
      samples: NO_SAMPLES,
      cut: [],
      rows: undefined,
      columns: [],
      warnings: [],
      dropped: before?.dropped ?? { not_a_number: 0, repeated: 0 },
    };
  }

  subjectOf(task: Task): QuerySubject & { readonly task: Task } {
    const { subject, endsBefore } = task;
    const query = this.find(subject)?.query;
    if (query === undefined) throw new Error('cannot read a query that is no longer in the configuration');
    const { nrql, window } = query.definition;
    return { task, nrql, window: window && window / 1000, endsBefore, rules: query.rules };
  }

  applyResult(subject: Subject, { rows, reading }: QueryResult): void {
    const record = this.find(subject);
    if (record === undefined) return;
    const { query, dropped } = record;
    record.rows = rows.length;
    record.columns = reading.columns;
    record.all = packSamples('queries', querySamples(query, reading), record.all);
    this.#tooOld.delete(record);
    this.#publishFrom(record);
    const repeated = reading.dropped.repeated + countUnpublishedRows(record);
    dropped.not_a_number += reading.dropped.not_a_number;
    dropped.repeated += repeated;
    record.cut = query.families.flatMap(({ name: family }, index) => {
      const series = reading.cut[index] ?? 0;
      return series === 0 ? [] : [{ family, series, reading }];
    });
    const { name, max_series } = query.definition;
    const warnings = describeColumnProblems(reading).map((problem) => `queries: "${name}" has ${problem}`);
    if (repeated > 0)
      warnings.push(`queries: rows of "${name}" repeat labels that another row has: the first one counts`);
    if (record.cut.length > 0) {
      warnings.push(`queries: "${name}" has more than ${max_series} series (max_series): the rest is cut`);
    }
    record.warnings = warnings;
  }

  /**
   * Returns the queries and their series, in the order of the configuration. The first served query publishes a series
   * that several queries have. `isServed`: false for a query whose last rows are too old.
   */
  publish(isServed: (task: Task) => boolean): readonly (readonly [QueryRecord, PackedSamples])[] {
    const changed = [...this.byName.values()].filter((record) => isServed(record.task) === this.#tooOld.has(record));
    for (const record of changed) if (!this.#tooOld.delete(record)) this.#tooOld.add(record);
    if (changed.length > 0) this.#publishFrom(changed[0]);
    return Array.from(this.byName.values(), (record) => [record, record.samples]);
  }

  /** Decides what a changed query and all later queries publish: no series that an earlier query serves. */
  #publishFrom(first: QueryRecord | undefined): void {
    const taken = new Set<string>();
    let isChanged = false;
    for (const record of this.byName.values()) {
      const { all, query } = record;
      const isShared = query.families.some(({ name }) => this.#shared.has(name));
      isChanged ||= record === first;
      if (isChanged) record.samples = isShared ? withoutSeries(all, taken) : all;
      if (!isShared || this.#tooOld.has(record)) continue;
      for (const column of all.columns) if (this.#shared.has(column.family.name)) taken.add(seriesKey(column));
    }
  }
}

function withoutSeries(all: PackedSamples, taken: ReadonlySet<string>): PackedSamples {
  const isPublished = all.columns.map((column) => !taken.has(seriesKey(column)));
  if (!isPublished.includes(false)) return all;
  return {
    columns: all.columns.filter((_, index) => isPublished[index]),
    values: all.values.filter((_, index) => isPublished[index]),
  };
}

function countUnpublishedRows({ all, samples }: QueryRecord): number {
  if (samples === all) return 0;
  const published = new Set(samples.columns);
  const leftOut = all.columns.filter((column) => !published.has(column));
  // A row with percentiles has several series.
  return new Set(leftOut.map(({ labels }) => JSON.stringify({ ...labels, [PERCENTILE_LABEL]: undefined }))).size;
}

function isSame(a: Query, b: Query): boolean {
  const keyOf = ({ definition }: Query): string => JSON.stringify({ ...definition, interval: undefined });
  return keyOf(a) === keyOf(b);
}
