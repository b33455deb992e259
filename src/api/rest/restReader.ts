import { Client, type ClientOptions } from '../http/client.ts';
import type { UpstreamReader } from '../reader.ts';
import { MetricDataCalls } from './metricData.ts';
import { MetricNames } from './metricNames.ts';
import { oneByOne, RestClient, queryOf, target } from './restClient.ts';
import { RefusedNames } from './nameSplitting.ts';
import { application, host, instance, keyTransaction } from './schemas.ts';

/** So many records are on a page of a list, and so many ids travel in one `filter[ids]`. */
const PAGE_SIZE = 200;

export interface RestReaderOptions extends ClientOptions {
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
export function createRestReader(options: RestReaderOptions): UpstreamReader & { readonly client: Client } {
  const client = new Client(options);
  const rest = new RestClient(client, new URL(options.baseUrl), options.maxPages ?? 200);
  const names = new MetricNames(rest);
  const data = new MetricDataCalls(rest, options.raw, new RefusedNames(options.refusedNamesMs, options.monotonic));
  const { queries } = options;
  return {
    client,
    api: 'rest',
    // The lists bring the rolling values.
    rolling: undefined,
    hosts: oneByOne(({ applicationId: id }, _, call) =>
      rest.list(target('/applications/{id}/hosts.json', { id }), 'application_hosts', host, ({ key }) => key, call),
    ),
    instances: oneByOne(({ applicationId }, _, call) => {
      const list = target('/applications/{id}/instances.json', { id: applicationId });
      return rest.list(list, 'application_instances', instance, ({ id }) => id, call);
    }),
    datastores: names.datastores,
    customNames: names.custom,
    metricData: data.summarized,
    metricSeries: data.series,
    queries: queries?.queries,
    listApplications: async ({ ids }, call) => {
      const list = await byIds(ids, (filter) =>
        rest.list(target('/applications.json', {}, filter), 'applications', application, ({ id }) => id, call),
      );
      if (ids === undefined) names.keepOnly(new Set(list.map(({ id }) => id)));
      return list;
    },
    readApplication: (id, call) =>
      rest.single(target('/applications/{id}.json', { id }), 'application', application, call),
    listKeyTransactions: ({ ids }, call) =>
      byIds(ids, (filter) =>
        rest.list(
          target('/key_transactions.json', {}, filter),
          'key_transactions',
          keyTransaction,
          ({ id }) => id,
          call,
        ),
      ),
    readKeyTransaction: (id, call) =>
      rest.single(target('/key_transactions/{id}.json', { id }), 'key_transaction', keyTransaction, call),
    listCalls: (entities) => Math.max(1, Math.ceil(entities / PAGE_SIZE)),
    listMetricNames: (query, call) => names.list(query, call),
    diagnose: () => Promise.resolve({ facts: [], warnings: [] }),
    inherit: (before) => {
      if ('client' in before && before.client instanceof Client) client.inherit(before.client);
    },
    retire: () => {
      client.connections.retire();
      queries?.retire();
    },
    close: async () => {
      await Promise.all([client.connections.close(), queries?.close()]);
    },
  };
}

/** Reads a list, or some ids of it in as many calls as it takes; no ids cost no call, because an empty filter means all. */
async function byIds<T>(ids: readonly number[] | undefined, read: (filter: string) => Promise<T[]>): Promise<T[]> {
  if (ids === undefined) return read('');
  const found: T[] = [];
  for (let start = 0; start < ids.length; start += PAGE_SIZE) {
    found.push(...(await read(queryOf([['filter[ids]', ids.slice(start, start + PAGE_SIZE).join(',')]]))));
  }
  return found;
}
