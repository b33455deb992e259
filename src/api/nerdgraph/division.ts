import {
  columnKey,
  columnsOf,
  halve,
  halveColumns,
  isShared,
  keyOf,
  selectColumns,
  type Batch,
  type QueryPart,
} from './batching.ts';
import { endingOf, failBatch, failureOf, isRefused, markSetApart, recordIfDone, SPLIT_REASONS } from './batchEnds.ts';
import { textOf, type ApartKey, type FailureMemory } from './failureMemory.ts';
import { FULL } from './nrql.ts';
import { queryBatch, type BatchEnd, type RowsRead } from './rows.ts';
import type { UpstreamError } from '../upstreamError.ts';

/** A division ends after this many consecutive calls that New Relic refused or did not answer. */
const FRUITLESS_CALLS = 12;

/** A subject that failed: its whole query alone, or for an entity at least one column. */
interface Failed {
  readonly key: ApartKey;
  readonly parts: (readonly [QueryPart, UpstreamError])[];
  /** False if other columns of the entity may be readable. */
  isWhole: boolean;
}

/**
 * Divides a batch whose query failed. Reads its halves depth first, down to single subjects and columns. Then sets
 * apart the subjects that fail alone: later reads query them alone.
 */
export class Division {
  readonly #read: RowsRead;
  readonly #failures: FailureMemory;
  readonly #planned: Batch;
  /** The subject to divide, if an earlier division set it apart. Its calls per minute are limited. */
  readonly #apart: ApartKey | undefined;
  /** Queries that returned rows. */
  #answers = 0;
  #fruitless = 0;
  /** How the query of the whole batch ended. If it did not run: the first end of a part's query that was not good. */
  #end: BatchEnd | undefined;
  /** The error that ended the division; undefined: no error ended it. */
  #ended: UpstreamError | undefined;
  readonly #failed = new Map<string, Failed>();
  readonly #badColumns = new Map<string, UpstreamError>();
  /** Applications whose query of all hosts failed. They are divided by host after the other applications were read. */
  readonly #byHost: (readonly [Batch, BatchEnd])[] = [];
  /** True if a failed application is divided by host at once. */
  #isByHost: boolean;

  constructor(read: RowsRead, planned: Batch, apart?: ApartKey) {
    this.#read = { ...read, call: { ...read.call, isRepeat: true } };
    this.#failures = read.account.memory.failures;
    this.#planned = planned;
    this.#apart = apart;
    this.#isByHost = new Set(planned.map(({ id }) => id)).size < 2;
  }

