import { Client } from '../../api/http/client.ts';
import type { Json } from '../../api/http/validation.ts';
import { AccountMemory } from '../../api/nerdgraph/accountMemory.ts';
import type { Document } from '../../api/nerdgraph/documents.ts';
import { NerdGraphAccount } from '../../api/nerdgraph/nerdGraphAccount.ts';
import { Transport, type NrqlEnd } from '../../api/nerdgraph/transport.ts';
import type { RestReaderOptions } from '../../api/rest/restReader.ts';
import type { Application } from '../../api/types.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { LiveAccount } from '../upstream/session.ts';
import { objectsIn } from './judges.ts';

export type Connection = ReturnType<typeof connect>;

/** Connects an account for requests outside its reader, without retries. Reads reject with an UpstreamError. */
export function connect(live: LiveAccount, options: RestReaderOptions) {
  const call = { ...live.call, patient: false };
  const { account_id: accountId, limits } = live.config;
  const requestsPerMinute = limits.requests_per_minute;
  const transportOptions = { ...options, detailsMs: options.refusedNamesMs, accountId, requestsPerMinute };
  const http = new Client(options);
  const transport = new Transport(http, transportOptions);
  const account = new NerdGraphAccount(transport, new AccountMemory(options.monotonic), transportOptions);
  const policy = { group: 'queries', retries: 'none' } as const;
  return {
    live,
    accountId: () => account.resolveId(call),
    types: async () => (await live.reader.entities?.types(call)) ?? [],
    read: async (document: Document, variables: Json): Promise<Json> =>
      (await transport.read('entities', document, variables, call, { retries: 'none' })).found,
    /** Runs a query that should succeed. The result has no rows if no application has data. */
    result: async (nrql: string): Promise<Json & { readonly results: readonly Json[] }> => {
      const result = await transport.runWhole({ ...policy, account: await account.resolveId(call), query: nrql }, call);
      return { ...result, results: objectsIn(result?.['results']) };
    },
    /** Runs a query that New Relic may refuse. `timeout` is in seconds. Rejects for other failures. */
    tryQuery: async (nrql: string, other?: number, timeout = 29): Promise<NrqlEnd> => {
      // The transport subtracts one second from its timeout before it sends the timeout to New Relic.
      const timed = new Transport(http, { ...transportOptions, requestTimeoutMs: 1000 * (timeout + 1) });
      const query = { ...policy, account: other ?? (await account.resolveId(call)), query: nrql };
      const end = await timed.runNrql(query, call);
      if (!(end instanceof UpstreamError)) return end;
      const { reason, status, code } = end.failure;
      // A server error without a class is transient.
      const isTransient = reason === 'server' && code === undefined;
      if (status !== 200 || isTransient || ['auth', 'rate_limited', 'timeout'].includes(reason)) throw end;
      return end;
    },
    close: () => http.close(),
  };
}

export interface AskedAccount extends Connection {
  /** The reporting applications, most hosts first. */
  readonly reporting: readonly Application[];
  /** The applications whose values the facts read; at least one. */
  readonly largest: readonly Application[];
  /** The end of the newest minute with complete data, in Unix seconds. */
  readonly to: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Time to watch the data of a new minute arrive, in milliseconds; 0: no watch. */
  readonly waitMs: number;
  /** `collection.delay`, in milliseconds. */
  readonly delayMs: number;
}

export type Timing = Pick<AskedAccount, 'now' | 'sleep' | 'waitMs' | 'delayMs'>;
