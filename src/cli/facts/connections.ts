import { BOUNDS } from '../../api/http/body.ts';
import { Client, type ClientOptions } from '../../api/http/client.ts';
import { isObject, type Json } from '../../api/http/readRecords.ts';
import { joinPath } from '../../api/http/address.ts';
import { judge, type Document, type Meaning } from '../../api/nerdgraph/failures.ts';
import { AccountMemory } from '../../api/nerdgraph/accountMemory.ts';
import { AccountResolver } from '../../api/nerdgraph/accountResolver.ts';
import { nrql, type QueryParts } from '../../api/nerdgraph/nrql.ts';
import { NRQL, Transport } from '../../api/nerdgraph/transport.ts';
import { RestMemory } from '../../api/rest/restMemory.ts';
import { parseMetricData } from '../../api/rest/metricData.ts';
import { metricTarget, queryOf, RestClient } from '../../api/rest/restClient.ts';
import { formatTime } from '../../api/http/readRecords.ts';
import { UpstreamError, type MetricData } from '../../api/types.ts';
import type { CallOptions, RateLimiter, TimeRange, UpstreamReader } from '../../api/upstreamReader.ts';
import type { RestReaderOptions } from '../../api/rest/restReader.ts';
import type { AccountConfig } from '../../config/config.ts';

/** The calls of an account that the facts may take, beyond those that read its lists. */
export const MOST_CALLS = 80;

/** A call was not made because an account has had its calls. */
export class CallsSpent extends Error {
  override readonly name = 'CallsSpent';
}

/** Lets calls through to the limiter of the account, as long as there are some left. */
export class CountedCalls {
  /** How many there may be. */
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
    // Nothing is asked twice because it took long: every call counts.
    return { signal: call.signal, limiter, patient: false };
  }
}

/** What the errors of a body say, as far as it is one of the service's own classes. */
function errorClassOf(body: Json): string {
  const [error] = Array.isArray(body['errors']) ? (body['errors'] as unknown[]) : [];
  const extensions = isObject(error) ? error['extensions'] : undefined;
  if (!isObject(extensions)) return 'none';
  const codes = [extensions['errorClass'], extensions['errorCode'], extensions['error_code'], extensions['code']];
  return codes.find((code) => typeof code === 'string') ?? 'none';
}

/** What NerdGraph answers to one document. */
export interface GraphResponse {
  /** What its errors mean to the exporter; undefined: it is good. */
  readonly meaning: Meaning | undefined;
  readonly errorClass: string;
  /** The object at the root of the document; empty where it is null. */
  readonly found: Json;
}

/** One account over NerdGraph: its reader, and questions that no reader asks. */
export class GraphConnection {
  readonly reader: UpstreamReader;
  readonly call: CallOptions;
  readonly #client: Client;
  readonly #address: URL;
  readonly #account: AccountResolver;

  constructor(
    reader: UpstreamReader,
    account: AccountConfig,
    options: ClientOptions & RestReaderOptions,
    call: CallOptions,
  ) {
    this.reader = reader;
    this.call = call;
    // A refusal that is meant to come is no failure of the account: it has a memory of its own.
    const memory = new AccountMemory(options.monotonic);
    this.#client = new Client(options, memory.failures);
    this.#address = new URL(options.baseUrl);
    const ofReader = { ...options, accountId: account.account_id, detailsMs: options.refusedNamesMs };
    this.#account = new AccountResolver(new Transport(this.#client, ofReader), memory, ofReader);
  }

  accountId(): Promise<number> {
    return this.#account.id(this.call);
  }

  /** Rejects with an UpstreamError where no body comes, and where its errors are about the key or an overload. */
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

  /** One query, as it is answered. */
  async ask(query: QueryParts | string, account?: number, timeout = 29): Promise<GraphResponse> {
    const text = typeof query === 'string' ? query : nrql(query);
    return this.post(NRQL, { account: account ?? (await this.accountId()), nrql: text, timeout });
  }

  /** The result of a query that is expected to have one. Rejects with an UpstreamError where it has none. */
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

/** One account over REST: its reader, and questions that no reader asks. */
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

  /** Metric data of an application over one range, as one value of each metric, with the body they came in. */
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
    const { metrics } = response.body;
    const names = (Array.isArray(metrics) ? (metrics as unknown[]) : []).flatMap((each) =>
      isObject(each) && typeof each['name'] === 'string' ? [each['name']] : [],
    );
    return { names, link: response.link, address: response.address };
  }

  close(): Promise<void> {
    return this.client.connections.close();
  }
}
