import type { AccountMemory } from './accountMemory.ts';
import {
  beginningAt,
  COLUMNS,
  columnsOf,
  columnId,
  halve,
  halveColumns,
  isShared,
  isSuspectColumn,
  planQueries,
  takeOne,
  withColumns,
  type Batch,
  type QueryPart,
} from './batching.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { queryBatch } from './rowQueries.ts';
import { SubjectRows, type FoundRows, type RowsRead, type TimesliceQuery } from './rows.ts';
import type { NrqlEnd } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { FailureMemory, SubjectId, Suspect } from '../http/failureMemory.ts';
import type { CallOptions, SplitReason } from '../upstreamReader.ts';
import { UpstreamError, type FailureReason } from '../types.ts';
import { sourceKey } from '../../nrql/goldenMetric.ts';

/** The failure of a whole batch, and the reason to report for its split. */
interface FailedRead {
  readonly error: UpstreamError;
  readonly reason: SplitReason;
}

/** A part of a batch that failed alone. */
interface FailedPart {
  readonly batch: Batch;
  readonly error: UpstreamError;
}

/** Failures that one subject of a batch may cause, with the reason to report for a split; others concern the account or address. */
const BLAMABLE: Partial<Record<FailureReason, SplitReason>> = {
  timeout: 'timeout',
  network: 'error',
  server: 'error',
  invalid_response: 'error',
  other: 'error',
  forbidden: 'error',
  too_large: 'truncated',
};

/** After this number of subjects were too large and none was read, the others wait until one of them was read. */
const MAX_UNREADABLE = 3;

/** Parts, and the query that reads them in as few calls as it can. */
export interface PartsQuery {
  readonly parts: readonly QueryPart[];
  readonly query: TimesliceQuery;
}

/** The number of calls of these queries when nothing fails. */
export function countQueries({ memory }: NerdGraphAccount, queries: readonly PartsQuery[]): number {
  return queries.reduce((sum, each) => {
    const batches = batchesOf(memory, each);
    // A suspect column is read of one entity first.
    const twice = batches.filter((batch) => isShared(batch) && isSuspectColumn(batch, memory, each.query));
    return sum + batches.length + twice.length;
  }, 0);
}

/** The batches of a query when nothing fails, without the subjects that `failures` omits. */
function batchesOf(memory: AccountMemory, { parts, query }: PartsQuery): readonly Batch[] {
  const known = parts.filter(({ id }) => !memory.failures.isOmitted(query.name, id));
  return planQueries(known, memory, query);
}

/** Reads the rows of a query, by subject; rejects only with the reason of the signal. */
export async function readTimeslices(
  account: NerdGraphAccount,
  planned: PartsQuery,
  call: CallOptions,
): Promise<FoundRows> {
  const { query } = planned;
  const batches = batchesOf(account.memory, planned);
  const parts = batches.flat();
  const found = new Map(parts.map(({ id }) => [id, new SubjectRows()]));
  if (parts.length === 0) return found;
  try {
    const read: RowsRead = { account, accountId: await account.id(call), query, found, call };
    await Promise.all(batches.map((batch) => new SplitRead(read, batch).run()));
    for (const part of parts) learn(account.memory, part, query, found.get(part.id));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    fail(parts, error, { query, found });
  }
  return found;
}

/** Stores the sizes found, from which the size of the next response is expected. */
function learn(
  memory: AccountMemory,
  { id, selector, hosts }: QueryPart,
  query: TimesliceQuery,
  rows: SubjectRows | undefined,
): void {
  const datastores = selector.hasDatastores ? rows?.datastores() : undefined;
  // A series is read in several ranges, and datastores may be missing in one of them, so their number does not fall.
  const least = query.bucketMinutes === undefined ? 0 : memory.sizes(id).datastores;
  if (datastores !== undefined) memory.saw(id, { datastores: Math.max(least, datastores) });
  if (rows === undefined || rows.failureOf(undefined) !== undefined) return;
  if (selector.filters.length > 0) memory.saw(id, { matches: rows.rows.values().next().value?.size ?? 0 });
  if (query.groupBy === 'host' && hosts === undefined) memory.saw(id, { hosts: rows.rows.size });
}