  /** Columns of golden metrics that fail even when they are read alone. */
  get badColumns(): readonly string[] {
    return [...this.#badColumns.keys()];
  }

  /**
   * Reads the parts, and returns the keys of the subjects that it sets apart.
   *
   * @param end how the query of the whole batch ended; undefined: it did not run, because the batch failed before
   */
  async run(end: BatchEnd | undefined): Promise<readonly ApartKey[]> {
    const { query } = this.#read;
    this.#end = end;
    // Subjects that the last division did not reach come first, in the reverse of its order: a run of bad subjects, on
    // which it ended, must not end this one before the others are read.
    const unread = this.#failures.takeUnread(
      query.read,
      this.#planned.map(({ id }) => id),
    );
    const ranks = new Map(unread.map((id, rank) => [id, rank]));
    const rankOf = ({ id }: QueryPart): number => ranks.get(id) ?? unread.length;
    const batch = this.#planned.toSorted((a, b) => rankOf(a) - rankOf(b));
    // The division of another batch may have set columns apart meanwhile.
    for (const column of columnsOf(batch, query)) {
      const key = columnKey(query, column);
      const error = this.#failures.isApart(key.read, key.id) ? this.#failures.lastOf(key)?.error : undefined;
      if (error !== undefined) this.#badColumns.set(column, error);
    }
    if (this.#badColumns.size > 0) await this.#readPart(batch);
    else await this.#divide(batch, end);
    this.#isByHost = true;
    for (const each of this.#byHost) await this.#divideByHost(...each);
    // Without any answer, the subjects may not be the cause: set none apart.
    if (this.#apart === undefined && this.#answers === 0) return [];
    const failed = [...this.#failed.values()];
    for (const [part, error] of failed.flatMap(({ parts }) => parts))
      failBatch(this.#read, [part], markSetApart(error));
    return this.#apart === undefined ? this.#setApart(failed) : [];
  }

  #setApart(failed: readonly Failed[]): readonly ApartKey[] {
    const { query } = this.#read;
    for (const { key, parts } of failed) {
      const alone = parts.map(([part]) => columnsOf([part], query)).filter(({ length }) => length === 1);
      const [[, error] = []] = parts;
      if (error !== undefined) this.#failures.setApart(key, error, alone.flat());
    }
    for (const [column, error] of this.#badColumns) {
      const key = columnKey(query, column);
      if (!this.#failures.isApart(key.read, key.id)) this.#failures.setApart(key, error);
    }
    return failed.map(({ key }) => key);
  }

  /** Divides an application by its hosts. If New Relic answers for no host, the application itself failed alone. */
  async #divideByHost(batch: Batch, end: BatchEnd): Promise<void> {
    const answers = this.#answers;
    const before = new Set(this.#failed.keys());
    await this.#divide(batch, end);
    const hosts = [...this.#failed.keys()].filter((key) => !before.has(key));
    if (this.#answers > answers || hosts.length === 0) return;
    for (const host of hosts) this.#failed.delete(host);
    this.#failAlone(batch, end);
  }

  /** Halves a batch, and reads each half. Halves refused golden metrics by columns first. */
  async #divide(batch: Batch, end: BatchEnd | undefined): Promise<void> {
    const ending = end === undefined ? 'passing' : endingOf(end);
    const columns = columnsOf(batch, this.#read.query);
    // New Relic drops a facet whose first column is null, and reports its other columns as missing rows.
    const isByColumn = ending === 'refused' || end === FULL || (ending === 'too_big' && batch.length === 1);
    const halves =
      (isByColumn ? halveColumns(batch, this.#read.query) : undefined) ??
      (isShared(batch) || ending === 'too_big' ? halve(batch) : undefined);
    if (halves === undefined) {
      if (end !== undefined) this.#failAlone(batch, end);
      return;
    }
    this.#read.account.options.observer.split(SPLIT_REASONS[ending] ?? 'error');
    if (ending === 'refused' && columns.length === 1) return this.#divideColumn(batch, halves);
    for (const half of halves) await this.#readPart(half);
  }

  /** Reads a refused column for two halves of its entities. If New Relic refuses both, the column fails for all. */
  async #divideColumn(batch: Batch, halves: readonly [Batch, Batch]): Promise<void> {
    const first = await this.#query(halves[0]);
    const second = await this.#query(halves[1]);
    if (isRefused(first) && isRefused(second)) {
      const error = failureOf(this.#read, batch, first);
      for (const column of columnsOf(batch, this.#read.query)) this.#badColumns.set(column, error);
      failBatch(this.#read, batch, error);
      return;
    }
    // At most one half was refused. The cause is in the entities of that half.
    await this.#afterQuery(halves[0], first, isRefused(first));
    await this.#afterQuery(halves[1], second, isRefused(second));
  }

  /** @param isByEntity true: an entity breaks the query, so the part is halved by entities, not by columns */
  async #readPart(part: Batch, isByEntity = false): Promise<void> {
    const open = this.#withoutFailed(part);
    if (open.length > 0) await this.#afterQuery(open, await this.#query(open), isByEntity);
  }

  /** @param end undefined: the query did not run, because the division has ended */
  async #afterQuery(part: Batch, end: BatchEnd | undefined, isByEntity: boolean): Promise<void> {
    if (end === undefined) {
      this.#leaveUnread(part);
      return;
    }
    if (recordIfDone(this.#read, part, end)) return;
    if (endingOf(end) === 'account') {
      this.#ended = failureOf(this.#read, part, end);
      failBatch(this.#read, part, this.#ended);
    } else if (isByEntity) {
      const halves = part.length > 1 ? halve(part) : undefined;
      if (halves === undefined) this.#failAlone(part, end);
      for (const half of halves ?? []) await this.#readPart(half, true);
    } else if (!this.#isByHost && isShared(part) && new Set(part.map(({ id }) => id)).size === 1) {
      this.#byHost.push([part, end]);
    } else {
      await this.#divide(part, end);
    }
  }

  /** Runs the query of a part; undefined when the division has ended. */
  async #query(part: Batch): Promise<BatchEnd | undefined> {
    const { account, call } = this.#read;
    if (this.#ended !== undefined || this.#fruitless >= FRUITLESS_CALLS || account.transport.http.isFailing(call))
      return undefined;
    if (this.#apart !== undefined && !this.#failures.beginCallAlone(this.#apart, account.options.requestsPerMinute))
      return undefined;
    const end = await queryBatch(this.#read, part, 'none');
    const ending = endingOf(end);
    if (ending === 'good') this.#answers += 1;
    else this.#end ??= end;
    if (ending === 'good' || ending === 'unmatched') this.#fruitless = 0;
    else if (ending !== 'too_big') this.#fruitless += 1;
    return end;
  }

  #failAlone(batch: Batch, end: BatchEnd): void {
    const { query } = this.#read;
    const error = failureOf(this.#read, batch, end);
    failBatch(this.#read, batch, error);
    const columns = columnsOf(batch, query);
    const [part] = batch;
    if (part === undefined) return;
    if (columns.length === 1 && this.#planned.length === 1) {
      for (const column of columns) this.#badColumns.set(column, error);
      return;
    }
    const key = keyOf(part, query);
    const failed = this.#failed.get(textOf(key)) ?? { key, parts: [], isWhole: false };
    failed.parts.push([part, error]);
    // A metric that fails alone fails its whole subject. A column that is too big does not fail its entity: other
    // columns may fit.
    failed.isWhole ||= query.golden === undefined || columns.length > 1 || isRefused(end);
    this.#failed.set(textOf(key), failed);
  }

  /** Records the error of the batch for an unread part. The next division of the batch reads that part first. */
  #leaveUnread(part: Batch): void {
    failBatch(this.#read, part, this.#ended ?? failureOf(this.#read, part, this.#end));
    if (this.#ended === undefined) for (const { id } of part) this.#failures.recordUnread(this.#read.query.read, id);
  }

  /** Returns a part without subjects that failed alone and columns that fail for all entities. Records their errors. */
  #withoutFailed(part: Batch): Batch {
    const { query } = this.#read;
    const open = part.filter((each) => {
      const failed = this.#failed.get(textOf(keyOf(each, query)));
      if (failed?.isWhole === true) for (const [, error] of failed.parts) failBatch(this.#read, [each], error);
      return failed?.isWhole !== true;
    });
    if (this.#badColumns.size === 0) return open;
    for (const [column, error] of this.#badColumns) failBatch(this.#read, selectColumns(open, [column]), error);
    return selectColumns(
      open,
      columnsOf(open, query).filter((column) => !this.#badColumns.has(column)),
    );
  }
}
