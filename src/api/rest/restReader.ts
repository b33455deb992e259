import { Client, type ClientOptions } from '../http/client.ts';
import {
  createSingleRead,
  type ApplicationSubject,
  type CallOptions,
  type CustomNames,
  type CustomNamesSubject,
  type MetricNameQuery,
  type UpstreamReader,
} from '../upstreamReader.ts';
import type { Application, MetricName } from '../types.ts';
import { createMetricDataReads } from './metricData.ts';
import { datastoreNames } from '../../formulas/metricInputs.ts';
import {
  addByIds,
  APPLICATIONS,
  HOSTS,
  INSTANCES,
  KEY_TRANSACTIONS,
  PAGE_SIZE,
  readKnown,
  readList,
  type ListRead,
} from './lists.ts';
import { createMetricTarget, encodeQuery, RestClient, createTarget } from './restClient.ts';
import { RestMemory } from './restMemory.ts';
import { application, keyTransaction, metricName } from './schemas.ts';
import { CallFailure, explainTooLarge } from '../upstreamError.ts';

/** The longest reported list has 1,240 pages. */
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
  /** Milliseconds to leave out a refused metric name. */
  readonly refusedNamesMs: number;
  /** Reads queries and entities, which only NerdGraph has; undefined: the account has neither. */
  readonly nerdgraph?: Pick<UpstreamReader, 'user' | 'queries' | 'entities' | 'memory' | 'close'> | undefined;
}

/**
 * Creates the reader of the REST interface. `before` is the memory of the reader that a reload replaces.
 *
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
    hosts: createSingleRead(({ applicationId: id }: ApplicationSubject, _, call) => {
      const remedy = `application ${id}: read it without hosts (applications.settings: hosts: false)`;
      return explainTooLarge(remedy, readKnown(rest, HOSTS, memory.hosts, id, call));
    }),
    instances: createSingleRead(({ applicationId: id }: ApplicationSubject, _, call) => {
      const remedy = `application ${id}: read it without instances (instances: false)`;
      return explainTooLarge(remedy, readKnown(rest, INSTANCES, memory.instances, id, call));
    }),
    datastores: createSingleRead(async ({ applicationId }: ApplicationSubject, _, call) => {
      const read = listNames(rest, { applicationId, name: DATABASE_FILTER }, call);
      const { names } = await explainTooLarge(
        `application ${applicationId}: leave it out (applications.exclude)`,
        read,
      );
      return datastoreNames(names.map(({ name }) => name).filter((name) => name.isWellFormed()));
    }),
    customNames: createSingleRead(
      (subject: CustomNamesSubject, _, call) => readCustomNames(rest, memory, subject, call),
      ({ applicationId, filters }) => memory.nameCalls.get(applicationId) ?? new Set(filters).size,
    ),
    ...createMetricDataReads(rest, memory, options),
    user: nerdgraph?.user,
    queries: nerdgraph?.queries,
    entities: nerdgraph?.entities,
    listApplications: async ({ ids }, call) => {
      const list = await readList(rest, APPLICATIONS, call, { ids });
      if (ids === undefined) await addMoved(rest, memory, list, call);
      const found = memory.applications.complete(list, ids);
      const known = new Set(found.map(({ id }) => id));
      const requested = ids === undefined ? undefined : new Set(ids);
      memory.forgetGone((id) => !known.has(id) && requested?.has(id) !== false);
      memory.omissions.forgetOld();
      return found;
    },
    readApplication: (id, call) =>
      rest.readSingle(createTarget('/applications/{id}.json', { id }), 'application', application, call),
    listKeyTransactions: async ({ ids }, call) =>
      memory.keyTransactions.complete(await readList(rest, KEY_TRANSACTIONS, call, { ids }), ids),
    readKeyTransaction: (id, call) =>
      rest.readSingle(createTarget('/key_transactions/{id}.json', { id }), 'key_transaction', keyTransaction, call),
    listCalls: (count) => Math.max(1, Math.ceil(count / PAGE_SIZE)),
    listMetricNames: async (query, call) => {
      const remedy = `application ${query.applicationId}: narrow them by a part of the name`;
      const { names, complete } = await explainTooLarge(remedy, listNames(rest, query, call));
      return { names, complete };
    },
    diagnose: () => Promise.resolve({ facts: [], warnings: [] }),
    close: async () => {
      await Promise.all([client.close(), nerdgraph?.close()]);
    },
  };
}

/**
 * Adds applications that moved to an earlier page between two calls, so that they are on no page that was read. Few
 * move, so one more call reads the missing ids. If a member has no id, none is missing: the member may be any of them.
 */
async function addMoved(
  rest: RestClient,
  memory: RestMemory,
  list: ListRead<Application>,
  call: CallOptions,
): Promise<void> {
  const { ids } = memory.applications;
  const missing = ids.filter((id) => !list.found.has(id) && !list.unreadable.has(id));
  const mayHaveMoved = ids.length > PAGE_SIZE && missing.length <= PAGE_SIZE && list.unknown === 0;
  if (mayHaveMoved) await addByIds(rest, APPLICATIONS, missing, list, call);
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
