import { BOUNDS } from '../../api/http/response.ts';
import { Client } from '../../api/http/client.ts';
import type { Json } from '../../api/http/validation.ts';
import { resolve, urlOf } from '../../api/http/exchange.ts';
import type { Document } from '../../api/nerdgraph/documents.ts';
import { AccountMemory } from '../../api/nerdgraph/accountMemory.ts';
import { NerdGraphAccount } from '../../api/nerdgraph/nerdGraphAccount.ts';
import { Transport, type NerdGraphReaderOptions, type NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import { RestMemory } from '../../api/rest/restMemory.ts';
import { parseMetricData } from '../../api/rest/restColumns.ts';
import { formatTime, metricTarget, parseLinks, queryOf, RestClient } from '../../api/rest/restClient.ts';
import type { Application } from '../../api/types.ts';
import type { CallOptions, RateLimiter, TimeRange, UpstreamReader } from '../../api/upstreamReader.ts';
import type { RestReaderOptions } from '../../api/rest/restReader.ts';
import type { Judged } from './evidence.ts';
import type { FactId } from './facts.ts';
import { objectsIn } from './judges.ts';

/** Limit for the calls to an account for the facts, beyond the calls that read its lists. */
export const MAX_CALLS = 80;

/** Thrown instead of a call when an account has used up its calls. */
export class CallsSpent extends Error {
  override readonly name = 'CallsSpent';
}

/** Counts calls, and passes them to the limiter of the account up to a number. */
export class CountedCalls {
  /** The present limit; lower while some calls are reserved. */
  limit = MAX_CALLS;
  made = 0;

  through(call: CallOptions): CallOptions {
    const limiter: RateLimiter = {
      acquire: async (signal) => {
        if (this.made >= this.limit) throw new CallsSpent('the calls are spent');
        this.made += 1;
        return call.limiter.acquire(signal);
      },
    };
    // Slow calls are not repeated, because every call counts.
    return { signal: call.signal, limiter, patient: false };
  }
}

export type GraphConnection = ReturnType<typeof connectGraph>;
export type RestConnection = ReturnType<typeof connectRest>;

/** One account over NerdGraph: its reader, and requests outside the reader. */
export function connectGraph(
  reader: UpstreamReader,
  call: CallOptions,
  options: RestReaderOptions & Pick<NerdGraphReaderOptions, 'accountId'>,
) {
  const ofReader = { ...options, detailsMs: options.refusedNamesMs };
  // The memory is not the reader's, because a refusal that a fact expects is no failure of the account.
  const memory = new AccountMemory(options.monotonic);
  const http = new Client(options, memory.failures);
  const transport = new Transport(http, ofReader);
  const account = new NerdGraphAccount(transport, memory, ofReader);
  const query = { group: 'queries', retries: 'none' } as const;
  return {
    reader,
    call,
    accountId: () => account.id(call),
    /** Reads entities, or the user. Rejects with an UpstreamError. */
    read: async (document: Document, variables: Json): Promise<Json> =>
      (await transport.read('entities', document, variables, call, { retries: 'none' })).found,
    /** Runs a query that New Relic may refuse, of an account, with a timeout in seconds. Rejects for any other failure. */
    tryQuery: async (nrql: string, other?: number, timeout = 29): Promise<NrqlEnd> => {
      // The transport sends New Relic a timeout one second shorter than that of its own request.
      const timed = new Transport(http, { ...ofReader, requestTimeoutMs: 1000 * (timeout + 1) });
      const end = await timed.nrql({ ...query, account: other ?? (await account.id(call)), query: nrql }, call);
      if (!(end instanceof UpstreamError)) return end;
      const { reason, status, isTransient } = end.failure;
      const isOfCall = status !== 200 || isTransient === true || ['auth', 'rate_limited', 'timeout'].includes(reason);
      if (isOfCall) throw end;
      return end;
    },
    /** The result of a query that should succeed; no rows where no application has data. Rejects with an UpstreamError. */
    result: async (nrql: string): Promise<Json> =>
      (await transport.whole({ ...query, account: await account.id(call), query: nrql }, call)) ?? { results: [] },
    close: () => http.connections.close(),
  };
}

/** One account over REST: its reader, and requests outside the reader. */
export function connectRest(reader: UpstreamReader, call: CallOptions, options: RestReaderOptions) {
  const client = new Client(options, new RestMemory(options.monotonic).failures);
  const base = new URL(options.baseUrl);
  return {
    reader,
    call,
    /** Metric data of an application over one range, as one value of each metric. */
    metricData: (applicationId: number, names: readonly string[], range: TimeRange) => {
      const query = queryOf([
        ...names.map((name) => ['names[]', name] as const),
        ['from', formatTime(range.from)],
        ['to', formatTime(range.to)],
        ['summarize', 'true'],
        ['raw', 'true'],
      ]);
      const target = metricTarget('metrics/data.json', { applicationId }, query);
      return new RestClient(client, base).one(target, call, BOUNDS.metricData, (body, discarded) =>
        parseMetricData(body, range, discarded, (_, timeslice) => timeslice),
      );
    },
    /** The first page of the metric names of an application that pass a filter, and the address of the next page. */
    namesPage: async (applicationId: number, name: string) => {
      const { endpoint, path } = metricTarget('metrics.json', { applicationId }, queryOf([['name', name]]));
      const policy = { bounds: BOUNDS.list, retries: 'none' } as const;
      const request = { origin: base.origin, path: base.pathname + path };
      const { body, link, origin } = await client.call(endpoint, request, policy, call);
      const names = objectsIn(body['metrics']).flatMap((metric) =>
        typeof metric['name'] === 'string' ? [metric['name']] : [],
      );
      const next = parseLinks(link).find(({ relations }) => relations.includes('next'))?.target;
      return { names, next: resolve(next, urlOf({ origin, path: request.path })) };
    },
    close: () => client.connections.close(),
  };
}

/** The verdicts of an account on some facts. */
export type Verdicts = Partial<Record<FactId, Judged>>;

/** The account whose facts are checked, and the contents of its lists. */
interface CheckedAccount {
  /** The reporting applications whose values are read, largest first. */
  readonly largest: readonly Application[];
  /** The first of them. */
  readonly first: Application;
  /** The newest minute with complete data, in Unix seconds. */
  readonly to: number;
  /** The start of the current minute, in Unix seconds: a summary that was just read may cover the minute before it. */
  readonly minute: () => number;
  readonly listed: readonly Application[];
}

/** An account over REST. Where its own interface is NerdGraph, `listed` has at most 200 applications. */
export type RestAccount = CheckedAccount & { readonly rest: RestConnection };
export type GraphAccount = CheckedAccount & { readonly graph: GraphConnection };

/** Facts that are checked together, because one call decides several. */
export interface Probe<A> {
  readonly ids: readonly FactId[];
  /** The fact that these depend on. */
  readonly needs?: FactId;
  /** Gives a verdict for each fact, or one for all. Rejects with an UpstreamError, or with CallsSpent. */
  readonly check: (account: A) => Promise<Verdicts | Judged>;
}

export function probe<A>(ids: FactId | readonly FactId[], check: Probe<A>['check'], needs?: FactId): Probe<A> {
  return { ids: [ids].flat(), check, ...(needs !== undefined && { needs }) };
}

export const TEN_MINUTES = 600;

export function before(to: number, seconds: number): TimeRange {
  return { from: to - seconds, to };
}

/** Applications or key transactions, with the most traffic first. */
export function byThroughput<T extends Pick<Application, 'summary'>>(listed: readonly T[]): readonly T[] {
  return listed.toSorted((a, b) => (b.summary?.requestRate ?? 0) - (a.summary?.requestRate ?? 0));
}
