import type { AccountMemory } from './accountMemory.ts';
import {
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
import { FULL, Incomplete } from './nrql.ts';
import {
  queryBatch,
  subjectInWords,
  SubjectRows,
  type BatchEnd,
  type FoundRows,
  type RowsRead,
  type TimesliceQuery,
} from './rows.ts';
import type { FailureMemory, SubjectId, Suspect } from '../http/failureMemory.ts';
import type { CallOptions, SplitReason } from '../upstreamReader.ts';
import { UpstreamError, type FailureReason } from '../upstreamError.ts';
import { sourceKey } from '../../nrql/goldenMetric.ts';
import { READS, type Group } from '../../reads/reads.ts';

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

/** The golden ratio spreads the subjects and columns with which probes begin, because neighbours often fail together. */
const GOLDEN_RATIO = 0.618;

/** What to change where one subject is too large for a query, by the group of the read. */
const REMEDIES: Partial<Record<Group, string>> = {
  applications: 'leave it out (applications.exclude)',
  application_metrics: 'leave it out (applications.exclude)',
  counters: 'leave it out (applications.exclude)',
  key_transactions: 'leave it out (key_transactions.exclude)',
  hosts: 'read it without hosts (applications.settings: hosts: false)',
  host_metrics: 'read it without hosts (applications.settings: hosts: false)',
  custom_metrics: 'a longer literal part in "match" (custom_metrics) narrows the list of names',
  golden_metrics: 'choose fewer golden metrics (entities: metrics)',
};

/** The number of calls of these queries when nothing fails. */
export function countQueries(memory: AccountMemory, queries: readonly TimesliceQuery[]): number {
  return queries.reduce((sum, query) => {
    const batches = planQueries(query.parts, memory, query);
    if (!memory.failures.hasSuspects) return sum + batches.length;
    // A suspect column is read of one entity first.
    const twice = batches.filter((batch) => isShared(batch) && isSuspectColumn(batch, memory, query));
    return sum + batches.length + twice.length;
  }, 0);
}

/** Reads the rows of a query, by subject; rejects only with the reason of the signal. */
export async function readTimeslices(
  account: NerdGraphAccount,
  query: TimesliceQuery,
  call: CallOptions,
): Promise<FoundRows> {
  const batches = planQueries(query.parts, account.memory, query);
  const parts = batches.flat();
  const found = new Map(parts.map(({ id }) => [id, new SubjectRows()]));
  if (parts.length === 0) return found;
  try {
    const read: RowsRead = { account, accountId: await account.id(call), query, found, call };
    await Promise.all(batches.map((batch) => readBatch(read, batch)));
    for (const part of parts) learn(account.memory, part, query, found.get(part.id));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    for (const rows of found.values()) rows.failure = error;
  }
  return found;
}

/** Reads one planned batch. What breaks it is looked for only where it fails, or where anything failed before. */
async function readBatch(read: RowsRead, batch: Batch): Promise<void> {
  const { account, query } = read;
  const { failures } = account.memory;
  const probes = account.memory.probesOf(query.golden === undefined ? query.read : sourceKey(query.golden));
  const isPlain = !failures.hasSuspects && !failures.hasOmissions && !probes.isNext;
  const end = isPlain ? await queryBatch(read, batch, isShared(batch) ? 'transient' : 'all') : undefined;
  const isUsed = !(end instanceof UpstreamError || end instanceof Incomplete);
  const isGood = end !== undefined && typeof end !== 'string' && isUsed;
  // Other batches may have failed meanwhile.
  if (!isGood || failures.hasSuspects || failures.hasOmissions) return new SplitRead(read, batch, probes).run(end);
  probes.isNext = false;
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

/** Reads a planned batch, and finds what breaks it (docs/nerdgraph.md, "What breaks a batch"). */
class SplitRead {
  readonly #context: RowsRead;
  readonly #failures: FailureMemory;
  readonly #probes: ReturnType<AccountMemory['probesOf']>;
  /** True once any part had a response, even that it is too big. */
  #isAnswered = false;
  /** The subjects and columns of which something was read. */
  readonly #good = new Set<SubjectId>();
  /** Parts that failed alone. */
  readonly #blamed = new Map<Batch, UpstreamError>();
  /** Columns of golden metrics that failed for several entities. */
  readonly #badColumns = new Map<string, UpstreamError>();
  /** Entities of which one column failed alone: their other columns are read at the end, apart from all others. */
  readonly #apart = new Set<SubjectId>();
  #isEnd = false;
  readonly #planned: Batch;
  /** True if the planned batch is one suspect, which says nothing about shared queries. */
  readonly #isSuspect: boolean;

  constructor(context: RowsRead, planned: Batch, probes: ReturnType<AccountMemory['probesOf']>) {
    this.#context = context;
    this.#planned = planned;
    this.#probes = probes;
    this.#failures = context.account.memory.failures;
    const suspect = this.#suspectIn(planned);
    this.#isSuspect = suspect !== undefined && this.#failures.isSuspect(suspect.kind, suspect.id, suspect.part);
  }

  /** @param first how the query of the whole batch ended, if it was run */
  async run(first: BatchEnd | undefined): Promise<void> {
    const batch = this.#planned;
    const { account, query } = this.#context;
    // A suspect column is read of one entity, and of the others once that has it.
    const isNext = this.#isSuspect ? isSuspectColumn(batch, account.memory, query) : this.#probes.isNext;
    const isProbed = first === undefined && isNext && this.#isDivisible(batch);
    await this.#readPart(isProbed ? await this.#probe(batch, undefined) : batch, !isProbed, first);
    this.#isEnd = true;
    for (const part of batch) if (this.#apart.has(part.id)) await this.#readApart(part);
    if (this.#isAnswered) this.#remember();
  }

  #remember(): void {
    const { query } = this.#context;
    const batch = this.#planned;
    const failures = this.#failures;
    const suspect = this.#suspectIn(batch);
    if (!this.#isSuspect) this.#probes.isNext = false;
    if (this.#blamed.size + this.#badColumns.size === 0) {
      if (suspect !== undefined) failures.recordSuccess(suspect);
      failures.recordRecovery(query.read, idsOf(batch));
    } else if (this.#isDivisible(batch)) {
      // A column that one entity has is not what made the query of all fail.
      const isGood = this.#columns(batch).some((column) => this.#good.has(column));
      if (suspect?.kind === COLUMNS && isGood) failures.acquit(suspect);
      for (const [part, error] of this.#blamed) {
        const failed = this.#suspectIn(part);
        if (failed !== undefined) failures.recordFailure(failed, error);
      }
      for (const [column, error] of this.#badColumns) {
        failures.recordFailure({ kind: COLUMNS, id: columnId(query.golden, column) }, error);
      }
    }
  }

  /** The columns of golden metrics; none of other data. */
  #columns(batch: Batch): readonly string[] {
    return this.#context.query.golden === undefined ? [] : columnsOf(batch);
  }

  #hasColumns(batch: Batch): boolean {
    return this.#columns(batch).length > 1;
  }

  /** True for several subjects or columns; less than that is divided, by metric, only where it is too big. */
  #isDivisible(batch: Batch): boolean {
    return isShared(batch) || this.#hasColumns(batch);
  }

  /** @param isFirst false: it is a part of a failed batch, so it is not retried */
  async #readPart(given: Batch, isFirst = false, read?: BatchEnd): Promise<void> {
    const batch = this.#withoutBroken(given);
    if (batch.length === 0) return;
    const end = read ?? (await this.#runQuery(batch, isFirst));
    if (!(end instanceof UpstreamError)) return this.#afterResponse(batch, end);
    const reason = BLAMABLE[end.failure.reason];
    if (!this.#isDivisible(batch)) {
      if (reason === 'truncated') return this.#divide(batch, reason, end);
      this.#blame(batch, end);
      return;
    }
    // A planned batch is divided for a transient failure only if its previous read failed like this, too.
    const { read: kind } = this.#context.query;
    const mayPass = isFirst && end.failure.isTransient === true && !this.#failures.recordTransient(kind, idsOf(batch));
    if (reason === undefined || mayPass) this.#fail(batch, end);
    else await this.#divide(batch, reason, end);
  }

  async #afterResponse(batch: Batch, end: Exclude<BatchEnd, UpstreamError>): Promise<void> {
    const { query, account } = this.#context;
    this.#isAnswered = true;
    if (end instanceof Incomplete) return this.#divide(batch, 'truncated', end);
    for (const good of [...idsOf(batch), ...this.#columns(batch)]) this.#good.add(good);
    if (end !== 'unmatched') {
      for (const { id } of batch) this.#failures.readmit(id, query.read);
      return;
    }
    // One application without data has none for any host or metric, so only several applications are divided.
    if (new Set(idsOf(batch)).size > 1) return this.#divide(batch, 'error', undefined);
    // New Relic has no data of the subject: a good response without rows, and the subject is left out for up to `detailsMs`.
    const maxMs = Math.min(query.maxOmissionMs ?? Infinity, account.options.detailsMs);
    for (const { id } of batch) this.#failures.omitWithoutData(query.read, id, maxMs);
  }

  /**
   * Reads a batch in halves, once one of its smallest parts was read. Columns are read in turn, because one that fails is
   * left out of further parts; and so are the metrics of one subject, which fails with any of them.
   *
   * @param error why the whole batch has no result; undefined: New Relic has no data of any of it
   */
  async #divide(batch: Batch, reason: SplitReason, error: UpstreamError | Incomplete | undefined): Promise<void> {
    this.#context.account.options.observer.split(reason);
    const isDivisible = this.#isDivisible(batch);
    const left = isDivisible && !this.#isProven(batch) ? await this.#probe(batch, error) : batch;
    if (isDivisible && !this.#isDivisible(left)) return this.#readPart(left);
    const hasColumns = this.#hasColumns(left);
    const halves = hasColumns ? halveColumns(left) : halve(left);
    if (halves === undefined) {
      const isFailed = reason !== 'truncated' && error instanceof UpstreamError;
      this.#blame(batch, isFailed ? error : this.#tooBig(batch, error));
      return;
    }
    const [first, second] = halves;
    if (isDivisible && !hasColumns) {
      await Promise.all([this.#readPart(first), this.#readPart(second)]);
      return;
    }
    await this.#readPart(first);
    const isFailed = first.some(({ id, hosts }) => this.#context.found.get(id)?.failureOf(hosts?.[0]) !== undefined);
    if (hasColumns || !isFailed) await this.#readPart(second);
  }

  /** True once anything of the batch was read; of one column, and of the hosts of one application, others prove nothing. */
  #isProven(batch: Batch): boolean {
    const [column, another] = this.#columns(batch);
    if (another !== undefined) return this.#isAnswered;
    const [part] = batch;
    const key = batch.length === 1 ? part?.id : column;
    return key === undefined ? this.#good.size > 0 : this.#good.has(key);
  }

  /**
   * Reads one subject, of golden metrics one column of it, and another one if that fails. Returns what is left to read once
   * anything was read; nothing, with all failed, where nothing was. Each probe begins with another one: concurrent reads that
   * all begin with a failing one would keep the circuit open.
   *
   * @param error why the whole batch has no result; undefined: it was not read, or New Relic has no data of any of it
   */
  async #probe(batch: Batch, error: UpstreamError | Incomplete | undefined): Promise<Batch> {
    const { account, call } = this.#context;
    const begin = this.#probes.count * GOLDEN_RATIO;
    this.#probes.count += 1;
    const hasColumns = this.#hasColumns(batch);
    const failed = new Map<Batch, UpstreamError>();
    let left = batch;
    let last = error;
    let turns = 0;
    for (const turn of [0, 0.5]) {
      const isSilent = turns > 0 && !this.#isAnswered;
      if (left.length === 0 || (isSilent && (this.#isSuspect || account.transport.http.isCircuitOpen(call)))) break;
      turns += 1;
      const [one, others] = takeOne(left, (begin + turn) % 1, hasColumns);
      const end = await this.#runQuery(one, false);
      if (!(end instanceof UpstreamError)) await this.#afterResponse(one, end);
      else if (!hasColumns) {
        failed.set(one, end);
        this.#fail(one, end);
      }
      left = others;
      if (this.#isProven(batch)) {
        for (const each of failed) this.#blame(...each);
        return left;
      }
      if (end instanceof UpstreamError) last = end;
      else if (end instanceof Incomplete) last ??= end;
    }
    this.#probes.isNext ||= !this.#isAnswered && !this.#isSuspect;
    const failure = last instanceof UpstreamError ? last : this.#tooBig(batch, last);
    const [column = ''] = hasColumns ? [] : this.#columns(batch);
    if (batch.length === 1) this.#blameSubject(batch, failure);
    else if (column !== '' && turns > 1) this.#badColumns.set(column, failure);
    else for (const each of failed) this.#blame(...each);
    this.#fail(left, failure);
    return [];
  }

  /** Fails what cannot be divided further. The other columns of an entity are then read apart. */
  #blame(batch: Batch, error: UpstreamError): void {
    this.#blamed.set(batch, error);
    const isShared = this.#planned.length > 1 && !this.#isEnd;
    if (this.#context.query.golden !== undefined && isShared) for (const { id } of batch) this.#apart.add(id);
    this.#fail(batch, error);
  }

  /** Fails a whole subject, in place of the parts of it that failed. */
  #blameSubject(batch: Batch, error: UpstreamError): void {
    for (const part of this.#blamed.keys()) if (part[0]?.id === batch[0]?.id) this.#blamed.delete(part);
    this.#blamed.set(batch, error);
    this.#fail(batch, error);
  }

  /** Reads the columns of an entity that were not read because one of them failed alone; if they fail, the entity is the cause. */
  async #readApart(part: QueryPart): Promise<void> {
    const rows = this.#context.found.get(part.id);
    const isOpen = (name: string): boolean =>
      !this.#badColumns.has(name) && rows?.columns.has(name) === false && !rows.failures.has(name);
    const batch = withColumns([part], part.selector.names.filter(isOpen));
    if (batch.length === 0) return;
    const end = await this.#runQuery(batch, false);
    if (!(end instanceof UpstreamError)) return this.#afterResponse(batch, end);
    this.#blameSubject([part], end);
    this.#fail(batch, end);
  }

  /** The batch without columns that fail for all entities, and without entities that are read at the end. */
  #withoutBroken(batch: Batch): Batch {
    if (this.#isEnd || this.#badColumns.size + this.#apart.size === 0) return batch;
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

  /** @param cause why the smallest part has no result that can be used */
  #tooBig(batch: Batch, cause: UpstreamError | Incomplete = FULL): UpstreamError {
    const { account, query } = this.#context;
    const { group } = READS[query.read];
    const [subject = '', ...others] = new Set(batch.map((part) => subjectInWords(part, query.groupBy)));
    const why = cause instanceof Incomplete ? cause.why : cause.message;
    const isTooLarge = cause instanceof UpstreamError || cause.isTooLarge;
    // What New Relic says of the data may be true of the whole account, so that no application is to blame.
    const said = others.length === 0 ? `${subject}: ${why}` : why;
    const large = `${[subject, ...others].join(', ')}: too large for one query: ${REMEDIES[group] ?? ''}; ${why}`;
    return account.transport.failure(group, isTooLarge ? large : said, 'too_large', { isTooBig: true });
  }

  #fail(batch: Batch, error: UpstreamError): void {
    const { query, found } = this.#context;
    for (const { id, hosts, selector } of batch) {
      const rows = found.get(id);
      if (rows === undefined) continue;
      const keys = query.golden === undefined ? hosts : selector.names;
      if (keys === undefined) rows.failure = error;
      else for (const key of keys) rows.failures.set(key, error);
    }
  }

  async #runQuery(batch: Batch, isFirst: boolean): Promise<BatchEnd> {
    const suspect = this.#suspectIn(batch);
    const failures = this.#failures;
    const isSuspect =
      this.#isSuspect || (suspect !== undefined && failures.isSuspect(suspect.kind, suspect.id, suspect.part));
    if (suspect === undefined || (isFirst && !isSuspect)) {
      // After a transient failure at its previous read, a batch is divided and not retried.
      const { read } = this.#context.query;
      const isRetried = isFirst && !(isShared(batch) && failures.isTransient(read, idsOf(batch)));
      return queryBatch(this.#context, batch, !isRetried ? 'none' : isShared(batch) ? 'transient' : 'all');
    }
    const alone = failures.beginAlone(suspect);
    if (alone instanceof UpstreamError) return alone;
    const end = await queryBatch(this.#context, batch, 'none', isSuspect);
    const error = end instanceof UpstreamError ? end : end instanceof Incomplete ? alone.error : undefined;
    // What is too big is no failure the first time, because it is read in smaller parts.
    const isTooBig = end instanceof Incomplete || error?.failure.reason === 'too_large';
    failures.endAlone(alone, isTooBig && !isSuspect ? undefined : error);
    return end;
  }

  /**
   * What a batch is about alone: a suspect column, a column of one entity, or one subject, which comes before its columns if
   * it is a suspect itself. Undefined for a batch of several.
   */
  #suspectIn(batch: Batch): Suspect | undefined {
    const { read: kind, golden } = this.#context.query;
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

function idsOf(batch: Batch): readonly SubjectId[] {
  return batch.map(({ id }) => id);
}
