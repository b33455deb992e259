import { Client } from '../../api/http/client.ts';
import { type Json } from '../../api/http/validation.ts';
import { AccountMemory } from '../../api/nerdgraph/accountMemory.ts';
import type { Document } from '../../api/nerdgraph/documents.ts';
import { NerdGraphAccount } from '../../api/nerdgraph/nerdGraphAccount.ts';
import { Transport, type NrqlEnd } from '../../api/nerdgraph/transport.ts';
import type { RestReaderOptions } from '../../api/rest/restReader.ts';
import type { Application } from '../../api/types.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { RateLimiter } from '../../api/upstreamReader.ts';
import type { LiveAccount } from '../upstream/session.ts';

/** Limit for the calls to an account for the facts, beyond the calls that read its lists. */
export const MAX_CALLS = 80;

/** Thrown instead of a call when an account has used up its calls. */
export class CallsSpent extends Error {
  override readonly name = 'CallsSpent';
}

export type Connection = ReturnType<typeof connect>;

/** Connects an account for requests outside its reader. It counts them, and makes none beyond `calls.limit`. */
export function connect(live: LiveAccount, options: RestReaderOptions) {
  const calls = { made: 0, limit: MAX_CALLS };
  const limiter: RateLimiter = {
    acquire: async (signal) => {
      if (calls.made >= calls.limit) throw new CallsSpent('the calls are spent');
      calls.made += 1;
      return live.call.limiter.acquire(signal);
    },
  };
  // Slow calls are not repeated, because every call counts.
  const call = { signal: live.call.signal, limiter, patient: false };
  const ofReader = { ...options, detailsMs: options.refusedNamesMs, accountId: live.config.account_id };
  // The memory is not the reader's, because a refusal that a fact expects is no failure of the account.
  const memory = new AccountMemory(options.monotonic);
  const http = new Client(options, memory.failures);
  const transport = new Transport(http, ofReader);
  const account = new NerdGraphAccount(transport, memory, ofReader);
  const policy = { group: 'queries', retries: 'none' } as const;
  const answers = new Map<string, Promise<Json>>();
  /** Several facts ask the same: it is asked once. */
  const once = (what: string, ask: () => Promise<Json>): Promise<Json> => {
    const answer = answers.get(what) ?? ask();
    answers.set(what, answer);
    return answer;
  };
  /** The result of a query that should succeed; no rows where no application has data. */
  const freshResult = async (nrql: string): Promise<Json> =>
    (await transport.whole({ ...policy, account: await account.id(call), query: nrql }, call)) ?? { results: [] };
  return {
    live,
    calls,
    freshResult,
    /** The result as above, of a query that may have been sent before. Rejects with an UpstreamError. */
    result: (nrql: string) => once(nrql, () => freshResult(nrql)),
    accountId: () => account.id(call),
    types: async () => (await live.reader.entities?.types(call)) ?? [],
    /** Reads entities, or the user. Rejects with an UpstreamError. */
    read: (document: Document, variables: Json): Promise<Json> =>
      once(
        document.text + JSON.stringify(variables),
        async () => (await transport.read('entities', document, variables, call, { retries: 'none' })).found,
      ),
    /** Runs a query that New Relic may refuse, of an account, with a timeout in seconds. Rejects for any other failure. */
    tryQuery: async (nrql: string, other?: number, timeout = 29): Promise<NrqlEnd> => {
      // The transport sends New Relic a timeout one second shorter than that of its own request.
      const timed = new Transport(http, { ...ofReader, requestTimeoutMs: 1000 * (timeout + 1) });
      const end = await timed.nrql({ ...policy, account: other ?? (await account.id(call)), query: nrql }, call);
      if (!(end instanceof UpstreamError)) return end;
      const { reason, status, isTransient } = end.failure;
      const isOfCall = status !== 200 || isTransient === true || ['auth', 'rate_limited', 'timeout'].includes(reason);
      if (isOfCall) throw end;
      return end;
    },
    close: () => http.connections.close(),
  };
}

/** The clock and the waiting times of the command. */
export interface Timing {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Rejects with the reason of the signal. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Time for which the arriving data of one new minute is watched, in milliseconds; 0: it is not. */
  readonly waitMs: number;
  /** `collection.delay`, in milliseconds. */
  readonly delayMs: number;
}

/** The account whose facts are checked, and the contents of its lists. */
export interface AskedAccount extends Connection {
  readonly listed: readonly Application[];
  /** The reporting applications whose values are read, at least one, the busiest first. */
  readonly largest: readonly Application[];
  /** The end of the newest minute with complete data, in Unix seconds. */
  readonly to: number;
  readonly timing: Timing;
}
