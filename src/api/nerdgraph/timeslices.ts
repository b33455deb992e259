import { conditionOf, halve, planQueries, takeOne, type Batch, type QueryKind, type QueryPart } from './batching.ts';
import type { AccountMemory } from './accountMemory.ts';
import type { AccountResolver } from './accountResolver.ts';
import { all, isNotNull, TIMESLICE, type Selection } from './nrql.ts';
import { takeGoldenRows } from './goldenRows.ts';
import { MetricSelector } from './metricSelector.ts';
import { FACETS, SubjectRows, takeRows, type FoundRows, type TimesliceQuery } from './rows.ts';
import type { NrqlEnd, NrqlRead, Transport } from './transport.ts';
import { BOUNDS } from '../http/body.ts';
import type { SubjectId } from '../http/failureMemory.ts';
import type { Discarded, Json } from '../http/readRecords.ts';
import {
  goldenQuery,
  isCanonicalInteger,
  recordId,
  type GoldenSource,
  type IdListForm,
} from '../../nrql/goldenMetric.ts';
import type { CallOptions, SplitReason } from '../upstreamReader.ts';
import { UpstreamError, type FailureReason } from '../types.ts';

/** The service chooses the facets it gives by the first function. */
const COUNT = { of: 'count', from: TIMESLICE, as: 'c' } as const;
const SUMS = [
  COUNT,
  { of: 'sum', from: TIMESLICE, as: 't' },
  { of: 'sum', from: `${TIMESLICE}['totalExclusive']`, as: 'x' },
] as const;
const VALUES = [...SUMS, { of: 'min', from: TIMESLICE, as: 'mn' }, { of: 'max', from: TIMESLICE, as: 'mx' }] as const;
const SELECTIONS: Readonly<Record<'names' | 'sums' | 'values' | 'squares', readonly [Selection, ...Selection[]]>> = {
  names: [COUNT],
  sums: SUMS,
  values: VALUES,
  squares: [...VALUES, { of: 'sum', from: `${TIMESLICE}['sumOfSquares']`, as: 'q' }],
};
const OF_KEY_TRANSACTIONS = [
  { of: 'count', from: 'apm.key.transaction.duration', as: 'c' },
  { of: 'sum', from: 'apm.key.transaction.duration', as: 't' },
  { of: 'count', from: 'apm.key.transaction.error.count', as: 'x' },
] as const;

/** Failures that one subject of a batch may be the cause of; the others are the account's, or the address's. */
const BLAMABLE: Partial<Record<FailureReason, SplitReason>> = {
  timeout: 'timeout',
  network: 'error',
  server: 'error',
  invalid_response: 'error',
  other: 'error',
  forbidden: 'error',
  too_large: 'truncated',
};

/** So many subjects that no part of can be read, before anything else was read, and of the others little is tried. */
const MOST_UNREADABLE = 3;

/** Reads rows of many applications, hosts or key transactions with one query, in parts where one is not enough. */
export class Timeslices {
  readonly transport: Transport;
  readonly memory: AccountMemory;
  /** How long a subject that New Relic knows nothing of is left out, in milliseconds. */
  readonly omitMs: number;
  readonly #account: AccountResolver;

  constructor(transport: Transport, account: AccountResolver, memory: AccountMemory, omitMs: number) {
    this.transport = transport;
    this.memory = memory;
    this.omitMs = omitMs;
    this.#account = account;
  }

  /** The queries that read these parts when nothing fails, without what New Relic knows nothing of. */
  plan(parts: readonly QueryPart[], kind: QueryKind): Batch[] {
    const { failures } = this.memory;
    const known = parts.filter(({ id }) => !failures.isOmitted(kind.name, id));
    return planQueries(known, this.memory, kind);
  }

  /**
   * Reads planned queries; what was found of each application or key transaction in them, by its id. Rejects only with the
   * reason of the signal.
   */
  async read(batches: readonly Batch[], query: TimesliceQuery, call: CallOptions): Promise<FoundRows> {
    const parts = batches.flat();
    const found = new Map(parts.map(({ id }) => [id, new SubjectRows()]));
    if (parts.length === 0) return found;
    try {
      const account = await this.#account.id(call);
      await Promise.all(batches.map((batch) => new SplitRead(this, account, query, found, call).run(batch)));
      for (const part of parts) this.#learn(part, query, found.get(part.id));
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      fail(parts, error, found);
    }
    return found;
  }

