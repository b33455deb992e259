import { Client, type ClientOptions } from '../http/client.ts';
import {
  outcomeOf,
  takeOne,
  type ApplicationSubject,
  type CallOptions,
  type CustomNames,
  type CustomNamesSubject,
  type MetricNameQuery,
  type UpstreamReader,
} from '../upstreamReader.ts';
import type { Application, Host, Instance, MetricName } from '../types.ts';
import { createMetricDataReads } from './metricData.ts';
import { datastoreNames } from '../../formulas/metricInputs.ts';
import {
  addByIds,
  APPLICATIONS,
  HOSTS,
  INSTANCES,
  KEY_TRANSACTIONS,
  getKnownRecords,
  PAGE_SIZE,
  readByIds,
  readList,
} from './lists.ts';
import { createMetricTarget, encodeQuery, RestClient, createTarget } from './restClient.ts';
import { RestMemory } from './restMemory.ts';
import { application, keyTransaction, metricName } from './schemas.ts';
import { CallFailure, explainTooLarge } from '../upstreamError.ts';

/** Limit for the pages of metric names; the longest reported list has 1,240 pages. */
const MAX_NAME_PAGES = 2_000;
/** Limit for the pages of names for one filter of custom metrics. */
const MAX_CUSTOM_PAGES = 20;
const MATCH_REMEDY = 'a longer literal part in "match" (custom_metrics) narrows the list of names';
/** The suffix of all datastore metrics. As a filter it saves most pages of the list of names. */
const DATABASE_FILTER = '/allWeb';

export interface RestReaderOptions extends ClientOptions {
  /** The base address, which ends in `/v2`. */
  readonly baseUrl: string;
  /** True sends `raw=true`: New Relic does not round values to three digits. */
  readonly raw: boolean;
  /** Length of the omission of a refused metric name, in milliseconds. */
  readonly refusedNamesMs: number;
  /** Reads queries and entities, which only NerdGraph has; undefined: the account has neither. */
  readonly nerdgraph?:
    Pick<UpstreamReader, 'user' | 'queries' | 'entities' | 'memory' | 'retire' | 'close'> | undefined;
}

/**
 * Creates the reader of the REST interface, version 2.
 *
 * @param before the memory of the previous reader, at a reload
 * @throws Error for an invalid base address or proxy address
 */
export function createRestReader(options: RestReaderOptions, before?: object): UpstreamReader {
  const memory = before instanceof RestMemory ? before : new RestMemory(options.monotonic);
  const client = new Client(options);
  const rest = new RestClient(client, new URL(options.baseUrl));
  const { nerdgraph } = options;
  memory.nerdgraph = nerdgraph?.memory;
  return {
    api: 'rest',
    memory,
    hosts: {
      take: ([subject]) => takeOne(subject),
      read: (subjects, _, call) => Promise.all(subjects.map((each) => outcomeOf(readHosts(rest, memory, each, call)))),
    },
    instances: {
      take: ([subject]) => takeOne(subject),
      read: (subjects, _, call) =>
        Promise.all(subjects.map((each) => outcomeOf(readInstances(rest, memory, each, call)))),
    },
    datastores: {
      take: ([subject]) => takeOne(subject),
      read: (subjects, _, call) => Promise.all(subjects.map((each) => outcomeOf(readDatastores(rest, each, call)))),
    },
    customNames: {
      take: ([subject]) =>
        takeOne(subject, subject && (memory.nameCalls.get(subject.applicationId) ?? new Set(subject.filters).size)),
      read: (subjects, _, call) =>
        Promise.all(subjects.map((each) => outcomeOf(readCustomNames(rest, memory, each, call)))),
    },
    ...createMetricDataReads(rest, memory, options),
    user: nerdgraph?.user,
    queries: nerdgraph?.queries,
    entities: nerdgraph?.entities,
    listApplications: async ({ ids }, call) => {
      const found =
        ids === undefined
          ? await listAllApplications(rest, memory, call)
          : memory.applicationsById.complete(await readByIds(rest, APPLICATIONS, ids, call), ids);
      const known = new Set(found.map(({ id }) => id));
      const requested = ids === undefined ? undefined : new Set(ids);
      memory.forgetGone((id) => !known.has(id) && requested?.has(id) !== false);
      memory.omissions.forgetOld();
      return found;
    },
    readApplication: (id, call) =>
      rest.readSingle(createTarget('/applications/{id}.json', { id }), 'application', application, call),
    listKeyTransactions: async ({ ids }, call) =>
      ids === undefined
        ? memory.keyTransactions.complete(await readList(rest, KEY_TRANSACTIONS, call))
        : memory.keyTransactionsById.complete(await readByIds(rest, KEY_TRANSACTIONS, ids, call), ids),
    readKeyTransaction: (id, call) =>
      rest.readSingle(createTarget('/key_transactions/{id}.json', { id }), 'key_transaction', keyTransaction, call),
    listCalls: (count) => Math.max(1, Math.ceil(count / PAGE_SIZE)),
    listMetricNames: async (query, call) => {
      const remedy = `application ${query.applicationId}: narrow them by a part of the name`;
      const { names, complete } = await explainTooLarge(remedy, listNames(rest, query, call));
      return { names, complete };
    },
    diagnose: () => Promise.resolve({ facts: [], warnings: [] }),
    retire: () => {
      client.connections.retire();
      nerdgraph?.retire();
    },
    close: async () => {
      await Promise.all([client.connections.close(), nerdgraph?.close()]);
    },
  };
}

