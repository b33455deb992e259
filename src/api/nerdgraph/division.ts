import {
  columnKey,
  columnsOf,
  halve,
  halveColumns,
  isShared,
  keyOf,
  withColumns,
  type Batch,
  type QueryPart,
} from './batching.ts';
import {
  endingOf,
  failBatch,
  failureOf,
  isRefused,
  omitUnmatched,
  setApartBy,
  SPLIT_REASONS,
  type Ending,
} from './batchEnds.ts';
import { textOf, type ApartKey, type FailureMemory, type SubjectId } from './failureMemory.ts';
import { FULL } from './nrql.ts';
import { queryBatch, type BatchEnd, type RowsRead } from './rows.ts';
import type { UpstreamError } from '../upstreamError.ts';

/** A division ends after this number of calls in a row that were unanswered or refused. */
const FRUITLESS_CALLS = 12;
/** Reads the parts of a batch whose query failed, depth first, and sets apart what fails alone. */
export class Division {
  readonly #read: RowsRead;
  readonly #failures: FailureMemory;
  readonly #planned: Batch;
  /** Set for a subject that is apart already: its calls are limited. */
  readonly #apart: ApartKey | undefined;
  /** The subjects that this division has set apart. */
  readonly setApart: QueryPart[] = [];
  /** The number of queries that gave rows. */
  #answers = 0;
  #fruitless = 0;
  /** Why no further part is read; undefined until then. */
  #ended: UpstreamError | undefined;
  readonly #failedAlone: (readonly [QueryPart, UpstreamError])[] = [];
  /** Entities that failed alone. */
  readonly #badEntities = new Map<SubjectId, UpstreamError>();
  readonly #badColumns = new Map<string, UpstreamError>();
  /** Applications whose query of all hosts failed: they are divided by host after all other applications were read. */
  readonly #byHost: (readonly [Batch, BatchEnd])[] = [];
  #isByHost: boolean;
  /** How the last query of a part ended that was not good. */
  #lastEnd: BatchEnd | undefined;

  constructor(read: RowsRead, planned: Batch, apart?: ApartKey) {
    this.#read = { ...read, call: { ...read.call, isRepeat: true } };
    this.#failures = read.account.memory.failures;
    this.#planned = planned;
    this.#apart = apart;
    this.#isByHost = new Set(planned.map(({ id }) => id)).size < 2;
  }