/**
 * Reads one planned batch, and finds what breaks it (docs/nerdgraph.md, "What breaks a batch"). A batch that fails is read in
 * halves, golden metrics by their columns first, but only once a smallest part of it was answered: while New Relic answers
 * nothing, parts fail like the whole. What fails alone is remembered, and is not part of shared queries from then on.
 */
class SplitRead {
  readonly #context: RowsRead;
  readonly #failures: FailureMemory;
  readonly #probes: { count: number; isNext: boolean };
  /** True once any part had a response: later failures are then caused by their own parts. */
  #isAnswered = false;
  /** True once any part was read; a response with missing rows does not count. */
  #isAnyRead = false;
  /** The number of subjects that could not be read even when fully divided. */
  #unreadable = 0;
  /** Parts that failed alone, with their errors. */
  readonly #failed: FailedPart[] = [];
  /** Columns of golden metrics that failed for several entities. */
  readonly #badColumns = new Map<string, UpstreamError>();
  /** Entities of which one column failed alone: their other columns are read at the end, apart from all others. */
  readonly #apart = new Set<SubjectId>();
  readonly #planned: Batch;
  /** True if the planned batch is one suspect, which says nothing about shared queries. */
  readonly #isSuspect: boolean;

  constructor(context: RowsRead, planned: Batch) {
    this.#context = context;
    this.#planned = planned;
    const { account, query } = context;
    const { memory } = account;
    this.#failures = memory.failures;
    this.#probes = memory.probesOf(query.golden === undefined ? query.name : sourceKey(query.golden));
    const suspect = this.#suspectIn(planned);
    this.#isSuspect = suspect !== undefined && this.#failures.isSuspect(suspect.kind, suspect.id, suspect.part);
  }