/** Lists all applications of the account. */
async function listAllApplications(rest: RestClient, memory: RestMemory, call: CallOptions): Promise<Application[]> {
  const list = await readList(rest, APPLICATIONS, call);
  const listed = new Set([...list.found.keys(), ...list.unreadable]);
  // An application that moves to an earlier page between two calls is on no page that was read. Few move, so one more
  // call reads the missing ids. An application that this call does not return is gone. But if a member has no id, no
  // missing application is gone: the member may be any of them.
  const missing = [...memory.listed].filter((id) => !listed.has(id));
  const mayHaveMoved = memory.listed.size > PAGE_SIZE && missing.length <= PAGE_SIZE && list.unknown === 0;
  const isHidden = list.unknown > 0;
  if (mayHaveMoved) await addByIds(rest, APPLICATIONS, missing, list, call);
  const applications = memory.applications.complete(list);
  memory.listed = isHidden ? new Set(list.found.keys()) : listed;
  return applications;
}

async function readHosts(
  rest: RestClient,
  memory: RestMemory,
  { applicationId: id }: ApplicationSubject,
  call: CallOptions,
): Promise<readonly Host[]> {
  const remedy = `application ${id}: read it without hosts (applications.settings: hosts: false)`;
  return getKnownRecords(memory.hosts, id).complete(await explainTooLarge(remedy, readList(rest, HOSTS, call, id)));
}

async function readInstances(
  rest: RestClient,
  memory: RestMemory,
  { applicationId: id }: ApplicationSubject,
  call: CallOptions,
): Promise<readonly Instance[]> {
  const remedy = `application ${id}: read it without instances (instances: false)`;
  return getKnownRecords(memory.instances, id).complete(
    await explainTooLarge(remedy, readList(rest, INSTANCES, call, id)),
  );
}

async function readDatastores(
  rest: RestClient,
  { applicationId }: ApplicationSubject,
  call: CallOptions,
): Promise<readonly string[]> {
  const read = listNames(rest, { applicationId, name: DATABASE_FILTER }, call);
  const { names } = await explainTooLarge(`application ${applicationId}: leave it out (applications.exclude)`, read);
  return datastoreNames(names.map(({ name }) => name).filter((name) => name.isWellFormed()));
}

async function listNames(rest: RestClient, query: MetricNameQuery, call: CallOptions) {
  const limits = { maxPages: Math.max(MAX_NAME_PAGES, query.maxPages ?? 0), stopAfter: query.maxPages };
  const found = new Map<string, MetricName>();
  const list = createMetricTarget(
    'metrics.json',
    query,
    query.name === undefined ? '' : encodeQuery([['name', query.name]]),
  );
  let pages = 0;
  const complete = await rest.readPages(list, 'metrics', metricName, limits, call, (names, page) => {
    const before = found.size;
    for (const entry of names) if (!found.has(entry.name)) found.set(entry.name, entry);
    pages = page;
    return found.size - before;
  });
  return { names: [...found.values()], complete, pages };
}

/** Reads the names that contain any of the filters, at most 20 pages for each filter. */
async function readCustomNames(
  rest: RestClient,
  memory: RestMemory,
  { applicationId, filters }: CustomNamesSubject,
  call: CallOptions,
): Promise<CustomNames> {
  const found = new Set<string>();
  const cut: string[] = [];
  let calls = 0;
  for (const name of new Set(filters)) {
    const query = { applicationId, name, maxPages: MAX_CUSTOM_PAGES };
    const remedy = `application ${applicationId}: ${MATCH_REMEDY}`;
    const { names, complete, pages } = await explainTooLarge(remedy, listNames(rest, query, call));
    calls += pages;
    if (!complete) {
      const many = `more than ${MAX_CUSTOM_PAGES} pages of metric names with ${JSON.stringify(name)}`;
      const words = `${many}: the exporter leaves out the rest; ${MATCH_REMEDY}`;
      cut.push(words);
      const failure = new CallFailure('too_large', `application ${applicationId}: ${words}`);
      rest.http.reportFailure('/applications/{id}/metrics.json', failure);
    }
    // Encoding would turn a name with half a surrogate pair into another name.
    for (const { name } of names) if (name.isWellFormed()) found.add(name);
  }
  memory.nameCalls.set(applicationId, calls);
  return { names: [...found], cut };
}