  /** The columns of golden metrics that fail even when they are read alone. */
  get badColumns(): readonly string[] {
    return [...this.#badColumns.keys()];
  }

  /** @param end how the query of the whole batch ended; undefined: it was not run, because its batch failed before */
  async run(end: BatchEnd | undefined): Promise<void> {
    const { query } = this.#read;
    // What the last division did not reach comes first.
    const unread = new Set(this.#planned.filter(({ id }) => this.#failures.takeUnread(query.read, id)));
    const batch = [...unread, ...this.#planned.filter((part) => !unread.has(part))];
    // The division of another batch may have set columns apart meanwhile.
    for (const column of columnsOf(batch, query)) {
      const key = columnKey(query, column);
      const error = this.#failures.isApart(key.read, key.id) ? this.#failures.lastOf(key)?.error : undefined;
      if (error !== undefined) this.#badColumns.set(column, error);
    }
    if (this.#badColumns.size > 0) await this.#readPart(batch, end, false);
    else await this.#divide(batch, end);
    this.#isByHost = true;
    for (const each of this.#byHost) await this.#divideByHost(...each);
    if (this.#apart !== undefined) {
      for (const [part, error] of this.#failedAlone) failBatch(this.#read, [part], setApartBy(error));
      return;
    }
    if (this.#answers === 0) return;
    const apart = new Set<string>();
    for (const [part, error] of this.#failedAlone) {
      const key = keyOf(part, query);
      if (!apart.has(textOf(key))) this.#failures.setApart(key, error);
      apart.add(textOf(key));
      failBatch(this.#read, [part], setApartBy(error));
      const columns = columnsOf([part], query);
      if (columns.length === 1) this.#failures.recordFailureAlone(key, error, columns);
      this.setApart.push(part);
    }
    for (const [column, error] of this.#badColumns) {
      const key = columnKey(query, column);
      if (!this.#failures.isApart(key.read, key.id)) this.#failures.setApart(key, error);
    }
  }

  /** Divides an application by its hosts; where none of them is answered, the application itself failed alone. */
  async #divideByHost(batch: Batch, end: BatchEnd): Promise<void> {
    const answers = this.#answers;
    const failed = this.#failedAlone.length;
    await this.#divide(batch, end);
    const [part] = batch;
    if (part === undefined || this.#answers > answers || this.#failedAlone.length === failed) return;
    this.#failedAlone.splice(failed, Infinity, [part, failureOf(this.#read, batch, end)]);
  }

  async #divide(batch: Batch, end: BatchEnd | undefined): Promise<void> {
    const ending = end === undefined ? 'passing' : endingOf(end);
    const halves = this.#halvesOf(batch, end, ending);
    if (halves === undefined) {
      if (end !== undefined) this.#failAlone(batch, end);
      return;
    }
    this.#read.account.options.observer.split(SPLIT_REASONS[ending] ?? 'error');
    const isColumn = ending === 'refused' && columnsOf(batch, this.#read.query).length === 1;
    if (isColumn) return this.#divideColumn(batch, halves, end);
    for (const half of halves) await this.#readPart(half, end, false);
  }

  /** Refused golden metrics are halved by columns first, one subject by its metrics only where it is too big. */
  #halvesOf(batch: Batch, end: BatchEnd | undefined, ending: Ending): readonly [Batch, Batch] | undefined {
    // New Relic drops a facet whose first column is null, and counts its other columns among the rows that are left out.
    const isDropped = end === FULL;
    const isByColumn = ending === 'refused' || isDropped || (ending === 'too_big' && batch.length === 1);
    const columns = isByColumn ? halveColumns(batch, this.#read.query) : undefined;
    return columns ?? (isShared(batch) || ending === 'too_big' ? halve(batch) : undefined);
  }

  /** A column that is refused is read of two halves of its entities: if both are refused it fails for all, else some entities do. */
  async #divideColumn(batch: Batch, halves: readonly [Batch, Batch], whole: BatchEnd | undefined): Promise<void> {
    const first = await this.#query(halves[0]);
    const second = await this.#query(halves[1]);
    if (isRefused(first) && isRefused(second)) {
      const error = failureOf(this.#read, batch, first);
      for (const column of columnsOf(batch, this.#read.query)) this.#badColumns.set(column, error);
      failBatch(this.#read, batch, error);
      return;
    }
    for (const [half, end] of [
      [halves[0], first],
      [halves[1], second],
    ] as const) {
      // The cause is in the entities of a refused half.
      await this.#afterQuery(half, end, whole, isRefused(end));
    }
  }

  /** @param isByEntity true: one entity breaks the query, so golden metrics are halved by entities */
  async #readPart(part: Batch, whole: BatchEnd | undefined, isByEntity: boolean): Promise<void> {
    const [first] = part;
    // One metric that fails alone fails its whole subject: the other metrics need no calls.
    const { query } = this.#read;
    const isFailed =
      query.golden === undefined &&
      first !== undefined &&
      part.length === 1 &&
      this.#failedAlone.some(([each]) => textOf(keyOf(each, query)) === textOf(keyOf(first, query)));
    const left = isFailed ? [] : this.#withoutBad(part);
    if (left.length > 0) await this.#afterQuery(left, await this.#query(left), whole, isByEntity);
  }

  /** @param end undefined: the query was not run, because the division has ended */
  async #afterQuery(
    part: Batch,
    end: BatchEnd | undefined,
    whole: BatchEnd | undefined,
    isByEntity: boolean,
  ): Promise<void> {
    const { query, account } = this.#read;
    if (end === undefined) {
      this.#leaveUnread(part, whole);
      return;
    }
    const ending = endingOf(end);
    const subjects = new Set(part.map(({ id }) => id)).size;
    if (ending === 'good') return;
    if (ending === 'account') {
      this.#ended = failureOf(this.#read, part, end);
      failBatch(this.#read, part, this.#ended);
    } else if (ending === 'unmatched' && subjects === 1) {
      omitUnmatched(account, query, part);
    } else if (isByEntity) {
      const halves = part.length > 1 ? halve(part) : undefined;
      if (halves === undefined) this.#failAlone(part, end);
      for (const half of halves ?? []) await this.#readPart(half, whole, true);
    } else if (subjects === 1 && isShared(part) && !this.#isByHost) {
      this.#byHost.push([part, end]);
    } else {
      await this.#divide(part, end);
    }
  }

  /** Runs the query of a part; undefined when the division has ended. */
  async #query(part: Batch): Promise<BatchEnd | undefined> {
    const { account, query, call } = this.#read;
    if (this.#ended !== undefined || this.#fruitless >= FRUITLESS_CALLS || account.transport.http.isFailing(call))
      return undefined;
    if (this.#apart !== undefined && !this.#failures.beginCallAlone(this.#apart, account.options.requestsPerMinute))
      return undefined;
    const end = await queryBatch(this.#read, part, 'none');
    const ending = endingOf(end);
    if (ending !== 'good') this.#lastEnd = end;
    else {
      this.#answers += 1;
      for (const { id } of part) account.memory.omissions.readmit(id, query.read);
    }
    if (ending === 'good' || ending === 'unmatched') this.#fruitless = 0;
    else if (ending !== 'too_big') this.#fruitless += 1;
    return end;
  }

  #failAlone(batch: Batch, end: BatchEnd): void {
    const error = failureOf(this.#read, batch, end);
    failBatch(this.#read, batch, error);
    const { golden } = this.#read.query;
    const columns = columnsOf(batch, this.#read.query);
    const [part] = batch;
    if (part === undefined) return;
    if (golden !== undefined && columns.length === 1 && this.#planned.length === 1) {
      for (const column of columns) this.#badColumns.set(column, error);
      return;
    }
    this.#failedAlone.push([part, error]);
    // An entity with one column that is too big has others that are not.
    if (golden !== undefined && (columns.length > 1 || isRefused(end))) this.#badEntities.set(part.id, error);
  }

  /** What was not read fails with the reason of the batch, and comes first when its batch is next divided. */
  #leaveUnread(part: Batch, whole: BatchEnd | undefined): void {
    const error = this.#ended ?? failureOf(this.#read, part, whole ?? this.#lastEnd);
    failBatch(this.#read, part, error);
    if (this.#ended === undefined) for (const { id } of part) this.#failures.recordUnread(this.#read.query.read, id);
  }

  /** The part without columns that fail for all entities, and without entities that fail alone. */
  #withoutBad(part: Batch): Batch {
    if (this.#badColumns.size + this.#badEntities.size === 0) return part;
    const left: QueryPart[] = [];
    for (const each of part) {
      const error = this.#badEntities.get(each.id);
      if (error === undefined) left.push(each);
      else failBatch(this.#read, [each], error);
    }
    for (const [column, error] of this.#badColumns) failBatch(this.#read, withColumns(left, [column]), error);
    return withColumns(
      left,
      columnsOf(left, this.#read.query).filter((column) => !this.#badColumns.has(column)),
    );
  }
}
