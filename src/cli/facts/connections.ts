import { BOUNDS } from '../../api/http/bounds.ts';
import { Client, type ClientOptions } from '../../api/http/client.ts';
import { isList, isObject, type Json } from '../../api/http/validation.ts';
import { joinPath } from '../../api/http/address.ts';
import { judge, type Document, type Meaning } from '../../api/nerdgraph/failures.ts';
import { AccountMemory } from '../../api/nerdgraph/accountMemory.ts';
import { NerdGraphAccount } from '../../api/nerdgraph/nerdGraphAccount.ts';
import { nrql, type QueryParts } from '../../api/nerdgraph/nrql.ts';
import { NRQL, Transport } from '../../api/nerdgraph/transport.ts';
import { RestMemory } from '../../api/rest/restMemory.ts';
import { parseMetricData } from '../../api/rest/metricData.ts';
import { formatTime, metricTarget, queryOf, RestClient } from '../../api/rest/restClient.ts';
import { UpstreamError, type Application, type KeyTransaction, type MetricData } from '../../api/types.ts';
import type { CallOptions, RateLimiter, TimeRange, UpstreamReader } from '../../api/upstreamReader.ts';
import type { RestReaderOptions } from '../../api/rest/restReader.ts';
import type { AccountConfig } from '../../config/config.ts';
import type { Judged } from './evidence.ts';
import type { FactId } from './facts.ts';

/** Most calls to an account for the facts, beyond the calls that read its lists. */
export const MOST_CALLS = 80;

/** Thrown instead of a call when an account has used up its calls. */
export class CallsSpent extends Error {
  override readonly name = 'CallsSpent';
}

/** Passes calls to the limiter of the account until their number is used up. */
export class CountedCalls {
  /** The most calls. */
  most = MOST_CALLS;
  #made = 0;

  get made(): number {
    return this.#made;
  }

  through(call: CallOptions): CallOptions {
    const limiter: RateLimiter = {
      acquire: async (signal) => {
        if (this.#made >= this.most) throw new CallsSpent('the calls are spent');
        this.#made += 1;
        return call.limiter.acquire(signal);
      },
    };
    // Slow calls are not repeated, because every call counts.
    return { signal: call.signal, limiter, patient: false };
  }
}

/** The error class in a body, if it is one of New Relic's own classes. */
function errorClassOf(body: Json): string {
  const extensions = objectsIn(body['errors'])[0]?.['extensions'];
  if (!isObject(extensions)) return 'none';
  const codes = [extensions['errorClass'], extensions['errorCode'], extensions['error_code'], extensions['code']];
  return codes.find((code) => typeof code === 'string') ?? 'none';
}

/** NerdGraph's response to one document. */
export interface GraphResponse {
  /** The exporter's classification of its errors; undefined without errors. */
  readonly meaning: Meaning | undefined;
  readonly errorClass: string;
  /** The object at the root of the document; empty where it is null. */
  readonly found: Json;
}

/** One account over NerdGraph: its reader, and requests outside the reader. */
export class GraphConnection {
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
  readonly #client: Client;
  readonly #address: URL;
  readonly #account: NerdGraphAccount;

  constructor(
    reader: UpstreamReader,
    account: AccountConfig,
    options: ClientOptions & RestReaderOptions,
    call: CallOptions,
  ) {
    this.reader = reader;
    this.call = call;
    // A memory of its own, because an expected refusal is no failure of the account.
    const memory = new AccountMemory(options.monotonic);
    this.#client = new Client(options, memory.failures);
    this.#address = new URL(options.baseUrl);
    const ofReader = { ...options, accountId: account.account_id, detailsMs: options.refusedNamesMs };
    this.#account = new NerdGraphAccount(new Transport(this.#client, ofReader), memory, ofReader);
  }

  accountId(): Promise<number> {
    return this.#account.id(this.call);
  }

  /** Sends a document. Rejects with an UpstreamError without a body, and for errors about the key or an overload. */
  async post(document: Document, variables: Json): Promise<GraphResponse> {
    let meaning: Meaning | undefined;
    const request = { address: this.#address, body: JSON.stringify({ query: document.text, variables }) };
    const { body } = await this.#client.call(
      'facts',
      request,
      {
        bounds: BOUNDS.query,
        retries: 'none',
        inspect: (parsed, status, mask) => {
          const verdict = judge(parsed, status, mask, document);
          meaning = verdict?.meaning;
          return meaning === 'auth' || meaning === 'rate_limited' ? verdict?.failure : undefined;
        },
      },
      this.call,
    );
    let found: unknown = body['data'];
    for (const name of document.root) found = isObject(found) ? found[name] : undefined;
    return { meaning, errorClass: errorClassOf(body), found: isObject(found) ? found : {} };
  }

