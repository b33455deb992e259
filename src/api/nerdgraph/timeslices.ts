import {
  conditionOf,
  halve,
  planQueries,
  takeOne,
  type Batch,
  type Fleet,
  type Part,
  type QueryKind,
} from './batching.ts';
import { HalvingRead, type QueryEnd } from './halving.ts';
import type { Account } from './keyAccount.ts';
import { all, isNotNull, TIMESLICE, type Attribute, type Selection } from './nrql.ts';
import { nearWindow, rowsOf } from './nrqlAnswer.ts';
import { ApplicationRows, RowReading } from './rows.ts';
import type { Suspects } from './suspects.ts';
import type { CallGroup, Transport } from './transport.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { CallFailure } from '../http/callFailure.ts';
import { BOUNDS } from '../http/jsonShape.ts';
import type { AnswerRules } from '../http/body.ts';
import type { CallOptions, Outcome, SplitReason, TimeRange } from '../reader.ts';
import { LeftOut } from '../records/lenient.ts';
import { UpstreamError } from '../types.ts';

export interface TimesliceQuery extends QueryKind {
  readonly group: CallGroup;
  readonly range: TimeRange;
  /** `names`: only the facets of the rows are of use, so that any window is good. `squares`: with the sums of squares. */
  readonly columns: 'names' | 'values' | 'squares';
  /** Minutes per bucket; undefined: one row over the whole range. */
  readonly bucketMinutes?: number;
}

/** The service chooses the facets it gives by the first function. */
const COUNT = { of: 'count', from: TIMESLICE, as: 'c' } as const;
const VALUES = [
  COUNT,
  { of: 'sum', from: TIMESLICE, as: 't' },
  { of: 'sum', from: `${TIMESLICE}['totalExclusive']`, as: 'x' },
  { of: 'min', from: TIMESLICE, as: 'mn' },
  { of: 'max', from: TIMESLICE, as: 'mx' },
] as const;
const SELECTIONS: Readonly<Record<TimesliceQuery['columns'], readonly [Selection, ...Selection[]]>> = {
  names: [COUNT],
  values: VALUES,
  squares: [...VALUES, { of: 'sum', from: `${TIMESLICE}['sumOfSquares']`, as: 'q' }],
};
const BY_APPLICATION: readonly Attribute[] = ['appId', 'metricTimesliceName'];
const BY_HOST: readonly Attribute[] = ['appId', 'host', 'metricTimesliceName'];

/** Reads timeslice data of many applications or hosts with one query, in parts where one is not enough. */
export class Timeslices {
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #fleet: Fleet;

  constructor(transport: Transport, account: Account, fleet: Fleet) {
    this.#transport = transport;
    this.#account = account;
    this.#fleet = fleet;
  }

  /** What was found of each application, by its id. Rejects only with the reason of the signal. */
  async read(
    parts: readonly Part[],
    query: TimesliceQuery,
    call: CallOptions,
  ): Promise<ReadonlyMap<number, ApplicationRows>> {
    const found = new Map(parts.map(({ applicationId }) => [applicationId, new ApplicationRows()]));
    const { suspects } = this.#fleet;
    const asked = parts.filter(({ applicationId }) => !suspects.isUnmatched(query.kind, applicationId));
    if (asked.length === 0) return found;
    const account = await outcomeOf(this.#account.id(call));
    if ('error' in account) {
      note(asked, account.error, found);
      return found;
    }
    await Promise.all(
      planQueries(asked, this.#fleet, query).map(async (batch) => {
        const sources = { transport: this.#transport, account: account.value, suspects };
        const { blamed, isAnswered } = await new TimesliceBatch(sources, query, found, call).run(batch);
        const isShared = batch.length > 1 || (batch[0]?.hosts?.length ?? 1) > 1;
        if (isShared) for (const part of blamed) suspects.broke(query.kind, ...subjectOf(part));
        if (isAnswered && blamed.length === 0) suspects.answered(query.kind, ...subjectOf(batch));
      }),
    );
    return found;
  }
}

interface Sources {
  readonly transport: Transport;
  readonly account: number;
  readonly suspects: Suspects;
}

/** One planned batch, and whatever parts it takes to read it. */
class TimesliceBatch extends HalvingRead<Batch> {
  readonly #sources: Sources;
  readonly #query: TimesliceQuery;
  readonly #found: ReadonlyMap<number, ApplicationRows>;
  readonly #call: CallOptions;

  constructor(sources: Sources, query: TimesliceQuery, found: ReadonlyMap<number, ApplicationRows>, call: CallOptions) {
    super();
    this.#sources = sources;
    this.#query = query;
    this.#found = found;
    this.#call = call;
  }

  protected async query(batch: Batch, isFirst: boolean): Promise<QueryEnd> {
    const { suspects } = this.#sources;
    const { kind } = this.#query;
    if (batch.length > 1) {
      // What went on to fail at the last refresh is divided now, instead of being tried again.
      const isStrained = suspects.isStrained(kind, idsOf(batch));
      return this.#ask(batch, isStrained || !isFirst ? 'none' : 'said_to_pass');
    }
    const [id, host] = subjectOf(batch);
    const isSuspect = suspects.has(kind, id) || suspects.has(kind, id, host);
    const error = isSuspect ? suspects.tooManyFailures(kind, id, host) : undefined;
    if (error !== undefined) return { kind: 'failed', error, isSaidToPass: false };
    const isAlone = isFirst && !isSuspect;
    const end = await this.#ask(
      batch,
      !isAlone ? 'none' : this.takeOne(batch, false) === undefined ? 'all' : 'said_to_pass',
    );
    // What is too large is read in smaller parts, which are no repetitions.
    const isCounted = end.kind === 'failed' && end.error.failure.reason !== 'too_large';
    if (isCounted && !isAlone) suspects.failed(kind, id, host, end.error);
    return end;
  }

