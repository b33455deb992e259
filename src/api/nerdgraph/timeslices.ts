import type { AccountMemory } from './accountMemory.ts';
import { beginningAt, halve, planQueries, takeOne, type Batch, type QueryPart } from './batching.ts';
import { MetricSelector } from './metricSelector.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { columnsOf, queryBatch } from './rowQueries.ts';
import { SubjectRows, type FoundRows, type RowsRead, type TimesliceQuery } from './rows.ts';
import type { NrqlEnd } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { FailureMemory, SubjectId } from '../http/failureMemory.ts';
import type { CallOptions, SplitReason } from '../upstreamReader.ts';
import { UpstreamError, type FailureReason } from '../types.ts';
import { sourceKey } from '../../nrql/goldenMetric.ts';

/** The failure of a whole batch, and the reason to report for its split. */
interface FailedRead {
  readonly error: UpstreamError;
  readonly reason: SplitReason;
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

/** After this number of subjects failed and none was read, further batches are read from their last subject (`#readFromLast`). */
const MAX_UNREADABLE = 3;

/** Planned queries, and their read, which returns the rows by subject and rejects only with the reason of the signal. */
export interface PlannedQueries {
  readonly calls: number;
  readonly read: (call: CallOptions) => Promise<FoundRows>;
}

/**
 * Plans queries when they are read: counting the calls for thousands of subjects needs no plan, except for one subject (`isOne`),
 * which may need several queries.
 */
export function planLater(isOne: boolean, plan: () => PlannedQueries): PlannedQueries {
  const planned = isOne ? plan() : undefined;
  return { calls: planned?.calls ?? 1, read: (call) => (planned ?? plan()).read(call) };
}

/** Plans the queries that read these parts when nothing fails, without the subjects that `failures` omits. */
export function planTimeslices(
  account: NerdGraphAccount,
  parts: readonly QueryPart[],
  query: TimesliceQuery,
): PlannedQueries {
  const { memory } = account;
  const known = parts.filter(({ id }) => !memory.failures.isOmitted(query.name, id));
  const batches = planQueries(known, memory, query);
  return { calls: batches.length, read: (call) => readTimeslices(account, batches, query, call) };
}

async function readTimeslices(
  account: NerdGraphAccount,
  batches: readonly Batch[],
  query: TimesliceQuery,
  call: CallOptions,
): Promise<FoundRows> {
  const parts = batches.flat();
  const found = new Map(parts.map(({ id }) => [id, new SubjectRows()]));
  if (parts.length === 0) return found;
  try {
    const read = { account, accountId: await account.id(call), query, found, call };
    await Promise.all(batches.map((batch) => new SplitRead(read).run(batch)));
    for (const part of parts) learn(account.memory, part, query, found.get(part.id));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    fail(parts, error, found);
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
 * Reads one planned batch. If it fails or does not fit into a response, it is read again in halves, down to single subjects, so
 * that no healthy subject fails because of another (docs/nerdgraph.md, "Batches"). A failed batch is divided only when New
 * Relic responds to other queries. So one of its subjects is read first, and another one if that fails: with the batch's own
 * failure, three failed calls in a row open the circuit of the account.
 */
class SplitRead {
  readonly #context: RowsRead;
  readonly #failures: FailureMemory;
  readonly #probes: { count: number; isNext: boolean };
  /** True once any part had a response: later failures are then caused by their own subjects. */
  #hasResponse = false;
  /** True once any part was read; a response with missing rows does not count. */
  #isAnyRead = false;
  /** The number of subjects that could not be read even when fully divided. */
  #unreadable = 0;
  /** Errors of golden metrics' columns that make queries fail for every entity, by column. */
  readonly #badColumns = new Map<string, UpstreamError>();
  #areColumnsTested = false;
  /** Failed batches of one subject each: they become suspects if another part of the read had a response. */
  readonly #failed: Batch[] = [];

  constructor(context: RowsRead) {
    this.#context = context;
    const { account, query } = context;
    const { memory } = account;
    this.#failures = memory.failures;
    this.#probes = memory.probesOf(query.golden === undefined ? query.name : sourceKey(query.golden));
  }

  async run(batch: Batch): Promise<void> {
    if (isShared(batch) && (this.#isCircuitOpen || this.#probes.isNext)) {
      await (this.#mayBeColumn(batch) ? this.#readColumns(batch, undefined) : this.#readFromOne(batch, undefined));
    } else await this.#read(batch, true);
    if (!this.#hasResponse) return;
    this.#probes.isNext = false;
    const { name } = this.#context.query;
    const failures = this.#failures;
    if (this.#failed.length === 0) {
      failures.recordSuccess(name, ...subjectOf(batch));
      failures.recordRecovery(
        name,
        batch.map(({ id }) => id),
      );
    } else if (isShared(batch)) for (const part of this.#failed) failures.recordFailure(name, ...subjectOf(part));
  }

  get #isCircuitOpen(): boolean {
    const { account, call } = this.#context;
    return account.transport.http.isCircuitOpen(call);
  }

  /**
   * Returns true if the whole batch was read.
   *
   * @param isFirst false: it is a part of a failed batch, so it is not retried
   */
  async #read(given: Batch, isFirst: boolean): Promise<boolean> {
    const batch = this.#withoutBadColumns(given);
    if (batch.length === 0) return false;
    if (!this.#isAnyRead && this.#unreadable >= MAX_UNREADABLE) return this.#readFromLast(batch);
    const end = await this.#runQuery(batch, isFirst);
    if (end.kind === 'failed') return this.#afterFailure(batch, end.error, isFirst);
    return this.#afterResponse(batch, end.kind);
  }

  async #afterResponse(batch: Batch, kind: Exclude<NrqlEnd['kind'], 'failed'>): Promise<boolean> {
    this.#hasResponse = true;
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
    const mayBeColumn = reason !== undefined && reason !== 'truncated' && this.#mayBeColumn(batch);
    if (!isShared(batch) && !mayBeColumn) {
      this.#failed.push(batch);
      return reason === 'truncated' ? this.#readHalves(batch, reason, error) : this.#fail(batch, error);
    }
    const ids = batch.map(({ id }) => id);
    // A planned batch is divided for a transient failure only if its previous read failed like this, too.
    const mayPass =
      isFirst && error.failure.isTransient === true && !this.#failures.recordTransient(this.#context.query.name, ids);
    if (reason === undefined || mayPass) return this.#fail(batch, error);
    if (!this.#hasResponse && this.#isCircuitOpen) {
      this.#probes.isNext = true;
      return this.#fail(batch, error);
    }
    if (mayBeColumn) return this.#readColumns(batch, { error, reason });
    // A response for another subject proves nothing for hosts of one application, which may itself be the cause.
    const isDivided = this.#hasResponse && batch.length > 1;
    return isDivided || reason === 'truncated'
      ? this.#readHalves(batch, reason, error)
      : this.#readFromOne(batch, { error, reason });
  }

  /** One bad golden metric fails its whole query, so a column is a possible cause until the bad ones are known. */
  #mayBeColumn(batch: Batch): boolean {
    return this.#context.query.golden !== undefined && !this.#areColumnsTested && columnsOf(batch).length > 1;
  }

  /**
   * Finds the columns that make the query fail, and reads the batch without them. One column of one entity is read first, and
   * another one of another entity if that fails, for the reason that `SplitRead` gives.
   */
  async #readColumns(batch: Batch, failed: FailedRead | undefined): Promise<boolean> {
    let lastError = failed?.error;
    if (failed !== undefined) this.#context.account.transport.http.split(failed.reason);
    for (const [part, columns] of probesOf(batch, this.#nextProbe())) {
      if (lastError !== undefined && !this.#hasResponse && this.#isCircuitOpen) break;
      const [first = '', ...others] = columns;
      const end = await queryBatch(this.#context, [withColumns(part, [first])], 'none');
      if (end.kind === 'failed') {
        lastError = end.error;
        continue;
      }
      this.#hasResponse = true;
      this.#isAnyRead ||= end.kind === 'result';
      await this.#testColumns(part, others);
      this.#areColumnsTested = true;
      const isRead = this.#badColumns.size === 0;
      const rest =
        isRead && failed !== undefined && batch.length > 1
          ? this.#readHalves(batch, failed.reason, failed.error)
          : this.#read(batch, false);
      return (await rest) && isRead;
    }
    if (batch.length === 1) this.#failed.push(batch);
    return this.#fail(batch, lastError);
  }

  /** Reads columns of one entity, in halves where that fails, down to the columns that fail alone. */
  async #testColumns(part: QueryPart, columns: readonly string[]): Promise<void> {
    if (columns.length === 0) return;
    const end = await queryBatch(this.#context, [withColumns(part, columns)], 'none');
    if (end.kind !== 'failed') return;
    if (columns.length > 1) {
      const middle = Math.ceil(columns.length / 2);
      await this.#testColumns(part, columns.slice(0, middle));
      await this.#testColumns(part, columns.slice(middle));
    } else for (const column of columns) this.#badColumns.set(column, end.error);
  }

  /** The batch without the failing columns, which fail for all entities that request them. */
  #withoutBadColumns(batch: Batch): Batch {
    if (this.#badColumns.size === 0) return batch;
    return batch.flatMap((part) => {
      const { names } = part.selector;
      for (const name of names) {
        const error = this.#badColumns.get(name);
        if (error !== undefined) this.#context.found.get(part.id)?.columnFailures.set(name, error);
      }
      const left = names.filter((name) => !this.#badColumns.has(name));
      if (left.length === names.length) return [part];
      return left.length === 0 ? [] : [withColumns(part, left)];
    });
  }

  /** While nothing was read, only the last remaining subject is read, and the others once it succeeds. */
  async #readFromLast(batch: Batch): Promise<boolean> {
    const [one, others] = takeOne(batch, true) ?? [batch, undefined];
    const end = await this.#runQuery(one, false);
    if (end.kind === 'failed' || end.kind === 'too_big') {
      return this.#fail(batch, end.kind === 'failed' ? end.error : undefined);
    }
    await this.#afterResponse(one, end.kind);
    return others === undefined || this.#read(others, false);
  }

  /**
   * Reads one subject, and another if that fails. The others are read only after one had a response.
   *
   * @param failed the error of the whole batch; undefined: it was not read, because the circuit was open
   */
  async #readFromOne(batch: Batch, failed: FailedRead | undefined): Promise<boolean> {
    let others: Batch = beginningAt(this.#nextProbe(), batch);
    const tried: Batch[] = [];
    let lastError: UpstreamError | undefined = failed?.error;
    if (failed !== undefined) this.#context.account.transport.http.split(failed.reason);
    for (const last of [false, true]) {
      if (last && !this.#hasResponse && this.#isCircuitOpen) break;
      const taken = takeOne(others, last);
      // The first of two subjects has failed, so that only the second is left.
      const one = taken?.[0] ?? others;
      const end = await this.#runQuery(one, false);
      if (end.kind === 'failed') {
        lastError = end.error;
        tried.push(one);
        this.#fail(one, end.error);
        if (taken === undefined) break;
        others = taken[1];
        continue;
      }
      this.#failed.push(...tried);
      const isRead = await this.#afterResponse(one, end.kind);
      if (taken === undefined) return isRead && tried.length === 0;
      const rest =
        failed === undefined ? this.#read(taken[1], false) : this.#readHalves(taken[1], failed.reason, failed.error);
      return (await rest) && isRead;
    }
    this.#failed.push(...(batch.length === 1 ? [batch] : tried));
    return this.#fail(others, lastError);
  }

  /**
   * The number of this probe. Each begins with another subject and column: concurrent reads that all begin with a failing one
   * keep the circuit open, and none of the others would ever be read.
   */
  #nextProbe(): number {
    this.#probes.count += 1;
    return this.#probes.count - 1;
  }

  /** @param error the error of the whole batch; undefined: it has more rows than a response holds */
  async #readHalves(batch: Batch, reason: SplitReason, error: UpstreamError | undefined): Promise<boolean> {
    const halves = halve(batch, reason === 'truncated');
    if (halves !== undefined) return this.#readBoth(batch, halves, reason);
    // One subject of the failed batch is left, which was not read alone yet.
    if (error !== undefined && reason !== 'truncated') return this.#read(batch, false);
    this.#failed.push(batch);
    this.#unreadable += 1;
    return this.#fail(batch, error);
  }

  /**
   * Halves of one subject are read in turn, because the subject fails when either does. Halves of several subjects are read in
   * turn until something was read, which limits the calls where nothing can be read.
   */
  async #readBoth(batch: Batch, [first, second]: readonly [Batch, Batch], reason: SplitReason): Promise<boolean> {
    this.#context.account.transport.http.split(reason);
    if (!isShared(batch)) return (await this.#read(first, false)) && (await this.#read(second, false));
    const reading = this.#read(first, false);
    if (!this.#isAnyRead) await reading;
    return (await Promise.all([reading, this.#read(second, false)])).every(Boolean);
  }

  /** Records the error for each subject; undefined: more rows than a response holds, even when fully divided. */
  #fail(batch: Batch, error: UpstreamError | undefined): false {
    const { account, query, found } = this.#context;
    const tooBig = (): UpstreamError =>
      account.transport.reportFailure(
        query.group,
        new CallFailure('invalid_response', 'more rows than an answer holds', { isTooBig: true }),
      );
    fail(batch, error ?? tooBig(), found);
    return false;
  }

  async #runQuery(batch: Batch, isFirst: boolean): Promise<NrqlEnd> {
    const { name, isTrial } = this.#context.query;
    const failures = this.#failures;
    if (batch.length > 1) {
      // After a transient failure at its previous read, a batch is divided and not retried.
      const ids = batch.map(({ id }) => id);
      return queryBatch(this.#context, batch, isFirst && !failures.isTransient(name, ids) ? 'transient' : 'none');
    }
    const [id, host] = subjectOf(batch);
    const isSuspect = failures.isSuspect(name, id) || failures.isSuspect(name, id, host);
    const error = isSuspect ? failures.tooManyFailures(name, id, host) : undefined;
    if (error !== undefined) return { kind: 'failed', error };
    if (isFirst && !isSuspect) {
      return queryBatch(this.#context, batch, isTrial === true ? 'none' : isShared(batch) ? 'transient' : 'all');
    }
    const end = await queryBatch(this.#context, batch, 'none');
    // A result that is too large is no failure of the subject: it is read in smaller parts.
    const isCounted = end.kind === 'failed' && end.error.failure.reason !== 'too_large';
    if (isCounted) failures.recordOwnFailure(name, id, host, end.error);
    return end;
  }
}

function withColumns(part: QueryPart, columns: readonly string[]): QueryPart {
  return { ...part, selector: new MetricSelector(columns, [], false) };
}

/** The first entity with its columns in their order, and the last entity with its columns in reverse order. */
function probesOf(batch: Batch, probe: number): readonly (readonly [QueryPart, readonly string[]])[] {
  const turned = beginningAt(probe, batch);
  const columnsOfPart = ({ selector }: QueryPart): readonly string[] => beginningAt(probe, selector.names);
  return [
    ...turned.slice(0, 1).map((first) => [first, columnsOfPart(first)] as const),
    ...turned.slice(-1).map((last) => [last, columnsOfPart(last).toReversed()] as const),
  ];
}

/** True for a batch with several subjects: applications, hosts or key transactions. */
function isShared(batch: Batch): boolean {
  return batch.length > 1 || (batch[0]?.hosts?.length ?? 1) > 1;
}

/** The subject of a batch of one part; for several hosts, the application. */
function subjectOf([part]: Batch): readonly [id: SubjectId, host: string | undefined] {
  if (part === undefined) throw new RangeError('a batch without parts');
  const { id, hosts } = part;
  return [id, hosts?.length === 1 ? hosts[0] : undefined];
}

function fail(batch: Batch, failure: UpstreamError, found: FoundRows): void {
  for (const { id, hosts } of batch) {
    const rows = found.get(id);
    if (rows === undefined) continue;
    if (hosts === undefined) rows.failure = failure;
    else for (const host of hosts) rows.failures.set(host, failure);
  }
}
