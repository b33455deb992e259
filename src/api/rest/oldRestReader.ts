import type { Dispatcher } from 'undici';
import type * as z from 'zod';
import { under } from '../http/address.ts';
import { CallFailure } from '../http/callFailure.ts';
import { Client } from '../http/client.ts';
import type { ClientOptions } from '../http/client.ts';
import { createDispatcher } from '../http/dispatcher.ts';
import type { DispatcherOptions } from '../http/dispatcher.ts';
import * as endpoints from './endpoints.ts';
import type { Target } from './endpoints.ts';
import { readPages } from './paging.ts';
import type { Pages } from './paging.ts';
import type { MetricDataQuery, MetricNameQuery, UpstreamReader } from '../oldReader.ts';
import type { CallOptions } from '../reader.ts';
import { application } from './schemas/application.ts';
import { host, instance } from './schemas/host.ts';
import { keyTransaction } from './schemas/keyTransaction.ts';
import { LeftOut } from '../records/leftOut.ts';
import { parseList, parseSingle } from '../records/lenient.ts';
import { parseMetricData } from './schemas/metricData.ts';
import { metricName } from './schemas/metricName.ts';
import type { Application, Host, Instance, KeyTransaction, MetricData, MetricName } from '../types.ts';

/** So many ids travel in one `filter[ids]`: a page of the list, and an address of bearable length. */
const IDS_PER_CALL = 200;
/** Metric names come by the thousand; the longest list reported has 1,240 pages (api-facts 5). */
const MOST_NAME_PAGES = 2_000;

export interface RestReaderOptions
  extends Omit<ClientOptions, 'maxBytes'>, Omit<DispatcherOptions, 'connectTimeoutMs'> {
  /** Ends in `/v2`. */
  readonly baseUrl: string;
  /** Sends `raw=true`: values that are not rounded to three digits. */
  readonly raw: boolean;
  /** The longest body that is read, in bytes; 20 MiB by default. */
  readonly maxBytes?: number;
  /** The most pages a list may have; 200 by default. */
  readonly maxPages?: number;
}

/**
 * The reader of the REST interface, version 2. Every method rejects with an UpstreamError, or with the reason of the
 * signal when that is aborted.
 *
 * @throws Error when the base address or the proxy's is none
 */
export function createOldRestReader(options: RestReaderOptions): UpstreamReader {
  const dispatcher = createDispatcher({ ...options, connectTimeoutMs: options.requestTimeoutMs });
  const client = new Client(dispatcher, { ...options, maxBytes: options.maxBytes ?? 20 * 1024 * 1024 });
  return new RestReader(client, dispatcher, new URL(options.baseUrl), options.raw, options.maxPages ?? 200);
}

class RestReader implements UpstreamReader {
  readonly #client: Client;
  readonly #dispatcher: Dispatcher;
  readonly #base: URL;
  readonly #raw: boolean;
  readonly #mostPages: number;

  constructor(client: Client, dispatcher: Dispatcher, base: URL, raw: boolean, mostPages: number) {
    this.#client = client;
    this.#dispatcher = dispatcher;
    this.#base = base;
    this.#raw = raw;
    this.#mostPages = mostPages;
  }

  listApplications({ ids }: { ids?: readonly number[] }, call: CallOptions): Promise<Application[]> {
    const read = (some?: readonly number[]): Promise<Application[]> =>
      this.#list(endpoints.applicationList(some), 'applications', application, call);
    return ids === undefined ? read() : byIds(ids, read);
  }

  readApplication(id: number, call: CallOptions): Promise<Application> {
    return this.#single(endpoints.application(id), 'application', application, call);
  }

  listKeyTransactions({ ids }: { ids?: readonly number[] }, call: CallOptions): Promise<KeyTransaction[]> {
    const read = (some?: readonly number[]): Promise<KeyTransaction[]> =>
      this.#list(endpoints.keyTransactionList(some), 'key_transactions', keyTransaction, call);
    return ids === undefined ? read() : byIds(ids, read);
  }

