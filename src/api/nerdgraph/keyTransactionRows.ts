import { HalvingRead, type QueryEnd } from './halving.ts';
import type { Account } from './keyAccount.ts';
import { withoutPadding } from './keyTransactions.ts';
import { filled, isIn, type Selection } from './nrql.ts';
import { Facets, nearWindow, rowsOf } from './nrqlAnswer.ts';
import type { KeyTransactionRow } from './rowValues.ts';
import type { Suspects } from './suspects.ts';
import type { Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isObject } from '../http/jsonShape.ts';
import { LeftOut } from '../records/lenient.ts';
import type { CallOptions, SplitReason, TimeRange } from '../reader.ts';
import { UpstreamError } from '../types.ts';

const GROUP = 'key_transactions';
const KIND = 'key transactions';
/** Guids have about 40 characters, and a query has to stay short. */
export const MOST_GUIDS = 150;

const SELECTION: readonly [Selection, ...Selection[]] = [
  { of: 'count', from: 'apm.key.transaction.duration', as: 'c' },
  { of: 'sum', from: 'apm.key.transaction.duration', as: 't' },
  { of: 'count', from: 'apm.key.transaction.error.count', as: 'e' },
];
const FACET = ['entity.guid'] as const;

/** A key transaction by its id and its guid. */
interface Entity {
  readonly id: number;
  readonly guid: string;
}

interface KeyTransactionRows {
  readonly rows: Map<number, KeyTransactionRow>;
  readonly failures: Map<number, UpstreamError>;
}

/** Reads what the entities of key transactions measured over a range. */
export class KeyTransactionRowsRead {
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #suspects: Suspects;

  /** @param suspects of key transactions, by their ids */
  constructor(transport: Transport, account: Account, suspects: Suspects) {
    this.#transport = transport;
    this.#account = account;
    this.#suspects = suspects;
  }

  /** Rejects only with the reason of the signal. */
  async read(entities: readonly Entity[], range: TimeRange, call: CallOptions): Promise<KeyTransactionRows> {
    const found: KeyTransactionRows = { rows: new Map(), failures: new Map() };
    if (entities.length === 0) return found;
    const suspects = this.#suspects;
    suspects.forgetOld();
    const asked = entities.filter(({ id }) => !suspects.isUnmatched(KIND, id));
    try {
      const sources = { transport: this.#transport, account: await this.#account.id(call), suspects };
      await Promise.all(
        this.#batches(asked).map(async (batch) => {
          const { blamed, isAnswered } = await new KeyTransactionBatch(sources, range, found, call).run(batch);
          const blame = batch.length > 1 ? blamed.flat() : [];
          for (const { id } of blame) suspects.broke(KIND, id);
          if (isAnswered && blame.length === 0) for (const { id } of batch) suspects.answered(KIND, id);
        }),
      );
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      for (const { id } of asked) found.failures.set(id, error);
    }
    return found;
  }

  #batches(entities: readonly Entity[]): (readonly Entity[])[] {
    const together = entities.filter(({ id }) => !this.#suspects.has(KIND, id));
    const batches: (readonly Entity[])[] = entities
      .filter(({ id }) => this.#suspects.has(KIND, id))
      .map((each) => [each]);
    for (let start = 0; start < together.length; start += MOST_GUIDS) {
      batches.push(together.slice(start, start + MOST_GUIDS));
    }
    return batches;
  }
}

interface Sources {
  readonly transport: Transport;
  readonly account: number;
  readonly suspects: Suspects;
}

/** One batch of key transactions, and whatever parts it takes to read it. */
class KeyTransactionBatch extends HalvingRead<readonly Entity[]> {
  readonly #sources: Sources;
  readonly #range: TimeRange;
  readonly #found: KeyTransactionRows;
  readonly #call: CallOptions;

  constructor(sources: Sources, range: TimeRange, found: KeyTransactionRows, call: CallOptions) {
    super();
    this.#sources = sources;
    this.#range = range;
    this.#found = found;
    this.#call = call;
  }

  protected async query(batch: readonly Entity[], isFirst: boolean): Promise<QueryEnd> {
    const { suspects } = this.#sources;
    const [only, another] = batch;
    if (only === undefined || another !== undefined) {
      const ids = batch.map(({ id }) => id);
      // What went on to fail at the last refresh is divided now, instead of being tried again.
      return this.#ask(batch, suspects.isStrained(KIND, ids) || !isFirst ? 'none' : 'said_to_pass');
    }
    const isSuspect = suspects.has(KIND, only.id);
    const error = isSuspect ? suspects.tooManyFailures(KIND, only.id, undefined) : undefined;
    if (error !== undefined) return { kind: 'failed', error, isSaidToPass: false };
    const end = await this.#ask(batch, isFirst && !isSuspect ? 'all' : 'none');
    if (end.kind === 'failed' && !(isFirst && !isSuspect)) suspects.failed(KIND, only.id, undefined, end.error);
    return end;
  }