  async run(): Promise<void> {
    const batch = this.#planned;
    const isDivisible = isShared(batch) || this.#hasColumns(batch);
    const isColumn = isSuspectColumn(batch, this.#context.account.memory, this.#context.query);
    // A suspect column is read of one entity, and of the others once that has it.
    if (isDivisible && (this.#isSuspect ? isColumn : this.#probes.isNext)) await this.#readAfterProbe(batch, undefined);
    else await this.#read(batch, true);
    for (const part of batch) if (this.#apart.has(part.id)) await this.#readApart(part);
    if (!this.#isAnswered) return;
    if (!this.#isSuspect) this.#probes.isNext = false;
    const failures = this.#failures;
    const suspect = this.#suspectIn(batch);
    if (this.#failed.length === 0 && this.#badColumns.size === 0) {
      if (suspect !== undefined) failures.recordSuccess(suspect);
      failures.recordRecovery(
        this.#context.query.name,
        batch.map(({ id }) => id),
      );
    } else if (isDivisible) {
      for (const { batch: part, error } of this.#failed) {
        const failed = this.#suspectIn(part);
        if (failed !== undefined) failures.recordFailure(failed, error);
      }
      for (const [column, error] of this.#badColumns) {
        failures.recordFailure({ kind: COLUMNS, id: columnId(this.#context.query.golden, column) }, error);
      }
    }
  }

  get #isCircuitOpen(): boolean {
    const { account, call } = this.#context;
    return account.transport.http.isCircuitOpen(call);
  }

  /** The columns of golden metrics; none of other data. */
  #columns(batch: Batch): readonly string[] {
    return this.#context.query.golden === undefined ? [] : columnsOf(batch);
  }

  #hasColumns(batch: Batch): boolean {
    return this.#columns(batch).length > 1;
  }

  /**
   * Returns true if the whole batch was read.
   *
   * @param isFirst false: it is a part of a failed batch, so it is not retried
   */
  async #read(given: Batch, isFirst: boolean): Promise<boolean> {
    const batch = this.#withoutBroken(given);
    if (batch.length === 0) return false;
    if (!this.#isAnyRead && this.#unreadable >= MAX_UNREADABLE) {
      return this.#readFromLast(batch);
    }
    const end = await this.#runQuery(batch, isFirst);
    if (end.kind === 'failed') return this.#afterFailure(batch, end.error, isFirst);
    return this.#afterResponse(batch, end.kind);
  }

  async #afterResponse(batch: Batch, kind: Exclude<NrqlEnd['kind'], 'failed'>): Promise<boolean> {
    this.#isAnswered = true;
    if (kind === 'too_big') return this.#readHalves(batch, 'truncated', undefined);
    this.#isAnyRead = true;
    const { query, account } = this.#context;
    if (kind === 'result') {
      for (const { id } of batch) this.#failures.readmit(id, query.name);
      return true;
    }
    // One application without data has none for any host or metric, so only several applications are divided.
    const halves = new Set(batch.map(({ id }) => id)).size > 1 ? halve(batch, false) : undefined;
    if (halves !== undefined) return this.#readBoth(batch, halves, 'error');
    // New Relic has no data of the subject: a good response without rows, and the subject is left out for up to `detailsMs`.
    const maxMs = Math.min(query.maxOmissionMs ?? Infinity, account.options.detailsMs);
    for (const { id } of batch) this.#failures.omitWithoutData(query.name, id, maxMs);
    return true;
  }

  async #afterFailure(batch: Batch, error: UpstreamError, isFirst: boolean): Promise<boolean> {
    const reason = BLAMABLE[error.failure.reason];
    const hasColumns = this.#hasColumns(batch);
    if (!isShared(batch) && !hasColumns) {
      if (reason === 'truncated') return this.#readHalves(batch, reason, error);
      this.#blame({ batch, error });
      return this.#fail(batch, error);
    }
    const ids = batch.map(({ id }) => id);
    // A planned batch is divided for a transient failure only if its previous read failed like this, too.
    const mayPass =
      isFirst && error.failure.isTransient === true && !this.#failures.recordTransient(this.#context.query.name, ids);
    if (reason === undefined || mayPass) return this.#fail(batch, error);
    // A response for another application proves nothing for hosts of one, and one for another column nothing for a column.
    const isColumn = this.#context.query.golden !== undefined && !hasColumns;
    const isProven = this.#isAnswered && !isColumn && (hasColumns || batch.length > 1);
    return isProven || reason === 'truncated'
      ? this.#readHalves(batch, reason, error)
      : this.#readAfterProbe(batch, { reason, error });
  }

  /** @param failed the error of the whole batch; undefined: it was not read */
  async #readAfterProbe(batch: Batch, failed: FailedRead | undefined): Promise<boolean> {
    const left = await this.#probe(batch, failed);
    if (left === undefined || left.length === 0) return left !== undefined;
    return failed === undefined ? this.#read(left, false) : this.#readHalves(left, failed.reason, failed.error);
  }

  /**
   * Reads one subject, of golden metrics one column of it, and another one if that fails. Gives what is left to read once one
   * had a response; undefined, with all failed, where none had.
   *
   * Each probe begins with another subject and column: concurrent reads that all begin with a failing one keep the circuit open,
   * and none of the others would ever be read.
   *
   * @param failed the error of the whole batch; undefined: it was not read
   */
  async #probe(batch: Batch, failed: FailedRead | undefined): Promise<Batch | undefined> {
    const probe = this.#probes.count;
    this.#probes.count += 1;
    const hasColumns = this.#hasColumns(batch);
    const tried: FailedPart[] = [];
    let left = beginningAt(probe, batch);
    let error = failed?.error;
    if (failed !== undefined) this.#context.account.transport.http.split(failed.reason);
    for (const isLast of [false, true]) {
      if (left.length === 0 || (isLast && !this.#isAnswered && (this.#isSuspect || this.#isCircuitOpen))) break;
      const [one, others] = hasColumns ? [oneColumn(left, probe, isLast), left] : takeOne(left, isLast);
      const end = await this.#runQuery(one, false);
      if (end.kind !== 'failed') {
        const suspect = this.#suspectIn(batch);
        // A column that one entity has is not what made the query of all fail.
        if (suspect?.kind === COLUMNS && failed !== undefined) this.#failures.acquit(suspect);
        for (const each of tried) this.#blame(each);
        await this.#afterResponse(one, end.kind);
        return others;
      }
      error = end.error;
      if (hasColumns) continue;
      tried.push({ batch: one, error });
      this.#fail(one, error);
      left = others;
    }
    this.#probes.isNext ||= !this.#isAnswered && !this.#isSuspect;
    const [column = ''] = this.#columns(batch);
    if (error !== undefined) {
      if (column !== '' && !hasColumns && tried.length > 1) this.#badColumns.set(column, error);
      else if (batch.length === 1) this.#blame({ batch, error });
      else for (const each of tried) this.#blame(each);
    }
    this.#fail(left, error);
    return undefined;
  }

  /** Notes a part that failed alone. The other columns of an entity are then read apart. */
  #blame(part: FailedPart): void {
    this.#failed.push(part);
    const { golden } = this.#context.query;
    if (golden !== undefined && this.#planned.length > 1) for (const { id } of part.batch) this.#apart.add(id);
  }

  /** While nothing was read, only the last remaining subject is read, and the others once it succeeds. */
  async #readFromLast(batch: Batch): Promise<boolean> {
    const [one, others] = takeOne(batch, true);
    const end = await this.#runQuery(one, false);
    if (end.kind === 'failed' || end.kind === 'too_big') {
      return this.#fail(batch, end.kind === 'failed' ? end.error : undefined);
    }
    await this.#afterResponse(one, end.kind);
    return others.length === 0 || this.#read(others, false);
  }

  /** Reads the columns of an entity that were not read because one of them failed alone; if they fail, the entity is the cause. */
  async #readApart(part: QueryPart): Promise<void> {
    const rows = this.#context.found.get(part.id);
    const isOpen = (name: string): boolean =>
      !this.#badColumns.has(name) && rows?.columns.has(name) === false && !rows.failures.has(name);
    const columns = part.selector.names.filter(isOpen);
    if (columns.length === 0) return;
    const batch = withColumns([part], columns);
    const end = await this.#runQuery(batch, false);
    if (end.kind !== 'failed') return;
    const others = this.#failed.filter(({ batch: [failed] }) => failed?.id !== part.id);
    this.#failed.splice(0, this.#failed.length, ...others, { batch: [part], error: end.error });
    this.#fail(batch, end.error);
  }

  /** The batch without columns that fail for all entities, and without entities that are read at the end. */
  #withoutBroken(batch: Batch): Batch {
    if (this.#badColumns.size + this.#apart.size === 0) return batch;
    const left = batch.filter(({ id }) => !this.#apart.has(id));
    for (const { id, selector } of left) {
      const failures = this.#context.found.get(id)?.failures;
      for (const name of selector.names) {
        const error = this.#badColumns.get(name);
        if (error !== undefined) failures?.set(name, error);
      }
    }
    return withColumns(
      left,
      columnsOf(left).filter((column) => !this.#badColumns.has(column)),
    );
  }

  /** @param error the error of the whole batch; undefined: it has more rows than a response holds */
  async #readHalves(batch: Batch, reason: SplitReason, error: UpstreamError | undefined): Promise<boolean> {
    const byColumn = reason !== 'truncated' && this.#hasColumns(batch);
    const halves = byColumn ? halveColumns(batch) : halve(batch, reason === 'truncated');
    if (halves !== undefined) return this.#readBoth(batch, halves, reason);
    // One subject of the failed batch is left, which was not read alone yet.
    if (error !== undefined && reason !== 'truncated') return this.#read(batch, false);
    const failure = error ?? this.#tooBig();
    const [column = ''] = this.#columns(batch);
    // A column that is too large for a second entity is not read of the others.
    if (column !== '' && this.#failed.some((part) => this.#columns(part.batch)[0] === column)) {
      this.#badColumns.set(column, failure);
    }
    this.#failed.push({ batch, error: failure });
    this.#unreadable += 1;
    return this.#fail(batch, failure);
  }

  /**
   * Halves of one subject are read in turn, because the subject fails when either does. Halves of several subjects are read in
   * turn until something was read, which limits the calls where nothing can be read. So are columns, because one that fails
   * is left out of all further parts; the others are read, also those of one entity.
   */
  async #readBoth(batch: Batch, [first, second]: readonly [Batch, Batch], reason: SplitReason): Promise<boolean> {
    this.#context.account.transport.http.split(reason);
    if (this.#context.query.golden !== undefined && (reason !== 'truncated' || !isShared(batch))) {
      const isRead = await this.#read(first, false);
      return (await this.#read(second, false)) && isRead;
    }
    if (!isShared(batch)) return (await this.#read(first, false)) && (await this.#read(second, false));
    const reading = this.#read(first, false);
    if (!this.#isAnyRead) await reading;
    return (await Promise.all([reading, this.#read(second, false)])).every(Boolean);
  }

  #tooBig(): UpstreamError {
    const failure = new CallFailure('invalid_response', 'more rows than an answer holds', { isTooBig: true });
    return this.#context.account.transport.reportFailure(this.#context.query.group, failure);
  }

  /** Records the error for each subject; undefined: more rows than a response holds, even when fully divided. */
  #fail(batch: Batch, error: UpstreamError | undefined): false {
    if (batch.length > 0) fail(batch, error ?? this.#tooBig(), this.#context);
    return false;
  }

  async #runQuery(batch: Batch, isFirst: boolean): Promise<NrqlEnd> {
    const suspect = this.#suspectIn(batch);
    const failures = this.#failures;
    if (suspect === undefined) {
      // After a transient failure at its previous read, a batch is divided and not retried.
      const ids = batch.map(({ id }) => id);
      const mayPass = isFirst && !failures.isTransient(this.#context.query.name, ids);
      return queryBatch(this.#context, batch, mayPass ? 'transient' : 'none');
    }
    const isSuspect = failures.isSuspect(suspect.kind, suspect.id, suspect.part);
    if (isFirst && !isSuspect) return queryBatch(this.#context, batch, isShared(batch) ? 'transient' : 'all');
    const alone = failures.beginAlone(suspect);
    if (alone instanceof UpstreamError) return { kind: 'failed', error: alone };
    const end = await queryBatch(this.#context, batch, 'none', isSuspect);
    // A result that is too large is no failure of the subject: it is read in smaller parts.
    const isCounted = end.kind === 'failed' && end.error.failure.reason !== 'too_large';
    failures.endAlone(alone, isCounted ? end.error : undefined);
    return end;
  }

  /**
   * What a batch is about alone: a suspect column, one column of one entity, or one subject; a subject that is a suspect itself
   * comes before its columns. Undefined for a batch of several.
   */
  #suspectIn(batch: Batch): Suspect | undefined {
    const { name: kind, golden } = this.#context.query;
    const [part, other] = batch;
    if (part === undefined) return undefined;
    const { id, hosts } = part;
    const subject = { kind, id, part: hosts?.length === 1 ? hosts[0] : undefined };
    const [column, another] = this.#columns(batch);
    if (column === undefined || another !== undefined || this.#failures.isSuspect(kind, id)) {
      return other === undefined ? subject : undefined;
    }
    const ofColumn = { kind: COLUMNS, id: columnId(golden, column) };
    if (this.#failures.isSuspect(ofColumn.kind, ofColumn.id)) return ofColumn;
    return other === undefined ? { ...ofColumn, part: String(id) } : undefined;
  }
}

/** The first column of the first entity, or the last column of the last entity; another first column for each probe. */
function oneColumn(batch: Batch, probe: number, isLast: boolean): Batch {
  const part = isLast ? batch.at(-1) : batch[0];
  if (part === undefined) return [];
  const columns = beginningAt(probe, part.selector.names);
  return withColumns([part], isLast ? columns.slice(-1) : columns.slice(0, 1));
}

function fail(
  batch: Batch,
  failure: UpstreamError,
  { query: { golden }, found }: Pick<RowsRead, 'query' | 'found'>,
): void {
  for (const { id, hosts, selector } of batch) {
    const rows = found.get(id);
    if (rows === undefined) continue;
    const keys = golden === undefined ? hosts : selector.names;
    if (keys === undefined) rows.failure = failure;
    else for (const key of keys) rows.failures.set(key, failure);
  }
}
