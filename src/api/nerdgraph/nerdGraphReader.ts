import { Account, diagnose } from './keyAccount.ts';
import { CustomNamesRead, listMetricNames } from './customNames.ts';
import { PAGE_SIZE, searchEntities, application } from './entitySearch.ts';
import { Fleet, Suspects } from './fleet.ts';
import { KeyTransactions } from './keyTransactions.ts';
import { MetricSeriesRead } from './graphSeries.ts';
import { QueriesRead } from './queriesRead.ts';
import { DataPlans, HostsRead, MetricDataRead, RollingRead } from './reads.ts';
import { Timeslices } from './timeslices.ts';
import { APPLICATIONS, Transport } from './transport.ts';
import { WantedMetrics } from './wanted.ts';
import { CallFailure } from '../http/callFailure.ts';
import { Client, type ClientOptions } from '../http/client.ts';
import type { CallOptions, Diagnosis, MetricNameList, MetricNameQuery, TimeRange, UpstreamReader } from '../reader.ts';
import type { Application, KeyTransaction } from '../types.ts';

export interface NerdGraphReaderOptions extends ClientOptions {
  /** The whole address, ends in `/graphql`. */
  readonly baseUrl: string;
  /** The account to read; undefined: the only one that the key sees. */
  readonly accountId: number | undefined;
  /** How long the details of key transactions are kept, in milliseconds (`intervals.metric_names`). */
  readonly detailsMs: number;
  /** The most pages a list may have; 200 by default. */
  readonly maxPages?: number;
}

/**
 * The reader of NerdGraph, the vendor's GraphQL interface with its query language NRQL. Every method rejects with an
 * UpstreamError, or with the reason of the signal when that is aborted. It gives the values of the REST interface, see
 * docs/nerdgraph.md.
 *
 * @throws Error when the base address or the address of the proxy is not a valid URL
 */
export function createNerdGraphReader(options: NerdGraphReaderOptions): UpstreamReader {
  return new NerdGraphReader(new Client(options), options);
}

class NerdGraphReader implements UpstreamReader {
  readonly api = 'nerdgraph';
  /** The interface knows no instances. */
  readonly instances = undefined;
  /** The metric data bring them. */
  readonly datastores = undefined;
  readonly hosts: HostsRead;
  readonly rolling: RollingRead;
  readonly customNames: CustomNamesRead;
  readonly metricData: MetricDataRead;
  readonly metricSeries: MetricSeriesRead;
  readonly queries: QueriesRead;
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #fleet: Fleet;
  readonly #keyTransactions: KeyTransactions;
  readonly #mostPages: number;
  readonly #now: () => number;

  constructor(client: Client, options: NerdGraphReaderOptions) {
    const transport = new Transport(client, new URL(options.baseUrl), options.requestTimeoutMs);
    const { detailsMs, monotonic } = options;
    const account = new Account(transport, options);
    const fleet = new Fleet(new Suspects(monotonic, detailsMs));
    const wanted = new WantedMetrics();
    const plans = new DataPlans(wanted);
    const timeslices = new Timeslices(transport, account, fleet);
    this.#client = client;
    this.#transport = transport;
    this.#account = account;
    this.#fleet = fleet;
    this.#mostPages = options.maxPages ?? 200;
    this.#now = options.now;
    this.#keyTransactions = new KeyTransactions(transport, account, {
      mostPages: this.#mostPages,
      detailsMs,
      monotonic,
    });
    this.hosts = new HostsRead(timeslices, wanted);
    this.rolling = new RollingRead(timeslices, wanted, this.#keyTransactions);
    this.customNames = new CustomNamesRead(timeslices, account, wanted);
    this.metricData = new MetricDataRead(timeslices, plans);
    this.metricSeries = new MetricSeriesRead(timeslices, plans);
    this.queries = new QueriesRead(transport, account);
  }

  async listApplications({ ids }: { readonly ids?: readonly number[] }, call: CallOptions): Promise<Application[]> {
    const search = {
      group: 'applications',
      document: APPLICATIONS,
      what: "domain = 'APM' AND type = 'APPLICATION'",
      schema: application,
      mostPages: this.#mostPages,
    } as const;
    const listed = await searchEntities(this.#transport, this.#account, search, call);
    const found = new Map<number, Application>();
    for (const each of listed) if (!found.has(each.id)) found.set(each.id, each);
    const applications = [...found.values()];
    await this.#account.checkEmpty(applications.length === 0, call);
    this.#fleet.listed(applications);
    return chosen(applications, ids);
  }

  /** Finds it on the list: that the service can search by this id is not certain. */
  async readApplication(id: number, call: CallOptions): Promise<Application> {
    const [found] = await this.listApplications({ ids: [id] }, call);
    if (found !== undefined) return found;
    throw this.#transport.fail('applications', new CallFailure('not_found', `the account has no application ${id}`));
  }

  async listKeyTransactions(
    { ids }: { readonly ids?: readonly number[] },
    call: CallOptions,
  ): Promise<KeyTransaction[]> {
    return chosen(await this.#keyTransactions.list(call), ids);
  }

  async readKeyTransaction(id: number, call: CallOptions): Promise<KeyTransaction> {
    const [found] = await this.listKeyTransactions({ ids: [id] }, call);
    if (found?.unread !== undefined) throw found.unread;
    if (found !== undefined) return found;
    const words = `the account has no key transaction ${id}`;
    throw this.#transport.fail('key_transactions', new CallFailure('not_found', words));
  }

  listCalls(entities: number): number {
    return Math.max(1, Math.ceil(entities / PAGE_SIZE));
  }

  listMetricNames(query: MetricNameQuery, call: CallOptions): Promise<MetricNameList> {
    return listMetricNames(this.#transport, this.#account, query, this.#now(), call);
  }

  diagnose(range: TimeRange, call: CallOptions): Promise<Diagnosis> {
    return diagnose(this.#transport, this.#account, this.#fleet, range, call);
  }

  /**
   * Whether the account answers, the guids and details of key transactions, the languages of hosts, and what broke queries or was
   * too large for one.
   */
  readonly inherit = (before: UpstreamReader): void => {
    if (!(before instanceof NerdGraphReader)) return;
    this.#client.inherit(before.#client);
    this.#account.inherit(before.#account);
    this.#fleet.inherit(before.#fleet);
    this.#keyTransactions.inherit(before.#keyTransactions);
  };

  retire(): void {
    this.#client.connections.retire();
  }

  close(): Promise<void> {
    return this.#client.connections.close();
  }
}

function chosen<T extends { readonly id: number }>(list: T[], ids: readonly number[] | undefined): T[] {
  if (ids === undefined) return list;
  const wanted = new Set(ids);
  return list.filter(({ id }) => wanted.has(id));
}
