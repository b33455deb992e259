import { readRows, UnreadableRows, whyIncomplete } from '../../nrql/queryRows.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { BatchRead, CallOptions, Outcome, QueryAnswer, QuerySubject, TimeRange } from '../reader.ts';
import { UpstreamError } from '../types.ts';
import type { Account } from './keyAccount.ts';
import { allRowsOf, nearWindow, type Json } from './nrql.ts';
import type { Transport } from './transport.ts';

const GROUP = 'queries';
/** Whatever the account is configured to send: queries are the same over both interfaces. */
const KEY_HEADER = 'Api-Key';

const DAY = 86_400;
/** How much earlier than was asked for a window may end: of a day and more, and of a shorter one. */
const MOST_EARLIER = { long: 600, short: 300 };

/** Runs queries of the configuration: each is one call, and fails alone. */
export class QueriesRead implements BatchRead<QuerySubject, QueryAnswer> {
  readonly #transport: Transport;
  readonly #account: Account;

  constructor(transport: Transport, account: Account) {
    this.#transport = transport;
    this.#account = account;
  }

  nextCall(): { readonly count: number; readonly calls: number } {
    return { count: 1, calls: 1 };
  }

  callsFor(subjects: readonly QuerySubject[]): number {
    return subjects.length;
  }

  read(
    subjects: readonly QuerySubject[],
    range: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<QueryAnswer>[]> {
    return Promise.all(
      subjects.map(async (subject): Promise<Outcome<QueryAnswer>> => {
        try {
          return { value: await this.#one(subject, range, call) };
        } catch (error) {
          if (error instanceof UpstreamError) return { error };
          throw error;
        }
      }),
    );
  }

  async #one({ nrql, window, rules }: QuerySubject, range: TimeRange, call: CallOptions): Promise<QueryAnswer> {
    const asked = { from: window === undefined ? range.from : range.to - window, to: range.to };
    const limit = rules.limit ?? 'MAX';
    // On a line of its own: the text may end with a comment.
    const query = `${nrql}\nSINCE ${asked.from * 1000} UNTIL ${asked.to * 1000} LIMIT ${limit}`;
    const account = await this.#account.id(call);
    const result = await this.#transport.whole({ group: GROUP, account, query, keyHeader: KEY_HEADER }, call);
    if (result === undefined) {
      const words = 'the service has no data of any application that the query names';
      throw this.#transport.fail(GROUP, new CallFailure('other', words));
    }
    return this.#transport.checked(GROUP, () => answerOf(result, rules, asked));
  }
}

/** Throws a CallFailure for an answer that cannot be used, or is not whole. */
function answerOf(result: Json, rules: QuerySubject['rules'], asked: TimeRange): QueryAnswer {
  const answered = allRowsOf(result);
  const { rows, facets } = answered;
  const answer = { rows, facets, otherResult: result['otherResult'] };
  try {
    const incomplete = whyIncomplete(answer, rules);
    if (incomplete !== undefined) throw new CallFailure('too_large', incomplete);
    const window = nearWindow(answered, asked, asked.to - asked.from >= DAY ? MOST_EARLIER.long : MOST_EARLIER.short);
    return { window, rows, facets, reading: readRows(answer, rules) };
  } catch (error) {
    throw error instanceof UnreadableRows ? new CallFailure('invalid_response', error.message) : error;
  }
}