  /** Runs one query and gives its response unchanged. */
  async ask(query: QueryParts | string, account?: number, timeout = 29): Promise<GraphResponse> {
    const text = typeof query === 'string' ? query : nrql(query);
    return this.post(NRQL, { account: account ?? (await this.accountId()), nrql: text, timeout });
  }

  /** The result of a query that should have one. Rejects with an UpstreamError without one. */
  async result(query: QueryParts | string): Promise<Json> {
    const { meaning, found } = await this.ask(query);
    if (meaning === undefined) return found;
    if (meaning === 'unmatched') return { results: [] };
    const reason = meaning === 'too_big' || meaning === 'passing' ? 'server' : meaning;
    throw new UpstreamError('a query of the facts was not answered', { reason, endpoint: 'facts' });
  }

  close(): Promise<void> {
    return this.#client.connections.close();
  }
}

/** One account over REST: its reader, and requests outside the reader. */
export class RestConnection {
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
  readonly client: Client;
  readonly rest: RestClient;
  readonly #base: URL;

  constructor(reader: UpstreamReader, options: RestReaderOptions, call: CallOptions) {
    this.reader = reader;
    this.call = call;
    this.client = new Client(options, new RestMemory(options.monotonic).failures);
    this.#base = new URL(options.baseUrl);
    this.rest = new RestClient(this.client, this.#base, 1);
  }

  /** Metric data of an application over one range, as one value of each metric, with the body of the response. */
  metricData(
    applicationId: number,
    names: readonly string[],
    range: TimeRange,
    raw = true,
  ): Promise<{ readonly data: MetricData; readonly body: Json }> {
    const query = queryOf([
      ...names.map((name) => ['names[]', name] as const),
      ['from', formatTime(range.from)],
      ['to', formatTime(range.to)],
      ['summarize', 'true'],
      ...(raw ? [['raw', 'true'] as const] : []),
    ]);
    const target = metricTarget('metrics/data.json', { applicationId }, query);
    return this.rest.one(target, this.call, BOUNDS.metricData, (body, discarded) => ({
      data: parseMetricData(body, range, discarded),
      body: isObject(body) ? body : {},
    }));
  }

  /** The first page of the metric names of an application that pass a filter, and its header `Link`. */
  async namesPage(
    applicationId: number,
    name: string,
  ): Promise<{ readonly names: readonly string[]; readonly link: string; readonly address: URL }> {
    const { endpoint, path } = metricTarget('metrics.json', { applicationId }, queryOf([['name', name]]));
    const policy = { bounds: BOUNDS.list, retries: 'none' } as const;
    const response = await this.client.call(endpoint, { address: joinPath(this.#base, path) }, policy, this.call);
    const names = objectsIn(response.body['metrics']).flatMap(({ name: each }) =>
      typeof each === 'string' ? [each] : [],
    );
    return { names, link: response.link, address: response.address };
  }

  close(): Promise<void> {
    return this.client.connections.close();
  }
}

/** The verdicts of an account on some facts. */
export type Verdicts = Partial<Record<FactId, Judged>>;

/** The account under check: its connections, and the contents of its lists. */
export interface Asked {
  /** The reporting applications whose values are read, largest first. */
  readonly largest: readonly Application[];
  /** The newest minute with complete data, in Unix seconds. */
  readonly to: number;
  /** The start of the current minute, in Unix seconds. */
  readonly minute: number;
  /** The list of applications. */
  readonly listed: readonly Application[];
}

/** An account over REST, where only the largest applications are listed if it uses NerdGraph. */
export interface AskedRest extends Asked {
  readonly rest: RestConnection;
  readonly keyTransactions: readonly KeyTransaction[];
}

/** An account over NerdGraph. */
export interface AskedGraph extends Asked {
  readonly graph: GraphConnection;
  readonly accountId: number;
}

/** Facts that are checked together, because one call decides several. */
export interface Probe<A> {
  readonly ids: readonly FactId[];
  /** The fact that these depend on. */
  readonly needs?: FactId;
  /** Rejects with an UpstreamError, or with CallsSpent. */
  readonly ask: (asked: A) => Promise<Verdicts>;
}

export const TEN_MINUTES = 600;
export const HOUR = 3_600;
export const DAY = 86_400;

export function before(to: number, seconds: number): TimeRange {
  return { from: to - seconds, to };
}

/** The objects of a list; none where there is no list. */
export function objectsIn(value: unknown): readonly Json[] {
  return isList(value) ? value.filter(isObject) : [];
}

/** The number at a key of a row; 0 without one. */
export function numberAt(row: unknown, key: string): number {
  const value = typeof row === 'object' && row !== null ? (row as Record<string, unknown>)[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