  /** Takes over what a response tells of how large the next one is going to be. */
  #learn({ id, selector, hosts }: QueryPart, query: TimesliceQuery, rows: SubjectRows | undefined): void {
    const datastores = selector.hasDatastores ? rows?.datastores() : undefined;
    // A series has several ranges, in which not all of them need have been in use.
    const least = query.bucketMinutes === undefined ? 0 : this.memory.sizes(id).datastores;
    if (datastores !== undefined) this.memory.saw(id, { datastores: Math.max(least, datastores) });
    if (rows === undefined || rows.failureOf(undefined) !== undefined) return;
    if (selector.filters.length > 0) this.memory.saw(id, { matches: rows.rows.values().next().value?.size ?? 0 });
    if (query.groupBy === 'host' && hosts === undefined) this.memory.saw(id, { hosts: rows.rows.size });
  }
}

/**
 * Reads one planned batch, and what of it fails or does not fit into a response again in halves, down to single subjects, so
 * that no healthy subject fails because of another (docs/nerdgraph.md, "Batches").
 *
 * A batch that fails is divided only when the service answers at all, so one of its subjects is asked first, and another
 * one where that fails: with the batch itself that makes three calls in a row, after which an account counts as silent.
 */
class SplitRead {
  readonly #transport: Transport;
  readonly #memory: AccountMemory;
  readonly #omitMs: number;
  readonly #account: number;
  readonly #query: TimesliceQuery;
  readonly #found: FoundRows;
  readonly #call: CallOptions;
  /** Whether any part was answered: then what fails is the fault of what it asks for. */
  #hasResponse = false;
  /** Whether any part was read: a response with rows missing is not used. */
  #isAnyRead = false;
  /** Subjects that were divided as far as it goes, and could not be read. */
  #unreadable = 0;
  /** Columns of golden metrics that break queries, whichever entity they are asked of. */
  readonly #badColumns = new Map<string, UpstreamError>();
  /** Whether it is known which columns those are. */
  #areColumnsTold = false;
  /** Parts of one subject that failed: they are to blame where others were answered. */
  readonly #failed: Batch[] = [];

  constructor(
    { transport, memory, omitMs }: Timeslices,
    account: number,
    query: TimesliceQuery,
    found: FoundRows,
    call: CallOptions,
  ) {
    this.#transport = transport;
    this.#memory = memory;
    this.#omitMs = omitMs;
    this.#account = account;
    this.#query = query;
    this.#found = found;
    this.#call = call;
  }

