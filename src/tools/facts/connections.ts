import { BOUNDS } from '../../api/http/bounds.ts';
import { Client } from '../../api/http/client.ts';
import type { Json } from '../../api/http/validation.ts';
import { joinPath, resolve, urlOf } from '../../api/http/address.ts';
import type { Document } from '../../api/nerdgraph/documents.ts';
import { AccountMemory } from '../../api/nerdgraph/accountMemory.ts';
import { NerdGraphAccount } from '../../api/nerdgraph/nerdGraphAccount.ts';
import { Transport, type NerdGraphReaderOptions, type NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { RestMemory } from '../../api/rest/restMemory.ts';
import { parseMetricData } from '../../api/rest/metricData.ts';
import { formatTime, metricTarget, parseLinks, queryOf, RestClient } from '../../api/rest/restClient.ts';
import type { MetricData } from '../../api/rest/restColumns.ts';
import type { Application, KeyTransaction } from '../../api/types.ts';
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
  #made = 0;

  get made(): number {
    return this.#made;
  }

  through(call: CallOptions): CallOptions {
    const limiter: RateLimiter = {
      acquire: async (signal) => {
        if (this.#made >= this.limit) throw new CallsSpent('the calls are spent');
        this.#made += 1;
        return call.limiter.acquire(signal);
      },
    };
    // Slow calls are not repeated, because every call counts.
    return { signal: call.signal, limiter, patient: false };
  }
}

/** One account over NerdGraph: its reader, and requests outside the reader. */
export class GraphConnection {
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
  readonly #options: NerdGraphReaderOptions;
  readonly #account: NerdGraphAccount;

  constructor(reader: UpstreamReader, accountId: number | undefined, options: RestReaderOptions, call: CallOptions) {
    this.reader = reader;
    this.call = call;
    this.#options = { ...options, accountId, detailsMs: options.refusedNamesMs };
    // The memory is not the reader's, because a refusal that a fact expects is no failure of the account.
    const memory = new AccountMemory(options.monotonic);
    const transport = new Transport(new Client(options, memory.failures), this.#options);
    this.#account = new NerdGraphAccount(transport, memory, this.#options);
  }

  accountId(): Promise<number> {
    return this.#account.id(this.call);
  }

  /** Reads entities, or the user. Rejects with an UpstreamError. */
  async read(document: Document, variables: Json): Promise<Json> {
    const { transport } = this.#account;
    return (await transport.read('entities', document, variables, this.call, { retries: 'none' })).found;
  }

  /**
   * Runs a query that New Relic may refuse. Rejects with an UpstreamError for a failure that is not about the query.
   *
   * @param timeout the argument of the query, in seconds
   */
  async tryQuery(
    query: string,
    { account, timeout = 29 }: { readonly account?: number | undefined; readonly timeout?: number | undefined } = {},
  ): Promise<NrqlEnd> {
    // The transport sends New Relic a timeout one second shorter than that of its own request.
    const options = { ...this.#options, requestTimeoutMs: 1000 * (timeout + 1) };
    const transport = new Transport(this.#account.transport.http, options);
    const id = account ?? (await this.accountId());
    const end = await transport.nrql({ group: 'queries', account: id, query, retries: 'none' }, this.call);
    if (end.kind !== 'failed') return end;
    const { reason, status, isTransient } = end.error.failure;
    if (status !== 200 || isTransient === true || ['auth', 'rate_limited', 'timeout'].includes(reason)) throw end.error;
    return end;
  }

  /** The result of a query that should succeed; no rows where no application has data. Rejects with an UpstreamError. */
  async result(query: string): Promise<Json> {
    const account = await this.accountId();
    const read = { group: 'queries', account, query, retries: 'none' } as const;
    return (await this.#account.transport.whole(read, this.call)) ?? { results: [] };
  }

  close(): Promise<void> {
    return this.#account.transport.http.connections.close();
  }
}

/** One account over REST: its reader, and requests outside the reader. */
export class RestConnection {
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
  readonly #client: Client;
  readonly #base: URL;

  constructor(reader: UpstreamReader, options: RestReaderOptions, call: CallOptions) {
    this.reader = reader;
    this.call = call;
    this.#client = new Client(options, new RestMemory(options.monotonic).failures);
    this.#base = new URL(options.baseUrl);
  }

  /** Metric data of an application over one range, as one value of each metric. */
  metricData(applicationId: number, names: readonly string[], range: TimeRange): Promise<MetricData> {
    const query = queryOf([
      ...names.map((name) => ['names[]', name] as const),
      ['from', formatTime(range.from)],
      ['to', formatTime(range.to)],
      ['summarize', 'true'],
      ['raw', 'true'],
    ]);
    const target = metricTarget('metrics/data.json', { applicationId }, query);
    const client = new RestClient(this.#client, this.#base);
    return client.one(target, this.call, BOUNDS.metricData, (body, discarded) =>
      parseMetricData(body, range, discarded),
    );
  }

  /** The first page of the metric names of an application that pass a filter, and the address of the next page. */
  async namesPage(
    applicationId: number,
    name: string,
  ): Promise<{ readonly names: readonly string[]; readonly next: URL | undefined }> {
    const { endpoint, path } = metricTarget('metrics.json', { applicationId }, queryOf([['name', name]]));
    const policy = { bounds: BOUNDS.list, retries: 'none' } as const;
    const { body, link, address } = await this.#client.call(endpoint, joinPath(this.#base, path), policy, this.call);
    const names = objectsIn(body['metrics']).flatMap((metric) =>
      typeof metric['name'] === 'string' ? [metric['name']] : [],
    );
    const next = parseLinks(link).find(({ relations }) => relations.includes('next'))?.target;
    return { names, next: resolve(next, urlOf(address)) };
  }

  close(): Promise<void> {
    return this.#client.connections.close();
  }
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
  /** The start of the current minute, in Unix seconds. */
  readonly minute: number;
  readonly listed: readonly Application[];
}

/** An account over REST. Where its own interface is NerdGraph, `listed` has at most 200 applications. */
export interface RestAccount extends CheckedAccount {
  readonly rest: RestConnection;
  readonly keyTransactions: readonly KeyTransaction[];
}

/** An account over NerdGraph. */
export interface GraphAccount extends CheckedAccount {
  readonly graph: GraphConnection;
  readonly accountId: number;
}

/** Facts that are checked together, because one call decides several. */
export interface Probe<A> {
  readonly ids: readonly FactId[];
  /** The fact that these depend on. */
  readonly needs?: FactId;
  /** Gives a verdict for each fact, or one for all. Rejects with an UpstreamError, or with CallsSpent. */
  readonly check: (account: A) => Promise<Verdicts | Judged>;
}

export function probe<A>(ids: FactId | readonly FactId[], check: Probe<A>['check']): Probe<A> {
  return { ids: [ids].flat(), check };
}

export function before(to: number, seconds: number): TimeRange {
  return { from: to - seconds, to };
}

/** Applications or key transactions, with the most traffic first. */
export function byThroughput<T extends Pick<Application, 'summary'>>(listed: readonly T[]): readonly T[] {
  return listed.toSorted((a, b) => (b.summary?.requestRate ?? 0) - (a.summary?.requestRate ?? 0));
}
