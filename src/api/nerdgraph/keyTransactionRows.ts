import type { Account } from './keyAccount.ts';
import { Alone } from './batching.ts';
import { readInParts } from './inParts.ts';
import { withoutPadding } from './keyTransactions.ts';
import { filled, isIn, type Selection } from './nrql.ts';
import { checkAnswer, eachRow, Facets } from './nrqlAnswer.ts';
import type { KeyTransactionRow } from './rowValues.ts';
import type { Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isObject } from '../http/jsonShape.ts';
import type { UpstreamError } from '../types.ts';
import type { CallOptions, TimeRange } from '../reader.ts';
import { LeftOut } from '../records/lenient.ts';

const GROUP = 'key_transactions';
/** Guids have about 40 characters, and a query has to stay short. */
export const MOST_GUIDS = 150;

const SELECTION: readonly [Selection, ...Selection[]] = [
  { of: 'count', from: 'apm.key.transaction.duration', as: 'c' },
  { of: 'sum', from: 'apm.key.transaction.duration', as: 't' },
  { of: 'count', from: 'apm.key.transaction.error.count', as: 'e' },
];
const FACET = ['entity.guid'] as const;

/** A key transaction by its id and its guid. */
interface Asked {
  readonly id: number;
  readonly guid: string;
}

interface KeyTransactionRows {
  readonly rows: ReadonlyMap<number, KeyTransactionRow>;
  readonly failures: ReadonlyMap<number, UpstreamError>;
}

/** Reads what the entities of key transactions measured over a range. */
export class KeyTransactionRowsRead {
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #alone = new Alone();

  constructor(transport: Transport, account: Account) {
    this.#transport = transport;
    this.#account = account;
  }

  /** Rejects only with the reason of the signal. */
  async read(asked: readonly Asked[], range: TimeRange, call: CallOptions): Promise<KeyTransactionRows> {
    const rows = new Map<number, KeyTransactionRow>();
    const failures = new Map<number, UpstreamError>();
    await Promise.all(
      this.#parts(asked).map(async (whole) => {
        const blamed: number[] = [];
        const { answered } = await readInParts<readonly Asked[]>(whole, {
          read: (part) => this.#readPart(part, range, rows, failures, call),
          isThorough: this.#alone.isThorough,
          round: this.#alone.round,
          divide: halves,
          onSplit: (reason) => this.#transport.split(reason),
          onFailure: (part, error) => {
            const failure = error ?? this.#transport.invalid(GROUP, 'more rows than an answer holds');
            for (const { id } of part) failures.set(id, failure);
            if (part.length === 1) blamed.push(...part.map(({ id }) => id));
          },
        });
        if (whole.length > 1) this.#alone.tried(answered);
        if (whole.length === 1 && blamed.length === 0) for (const { id } of whole) this.#alone.answered(id);
        if (whole.length > 1 && answered > 0) for (const id of blamed) this.#alone.broke(id);
      }),
    );
    return { rows, failures };
  }

  #parts(asked: readonly Asked[]): (readonly Asked[])[] {
    const together = asked.filter(({ id }) => !this.#alone.has(id));
    const parts: (readonly Asked[])[] = asked.filter(({ id }) => this.#alone.has(id)).map((each) => [each]);
    for (let start = 0; start < together.length; start += MOST_GUIDS) {
      parts.push(together.slice(start, start + MOST_GUIDS));
    }
    return parts;
  }

  async #readPart(
    part: readonly Asked[],
    range: TimeRange,
    rows: Map<number, KeyTransactionRow>,
    failures: Map<number, UpstreamError>,
    call: CallOptions,
  ): Promise<void> {
    const guids = filled(part.map(({ guid }) => guid));
    if (guids === undefined) return;
    const query = { select: SELECTION, where: isIn('entity.guid', guids), facet: FACET, range };
    const account = await this.#account.id(call);
    const forSeveral = part.length > 1;
    const answer = await this.#transport.nrql({ group: GROUP, account, query, forSeveral }, call);
    const leftOut = new LeftOut();
    try {
      const checked = checkAnswer(answer, { range, facets: FACET, bucketed: false });
      const ids = new Map(part.map(({ guid, id }) => [withoutPadding(guid), id]));
      const read = new Map<number, KeyTransactionRow | undefined>();
      const facets = new Facets(checked.facets, FACET);
      const seconds = checked.window.to - checked.window.from;
      await eachRow(checked.rows, (row) => {
        const guid = isObject(row) ? facets.of(row)?.[0] : undefined;
        if (!isObject(row) || guid === undefined) {
          throw new CallFailure('invalid_response', 'a row does not say what it is about');
        }
        const id = ids.get(withoutPadding(guid));
        if (id === undefined) leftOut.record('results.facet');
        // A second row for the same thing makes both doubtful.
        else read.set(id, read.has(id) ? undefined : parse(row, seconds, leftOut));
      });
      for (const [id, row] of read) {
        if (row !== undefined) rows.set(id, row);
        else
          failures.set(id, this.#transport.invalid(GROUP, `a count or a sum cannot be read (key transaction ${id})`));
      }
    } catch (error) {
      throw error instanceof CallFailure ? this.#transport.fail(GROUP, error) : error;
    } finally {
      this.#transport.leftOut(GROUP, leftOut);
    }
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

function halves(part: readonly Asked[]): readonly [readonly Asked[], readonly Asked[]] | undefined {
  const middle = Math.ceil(part.length / 2);
  return part.length < 2 ? undefined : [part.slice(0, middle), part.slice(middle)];
}