  readKeyTransaction(id: number, call: CallOptions): Promise<KeyTransaction> {
    return this.#single(endpoints.keyTransaction(id), 'key_transaction', keyTransaction, call);
  }

  listHosts(applicationId: number, call: CallOptions): Promise<Host[]> {
    return this.#list(endpoints.hostList(applicationId), 'application_hosts', host, call);
  }

  listInstances(applicationId: number, call: CallOptions): Promise<Instance[]> {
    return this.#list(endpoints.instanceList(applicationId), 'application_instances', instance, call);
  }

  async listMetricNames(
    query: MetricNameQuery,
    call: CallOptions,
  ): Promise<{ names: MetricName[]; complete: boolean }> {
    const target = endpoints.metricNames(query);
    const found = new Map<string, MetricName>();
    const complete = await this.#pages(target, call, {
      mostPages: Math.max(MOST_NAME_PAGES, query.maxPages ?? 0),
      stopAfter: query.maxPages,
      take: (answer, page) => {
        const before = found.size;
        const names = this.#checked(target, (leftOut) => parseList(metricName, answer.body, 'metrics', leftOut));
        for (const entry of names) if (!found.has(entry.name)) found.set(entry.name, entry);
        query.onPage?.(page, found.size);
        return { entries: names.length, fresh: found.size - before };
      },
    });
    return { names: [...found.values()], complete };
  }

  async readMetricData(query: MetricDataQuery, call: CallOptions): Promise<MetricData> {
    const target = endpoints.metricData({
      ...query,
      hostKey: query.hostKey,
      range: { from: query.from, to: query.to },
      raw: this.#raw,
    });
    const { body } = await this.#client.get(target.endpoint, under(this.#base, target.path), call);
    const { from, to } = query;
    return this.#checked(target, (leftOut) => parseMetricData(body, { from, to }, leftOut));
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  /** All pages of a list, each id once; a list is read whole or not at all. */
  async #list<T extends { readonly id: number } | { readonly key: string }>(
    target: Target,
    member: string,
    schema: z.ZodType<T>,
    call: CallOptions,
  ): Promise<T[]> {
    const found = new Map<number | string, T>();
    await this.#pages(target, call, {
      mostPages: this.#mostPages,
      take: ({ body }) => {
        const before = found.size;
        const records = this.#checked(target, (leftOut) => parseList(schema, body, member, leftOut));
        for (const record of records) {
          const key = 'key' in record ? record.key : record.id;
          if (!found.has(key)) found.set(key, record);
        }
        return { entries: records.length, fresh: found.size - before };
      },
    });
    return [...found.values()];
  }

  async #single<T>(target: Target, member: string, schema: z.ZodType<T>, call: CallOptions): Promise<T> {
    const { body } = await this.#client.get(target.endpoint, under(this.#base, target.path), call);
    return this.#checked(target, (leftOut) => parseSingle(schema, body, member, leftOut));
  }

  #pages(target: Target, call: CallOptions, pages: Omit<Pages, 'endpoint' | 'first'>): Promise<boolean> {
    return readPages(
      this.#client,
      { endpoint: target.endpoint, first: under(this.#base, target.path), ...pages },
      call,
    );
  }

  /** Reads an answer, and reports what of it was left out, or that it is useless. */
  #checked<T>({ endpoint }: Target, read: (leftOut: LeftOut) => T): T {
    const leftOut = new LeftOut();
    try {
      return read(leftOut);
    } catch (error) {
      throw error instanceof CallFailure ? this.#client.fail(endpoint, error) : error;
    } finally {
      const words = leftOut.words();
      if (words !== undefined) this.#client.leftOut(endpoint, words);
    }
  }
}

/** Reads some ids in as many calls as it takes; none without ids, because an empty filter would mean all. */
async function byIds<T>(ids: readonly number[], read: (some: readonly number[]) => Promise<T[]>): Promise<T[]> {
  const found: T[] = [];
  for (let start = 0; start < ids.length; start += IDS_PER_CALL) {
    found.push(...(await read(ids.slice(start, start + IDS_PER_CALL))));
  }
  return found;
}