  protected halve(batch: readonly Entity[]): readonly [readonly Entity[], readonly Entity[]] | undefined {
    const middle = Math.ceil(batch.length / 2);
    return batch.length < 2 ? undefined : [batch.slice(0, middle), batch.slice(middle)];
  }

  protected takeOne(
    batch: readonly Entity[],
    last: boolean,
  ): readonly [readonly Entity[], readonly Entity[]] | undefined {
    if (batch.length < 2) return undefined;
    return last ? [batch.slice(-1), batch.slice(0, -1)] : [batch.slice(0, 1), batch.slice(1)];
  }

  /** They belong to different ones. */
  protected isOneApplication(): boolean {
    return false;
  }

  protected fail(batch: readonly Entity[], error: UpstreamError | undefined): void {
    const failure = error ?? this.#sources.transport.invalid(GROUP, 'more rows than an answer holds');
    for (const { id } of batch) this.#found.failures.set(id, failure);
  }

  /** It has no row, as one without requests. */
  protected unmatched(batch: readonly Entity[]): void {
    for (const { id } of batch) this.#sources.suspects.unmatched(KIND, id);
  }

  protected isSilent(): boolean {
    return this.#sources.transport.isSilentFor(this.#call);
  }

  protected isStrained(batch: readonly Entity[]): boolean {
    const { suspects } = this.#sources;
    const ids = batch.map(({ id }) => id);
    if (suspects.wasStrained(KIND, ids)) return true;
    suspects.strain(KIND, ids);
    return false;
  }

  protected split(reason: SplitReason): void {
    this.#sources.transport.split(reason);
  }

  async #ask(batch: readonly Entity[], retries: 'all' | 'said_to_pass' | 'none'): Promise<QueryEnd> {
    const { transport, account } = this.#sources;
    const guids = filled(batch.map(({ guid }) => guid));
    if (guids === undefined) return { kind: 'answered' };
    const query = { select: SELECTION, where: isIn('entity.guid', guids), facet: FACET, range: this.#range };
    const end = await transport.nrql({ group: GROUP, account, query, retries }, this.#call);
    if (end.kind === 'too_big') return { kind: 'truncated' };
    if (end.kind !== 'answered') return end;
    const leftOut = new LeftOut();
    try {
      return { kind: this.#take(batch, end.result, leftOut) ? 'answered' : 'truncated' };
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      return { kind: 'failed', error: transport.fail(GROUP, error), isSaidToPass: false };
    } finally {
      transport.leftOut(GROUP, leftOut);
    }
  }

  #take(batch: readonly Entity[], result: Readonly<Record<string, unknown>>, leftOut: LeftOut): boolean {
    const answer = rowsOf(result, FACET, false);
    if (answer === undefined) return false;
    const window = nearWindow(answer, this.#range);
    const seconds = window.to - window.from;
    const ids = new Map(batch.map(({ guid, id }) => [withoutPadding(guid), id]));
    const read = new Map<number, KeyTransactionRow | undefined>();
    const facets = new Facets(answer.facets, FACET);
    for (const row of answer.rows) {
      const guid = isObject(row) ? facets.of(row)?.[0] : undefined;
      if (!isObject(row) || guid === undefined) {
        throw new CallFailure('invalid_response', 'a row does not say what it is about');
      }
      const id = ids.get(withoutPadding(guid));
      if (id === undefined) leftOut.record('results.facet');
      // A second row for the same thing makes both doubtful.
      else read.set(id, read.has(id) ? undefined : parse(row, seconds, leftOut));
    }
    for (const [id, row] of read) {
      if (row !== undefined) this.#found.rows.set(id, row);
      else this.#found.failures.set(id, this.#unreadable(id));
    }
    return true;
  }

  #unreadable(id: number): UpstreamError {
    return this.#sources.transport.invalid(GROUP, `a count or a sum cannot be read (key transaction ${id})`);
  }
}

function parse(
  { c, t, e }: Readonly<Record<string, unknown>>,
  seconds: number,
  leftOut: LeftOut,
): KeyTransactionRow | undefined {
  if (!isAmount(c) || !isAmount(t)) return undefined;
  if (isAmount(e)) return { count: c, sum: t, errors: e, seconds };
  leftOut.value('results');
  return { count: c, sum: t, errors: undefined, seconds };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
