import * as endpoints from './endpoints.ts';
import { Client, type ClientOptions } from '../http/client.ts';
import { type DispatcherOptions, KeptConnections } from '../http/connections.ts';
import type {
  ApplicationSubject,
  BatchRead,
  CallOptions,
  CustomNamesSubject,
  Diagnosis,
  MetricDataAnswer,
  MetricDataSubject,
  MetricNameList,
  MetricNameQuery,
  SeriesRead,
  UpstreamReader,
} from '../reader.ts';
import type { Application, Host, Instance, KeyTransaction } from '../types.ts';
import { MetricDataCalls } from './metricData.ts';
import { MetricNames } from './metricNames.ts';
import { oneByOne, RestClient } from './restClient.ts';
import { RefusedNames } from './nameSplitting.ts';
import { application, host, instance, keyTransaction } from './schemas.ts';

/** So many records are on a page of a list, and so many ids travel in one `filter[ids]`. */
const PAGE_SIZE = 200;

export interface RestReaderOptions extends ClientOptions, Omit<DispatcherOptions, 'connectTimeoutMs'> {
  /** Ends in `/v2`. */
  readonly baseUrl: string;
  /** Sends `raw=true`: values that are not rounded to three digits. */
  readonly raw: boolean;
  /** How long a metric name that upstream refused is left out, in milliseconds. */
  readonly refusedNamesMs: number;
  /** Reads the account's queries, through the other interface; undefined: it has none. Ends with this reader. */
  readonly queries?: Pick<UpstreamReader, 'queries' | 'retire' | 'close'> | undefined;
  /** The most pages a list may have; 200 by default. */
  readonly maxPages?: number;
}

/**
 * The reader of the REST interface, version 2. Every method rejects with an UpstreamError, or with the reason of the
 * signal when that is aborted.
 *
 * @throws Error when the base address or the address of the proxy is not a valid URL
 */
export function createRestReader(options: RestReaderOptions): UpstreamReader {
  const connections = new KeptConnections({ ...options, connectTimeoutMs: options.requestTimeoutMs });
  const client = new Client(connections, options);
  return new RestReader(
    connections,
    new RestClient(client, new URL(options.baseUrl), options.maxPages ?? 200),
    options.raw,
    new RefusedNames(options.refusedNamesMs, options.monotonic),
    options.queries,
  );
}

class RestReader implements UpstreamReader {
  readonly api = 'rest';
  /** The lists bring the rolling values. */
  readonly rolling = undefined;
  readonly hosts: BatchRead<ApplicationSubject, readonly Host[]>;
  readonly instances: BatchRead<ApplicationSubject, readonly Instance[]>;
  readonly datastores: BatchRead<ApplicationSubject, readonly string[]>;
  readonly customNames: BatchRead<CustomNamesSubject, readonly string[]>;
  readonly metricData: BatchRead<MetricDataSubject, MetricDataAnswer>;
  readonly metricSeries: SeriesRead;
  readonly queries: UpstreamReader['queries'];
  readonly #queries: RestReaderOptions['queries'];
  readonly #connections: KeptConnections;
  readonly #client: RestClient;
  readonly #names: MetricNames;

  constructor(
    connections: KeptConnections,
    client: RestClient,
    raw: boolean,
    refused: RefusedNames,
    queries: RestReaderOptions['queries'],
  ) {
    this.#queries = queries;
    this.queries = queries?.queries;
    this.#connections = connections;
    this.#client = client;
    this.#names = new MetricNames(client);
    const data = new MetricDataCalls(client, raw, refused);
    this.hosts = oneByOne(({ applicationId }, _, call) =>
      client.list(endpoints.hostList(applicationId), 'application_hosts', host, ({ key }) => key, call),
    );
    this.instances = oneByOne(({ applicationId }, _, call) =>
      client.list(endpoints.instanceList(applicationId), 'application_instances', instance, ({ id }) => id, call),
    );
    this.datastores = this.#names.datastores;
    this.customNames = this.#names.custom;
    this.metricData = data.summarized;
    this.metricSeries = data.series;
  }

  async listApplications({ ids }: { readonly ids?: readonly number[] }, call: CallOptions): Promise<Application[]> {
    const list = await byIds(ids, (some) =>
      this.#client.list(endpoints.applicationList(some), 'applications', application, ({ id }) => id, call),
    );
    if (ids === undefined) this.#names.keepOnly(new Set(list.map(({ id }) => id)));
    return list;
  }

  readApplication(id: number, call: CallOptions): Promise<Application> {
    return this.#client.single(endpoints.application(id), 'application', application, call);
  }

  listKeyTransactions({ ids }: { readonly ids?: readonly number[] }, call: CallOptions): Promise<KeyTransaction[]> {
    return byIds(ids, (some) =>
      this.#client.list(endpoints.keyTransactionList(some), 'key_transactions', keyTransaction, ({ id }) => id, call),
    );
  }

  readKeyTransaction(id: number, call: CallOptions): Promise<KeyTransaction> {
    return this.#client.single(endpoints.keyTransaction(id), 'key_transaction', keyTransaction, call);
  }

  listCalls(entities: number): number {
    return Math.max(1, Math.ceil(entities / PAGE_SIZE));
  }

  listMetricNames(query: MetricNameQuery, call: CallOptions): Promise<MetricNameList> {
    return this.#names.list(query, call);
  }

  diagnose(): Promise<Diagnosis> {
    return Promise.resolve({ facts: [], warnings: [] });
  }

  retire(): void {
    this.#connections.retire();
    this.#queries?.retire();
  }

  async close(): Promise<void> {
    await Promise.all([this.#connections.close(), this.#queries?.close()]);
  }
}

/** Reads a list, or some ids of it in as many calls as it takes; no ids cost no call, because an empty filter means all. */
async function byIds<T>(
  ids: readonly number[] | undefined,
  read: (some: readonly number[] | undefined) => Promise<T[]>,
): Promise<T[]> {
  if (ids === undefined) return read(undefined);
  const found: T[] = [];
  for (let start = 0; start < ids.length; start += PAGE_SIZE) {
    found.push(...(await read(ids.slice(start, start + PAGE_SIZE))));
  }
  return found;
}