  protected halve(batch: Batch, reason: SplitReason): readonly [Batch, Batch] | undefined {
    return halve(batch, reason === 'truncated');
  }

  protected takeOne(batch: Batch, last: boolean): readonly [Batch, Batch] | undefined {
    return takeOne(batch, last);
  }

  protected isOneApplication(batch: Batch): boolean {
    return batch.length === 1;
  }

  protected fail(batch: Batch, error: UpstreamError | undefined): void {
    const { transport } = this.#sources;
    note(batch, error ?? transport.invalid(this.#query.group, 'more rows than an answer holds'), this.#found);
    if (error !== undefined) return;
    for (const { applicationId } of batch) {
      const rows = this.#found.get(applicationId);
      if (rows !== undefined) rows.tooMany = true;
    }
  }

  /** The service knows nothing of it: a good answer without rows, and not asked for again for a while. */
  protected unmatched(batch: Batch): void {
    for (const { applicationId } of batch) this.#sources.suspects.unmatched(this.#query.kind, applicationId);
  }

  protected isSilent(): boolean {
    return this.#sources.transport.isSilentFor(this.#call);
  }

  protected isStrained(batch: Batch): boolean {
    const { suspects } = this.#sources;
    const ids = idsOf(batch);
    if (suspects.wasStrained(this.#query.kind, ids)) return true;
    suspects.strain(this.#query.kind, ids);
    return false;
  }

  protected split(reason: SplitReason): void {
    this.#sources.transport.split(reason);
  }

  async #ask(batch: Batch, retries: AnswerRules['retries']): Promise<QueryEnd> {
    const { transport, account } = this.#sources;
    const { group, range, columns, byHost, bucketMinutes } = this.#query;
    const facet = byHost ? BY_HOST : BY_APPLICATION;
    const condition = conditionOf(batch, byHost);
    // Other data than timeslices may carry an application's id, too.
    const where = columns === 'names' ? all([condition, isNotNull(TIMESLICE)]) : condition;
    const query = { select: SELECTIONS[columns], where, facet, range, bucketMinutes };
    const bounds = bucketMinutes === undefined ? BOUNDS.query : BOUNDS.series;
    const end = await transport.nrql({ group, account, query, retries, bounds }, this.#call);
    if (end.kind === 'too_big') return { kind: 'truncated' };
    if (end.kind !== 'answered') return end;
    const leftOut = new LeftOut();
    try {
      return { kind: (await this.#take(batch, end.result, leftOut)) ? 'answered' : 'truncated' };
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      return { kind: 'failed', error: transport.fail(group, error), isSaidToPass: false };
    } finally {
      transport.leftOut(group, leftOut);
    }
  }

  /** Takes the rows of an answer; gives false where some are missing. */
  async #take(batch: Batch, result: Readonly<Record<string, unknown>>, leftOut: LeftOut): Promise<boolean> {
    const { group, range, columns, byHost, bucketMinutes } = this.#query;
    const facet = byHost ? BY_HOST : BY_APPLICATION;
    const answer = rowsOf(result, facet, bucketMinutes !== undefined);
    if (answer === undefined) return false;
    const bucket = bucketMinutes === undefined ? undefined : 60 * bucketMinutes;
    const isWhole = bucket === undefined && columns !== 'names';
    const window = isWhole ? nearWindow(answer, range) : answer.window;
    if (window === undefined && columns !== 'names') {
      throw new CallFailure('invalid_response', 'the answer does not say which time it is for');
    }
    const times = { bucket, range, window };
    const reading = new RowReading(batch, facet, answer, { times, isNamesOnly: columns === 'names' }, leftOut);
    await inSlices(answer.rows, (row) => reading.take(row));
    reading.handOver(this.#found, columns === 'names' ? undefined : window, (words) =>
      this.#sources.transport.invalid(group, words),
    );
    return true;
  }
}

function idsOf(batch: Batch): readonly number[] {
  return batch.map(({ applicationId }) => applicationId);
}

/** The application or host that a batch of one part is about; of several hosts, the application. */
function subjectOf(batch: Batch): readonly [applicationId: number, host: string | undefined] {
  const [part] = batch;
  if (part === undefined) throw new RangeError('a batch without parts');
  const { applicationId, hosts } = part;
  return [applicationId, hosts?.length === 1 ? hosts[0] : undefined];
}

function note(batch: Batch, failure: UpstreamError, found: ReadonlyMap<number, ApplicationRows>): void {
  for (const { applicationId, hosts } of batch) {
    const rows = found.get(applicationId);
    if (rows === undefined) continue;
    if (hosts === undefined) rows.failure = failure;
    else for (const host of hosts) rows.failures.set(host, failure);
  }
}

async function outcomeOf<A>(reading: Promise<A>): Promise<Outcome<A>> {
  try {
    return { value: await reading };
  } catch (error) {
    if (error instanceof UpstreamError) return { error };
    throw error;
  }
}