  async run(batch: Batch): Promise<void> {
    if (isShared(batch) && this.#isSilent) {
      await (this.#mayBeColumn(batch) ? this.#readColumns(batch, undefined) : this.#readFromOne(batch, undefined));
    } else await this.#read(batch, true);
    if (!this.#hasResponse) return;
    const { failures } = this.#memory;
    const { name } = this.#query;
    if (this.#failed.length === 0) {
      failures.recordSuccess(name, ...subjectOf(batch));
      failures.recordRecovery(
        name,
        batch.map(({ id }) => id),
      );
    } else if (isShared(batch)) for (const part of this.#failed) failures.recordFailure(name, ...subjectOf(part));
  }

  /** Whether the account answers nothing at the moment. */
  get #isSilent(): boolean {
    return this.#transport.http.isCircuitOpen(this.#call);
  }

  /** Gives whether all of it was read. @param isFirst false: it is a part of what failed, so it is not tried again */
  async #read(given: Batch, isFirst: boolean): Promise<boolean> {
    const batch = this.#withoutBadColumns(given);
    if (batch.length === 0) return false;
    if (!this.#isAnyRead && this.#unreadable >= MOST_UNREADABLE) return this.#readFromLast(batch);
    const end = await this.#queryOnce(batch, isFirst);
    if (end.kind === 'failed') return this.#readFailed(batch, end.error, isFirst);
    return this.#readEnded(batch, end.kind);
  }

  async #readEnded(batch: Batch, kind: Exclude<NrqlEnd['kind'], 'failed'>): Promise<boolean> {
    this.#hasResponse = true;
    if (kind === 'too_big') return this.#readHalves(batch, 'truncated', undefined);
    this.#isAnyRead = true;
    if (kind === 'answered') return true;
    // Of one application the message is true whatever is asked of it: it has no rows, and neither has any of its hosts.
    const halves = new Set(batch.map(({ id }) => id)).size > 1 ? halve(batch, false) : undefined;
    if (halves !== undefined) return this.#readBoth(batch, halves, 'error');
    // The service knows nothing of it: a good response without rows, and not asked for again for a while.
    for (const { id } of batch) this.#memory.failures.omit(this.#query.name, id, this.#omitMs);
    return true;
  }

  async #readFailed(batch: Batch, error: UpstreamError, isFirst: boolean): Promise<boolean> {
    const reason = BLAMABLE[error.failure.reason];
    const mayBeColumn = reason !== undefined && reason !== 'truncated' && this.#mayBeColumn(batch);
    if (!isShared(batch) && !mayBeColumn) {
      this.#failed.push(batch);
      return reason === 'truncated' ? this.#readHalves(batch, reason, error) : this.#fail(batch, error);
    }
    const ids = batch.map(({ id }) => id);
    // The service may have failed for a moment, as it says: then the next refresh reads the whole again.
    const mayPass =
      isFirst && error.failure.isTransient === true && !this.#memory.failures.recordTransient(this.#query.name, ids);
    if (reason === undefined || mayPass || (!this.#hasResponse && this.#isSilent)) return this.#fail(batch, error);
    if (mayBeColumn) return this.#readColumns(batch, { error, reason });
    // Hosts of one application: it may be the one to blame.
    const isKnown = this.#hasResponse && batch.length > 1;
    return isKnown || reason === 'truncated'
      ? this.#readHalves(batch, reason, error)
      : this.#readFromOne(batch, { error, reason });
  }

  /** Golden metrics of a query fail together where one of them cannot be read: until they were told apart, it may be one. */
  #mayBeColumn(batch: Batch): boolean {
    return this.#query.golden !== undefined && !this.#areColumnsTold && columnsOf(batch).length > 1;
  }

  /**
   * Finds the columns that break the query. One column of one entity is asked for first, and another one of another entity
   * where that fails: with the batch itself that makes three calls in a row, as in `#readFromOne`.
   */
  async #readColumns(
    batch: Batch,
    failed: { readonly error: UpstreamError; readonly reason: SplitReason } | undefined,
  ): Promise<boolean> {
    let lastError = failed?.error;
    if (failed !== undefined) this.#transport.http.split(failed.reason);
    for (const [part, columns] of probesOf(batch)) {
      if (lastError !== undefined && !this.#hasResponse && this.#isSilent) break;
      const [first = '', ...others] = columns;
      const end = await this.#post([withColumns(part, [first])], 'none');
      if (end.kind === 'failed') {
        lastError = end.error;
        continue;
      }
      this.#hasResponse = true;
      this.#isAnyRead ||= end.kind === 'answered';
      await this.#tellColumns(part, others);
      this.#areColumnsTold = true;
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

  /** Asks one entity for columns, in halves where that fails, until those that fail alone are known. */
  async #tellColumns(part: QueryPart, columns: readonly string[]): Promise<void> {
    if (columns.length === 0) return;
    const end = await this.#post([withColumns(part, columns)], 'none');
    if (end.kind !== 'failed') return;
    if (columns.length > 1) {
      const middle = Math.ceil(columns.length / 2);
      await this.#tellColumns(part, columns.slice(0, middle));
      await this.#tellColumns(part, columns.slice(middle));
    } else for (const column of columns) this.#badColumns.set(column, end.error);
  }

  /** The batch without the columns that break queries; they fail in all that ask for them. */
  #withoutBadColumns(batch: Batch): Batch {
    if (this.#badColumns.size === 0) return batch;
    return batch.flatMap((part) => {
      const { names } = part.selector;
      for (const name of names) {
        const error = this.#badColumns.get(name);
        if (error !== undefined) this.#found.get(part.id)?.columnFailures.set(name, error);
      }
      const left = names.filter((name) => !this.#badColumns.has(name));
      if (left.length === names.length) return [part];
      return left.length === 0 ? [] : [withColumns(part, left)];
    });
  }

  /** Nothing was read so far: of what is left only the last subject is asked for, and the others once that one is read. */
  async #readFromLast(batch: Batch): Promise<boolean> {
    const [one, others] = takeOne(batch, true) ?? [batch, undefined];
    const end = await this.#queryOnce(one, false);
    if (end.kind === 'failed' || end.kind === 'too_big') {
      return this.#fail(batch, end.kind === 'failed' ? end.error : undefined);
    }
    await this.#readEnded(one, end.kind);
    return others === undefined || this.#read(others, false);
  }

  /**
   * Asks for one subject, and for another where that fails. Only once one was answered, the others are read.
   *
   * @param failed why the whole failed; undefined: it was not asked for, because the account was silent
   */
  async #readFromOne(
    batch: Batch,
    failed: { readonly error: UpstreamError; readonly reason: SplitReason } | undefined,
  ): Promise<boolean> {
    let others = batch;
    const tried: Batch[] = [];
    let lastError: UpstreamError | undefined = failed?.error;
    if (failed !== undefined) this.#transport.http.split(failed.reason);
    for (const last of [false, true]) {
      if (last && !this.#hasResponse && this.#isSilent) break;
      const taken = takeOne(others, last);
      // Of two, the other one is all that is left.
      const one = taken?.[0] ?? others;
      const end = await this.#queryOnce(one, false);
      if (end.kind === 'failed') {
        lastError = end.error;
        tried.push(one);
        this.#fail(one, end.error);
        if (taken === undefined) break;
        others = taken[1];
        continue;
      }
      this.#failed.push(...tried);
      const isRead = await this.#readEnded(one, end.kind);
      if (taken === undefined) return isRead && tried.length === 0;
      const rest =
        failed === undefined ? this.#read(taken[1], false) : this.#readHalves(taken[1], failed.reason, failed.error);
      return (await rest) && isRead;
    }
    this.#failed.push(...(batch.length === 1 ? [batch] : tried));
    return this.#fail(others, lastError);
  }

  /** @param error why the whole failed; undefined: it has more rows than a response holds */
  async #readHalves(batch: Batch, reason: SplitReason, error: UpstreamError | undefined): Promise<boolean> {
    const halves = halve(batch, reason === 'truncated');
    if (halves !== undefined) return this.#readBoth(batch, halves, reason);
    // One subject is left of what failed: it has not been asked for alone yet.
    if (error !== undefined && reason !== 'truncated') return this.#read(batch, false);
    this.#failed.push(batch);
    this.#unreadable += 1;
    return this.#fail(batch, error);
  }

  /**
   * Halves of one subject are read in turn: it fails when either does. Halves of a batch too until something was read, so that
   * little is asked where nothing can be.
   */
  async #readBoth(batch: Batch, [first, second]: readonly [Batch, Batch], reason: SplitReason): Promise<boolean> {
    this.#transport.http.split(reason);
    if (!isShared(batch)) return (await this.#read(first, false)) && (await this.#read(second, false));
    const reading = this.#read(first, false);
    if (!this.#isAnyRead) await reading;
    return (await Promise.all([reading, this.#read(second, false)])).every(Boolean);
  }

  /** Notes a failure of each subject; undefined: it has more rows than a response holds, however it is divided. */
  #fail(batch: Batch, error: UpstreamError | undefined): false {
    fail(batch, error ?? this.#transport.invalid(this.#query.group, 'more rows than an answer holds'), this.#found);
    if (error !== undefined) return false;
    for (const { id } of batch) {
      const rows = this.#found.get(id);
      if (rows !== undefined) rows.tooMany = true;
    }
    return false;
  }

  async #queryOnce(batch: Batch, isFirst: boolean): Promise<NrqlEnd> {
    const { failures } = this.#memory;
    const { name } = this.#query;
    if (batch.length > 1) {
      // What went on to fail at the last refresh is divided now, instead of being tried again.
      const ids = batch.map(({ id }) => id);
      return this.#post(batch, isFirst && !failures.isTransient(name, ids) ? 'transient' : 'none');
    }
    const [id, host] = subjectOf(batch);
    const isSuspect = failures.isSuspect(name, id) || failures.isSuspect(name, id, host);
    const error = isSuspect ? failures.tooManyFailures(name, id, host) : undefined;
    if (error !== undefined) return { kind: 'failed', error };
    if (isFirst && !isSuspect) return this.#post(batch, isShared(batch) ? 'transient' : 'all');
    const end = await this.#post(batch, 'none');
    // What is too large is read in smaller parts, which are no repetitions.
    const isCounted = end.kind === 'failed' && end.error.failure.reason !== 'too_large';
    if (isCounted) failures.recordOwnFailure(name, id, host, end.error);
    return end;
  }

  async #post(batch: Batch, retries: NonNullable<NrqlRead['retries']>): Promise<NrqlEnd> {
    const { group, range, columns = 'values', groupBy, bucketMinutes, golden } = this.#query;
    if (golden !== undefined) return this.#postGolden(batch, golden, retries);
    if (groupBy === 'entity') throw new RangeError('a query of golden metrics needs their source');
    const condition = conditionOf(batch, groupBy);
    // Other data than timeslices may carry an application's id, too.
    const where = columns === 'names' ? all([condition, isNotNull(TIMESLICE)]) : condition;
    const select = groupBy === 'key_transaction' ? OF_KEY_TRANSACTIONS : SELECTIONS[columns];
    const query = { select, where, facet: FACETS[groupBy], range, bucketMinutes };
    const bounds = bucketMinutes === undefined ? BOUNDS.query : BOUNDS.series;
    const end = await this.#transport.nrql({ group, account: this.#account, query, retries, bounds }, this.#call);
    const asked = { ...this.#query, groupBy };
    return this.#take(end, (result, discarded) =>
      takeRows(result, batch, asked, this.#found, discarded, (words) => this.#transport.invalid(group, words)),
    );
  }

  async #postGolden(batch: Batch, source: GoldenSource, retries: NonNullable<NrqlRead['retries']>): Promise<NrqlEnd> {
    const { group, range } = this.#query;
    const columns = columnsOf(batch);
    const ids = batch.map(({ id }) => recordId(String(id), source.eventObjectId) ?? '');
    const run = async (form: IdListForm): Promise<NrqlEnd> => {
      const query = goldenQuery(source, columns, ids, range, form);
      const read = { group, account: this.#account, query, retries, bounds: BOUNDS.query, keyHeader: 'Api-Key' };
      const end = await this.#transport.nrql(read, this.#call);
      const asked = { source, columns, range };
      return this.#take(end, (result, discarded) =>
        takeGoldenRows(result, batch, asked, this.#found, discarded, (words) => this.#transport.invalid(group, words)),
      );
    };
    const hasNumbers = source.eventObjectId === 'DOMAIN_IDS' && ids.some(isCanonicalInteger);
    const end = await run(this.#memory.idListForm);
    // Whether the service takes numbers and texts in one list is not documented.
    const mayBeList = end.kind === 'failed' && end.error.failure.reason === 'other' && hasNumbers;
    if (!mayBeList || this.#memory.idListForm === 'separate') return end;
    const again = await run('separate');
    if (again.kind !== 'failed') this.#memory.idListForm = 'separate';
    return again;
  }

  /** Reads a good response; gives `too_big` where rows are missing in it. */
  async #take(
    end: NrqlEnd,
    read: (result: Json, discarded: Discarded) => boolean | Promise<boolean>,
  ): Promise<NrqlEnd> {
    if (end.kind !== 'answered') return end;
    try {
      const { group } = this.#query;
      const isWhole = await this.#transport.parseReporting(group, (discarded) => read(end.result, discarded));
      return isWhole ? end : { kind: 'too_big' };
    } catch (error) {
      if (error instanceof UpstreamError) return { kind: 'failed', error };
      throw error;
    }
  }
}

/** What the parts of a query select, each once. */
function columnsOf(batch: Batch): readonly string[] {
  return [...new Set(batch.flatMap(({ selector }) => selector.names))];
}

function withColumns(part: QueryPart, columns: readonly string[]): QueryPart {
  return { ...part, selector: new MetricSelector(columns, [], false) };
}

/** The first entity with its columns from the first on, and the last one with its columns from the last on. */
function probesOf(batch: Batch): readonly (readonly [QueryPart, readonly string[]])[] {
  const [first] = batch;
  const last = batch.at(-1);
  if (first === undefined || last === undefined) return [];
  return [
    [first, first.selector.names],
    [last, last.selector.names.toReversed()],
  ];
}

/** Whether it asks for several subjects: applications, hosts or key transactions. */
function isShared(batch: Batch): boolean {
  return batch.length > 1 || (batch[0]?.hosts?.length ?? 1) > 1;
}

/** The subject that a batch of one part is about; of several hosts, the application. */
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
