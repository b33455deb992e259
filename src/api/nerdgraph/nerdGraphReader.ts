import { diagnose, listAccounts, NerdGraphAccount, readUser } from './nerdGraphAccount.ts';
import { createCustomNamesRead, listMetricNames } from './customNames.ts';
import { AccountMemory, PAGE_SIZE } from './accountMemory.ts';
import { listApplications, listKeyTransactions } from './lists.ts';
import { createGoldenMetricsRead } from './goldenMetrics.ts';
import { listEntities, readEntityTypes } from './entityLists.ts';
import { createCounterRead } from './counters.ts';
import { createHostsRead } from './hosts.ts';
import { createMetricDataRead } from './metricData.ts';
import { createMetricSeriesRead } from './metricSeries.ts';
import { readResponse, checkWindow } from './nrql.ts';
import { createRollingRead } from './rolling.ts';
import { Transport, type NerdGraphReaderOptions } from './transport.ts';
import { CallFailure, explainTooLarge } from '../upstreamError.ts';
import { Client } from '../http/client.ts';
import type { Json } from '../http/validation.ts';
import {
  createSingleRead,
  resolveWindow,
  type CallOptions,
  type QueryResult,
  type QuerySubject,
  type TimeRange,
  type UpstreamReader,
} from '../upstreamReader.ts';
import { readMessages } from '../../nrql/incompleteResult.ts';
import { readRows, UnreadableRows, explainIncomplete } from '../../nrql/queryRows.ts';

/**
 * Creates the reader of NerdGraph (docs/nerdgraph.md). `before` is the memory of the reader that a reload replaces.
 *
 * @throws Error for an invalid base address or proxy address
 */
export function createNerdGraphReader(options: NerdGraphReaderOptions, before?: object): UpstreamReader {
  const memory = before instanceof AccountMemory ? before : new AccountMemory(options.monotonic);
  const client = new Client(options);
  const transport = new Transport(client, options);
  const account = new NerdGraphAccount(transport, memory, options);
  return {
    api: 'nerdgraph',
    memory,
    user: (call) => readUser(transport, call),
    onlyAccount: () => memory.onlyAccount?.id,
    listAccounts: (call) => listAccounts(transport, 'accounts', call),
    hosts: createHostsRead(account),
    rolling: createRollingRead(account),
    customNames: createCustomNamesRead(account),
    metricData: createMetricDataRead(account),
    metricSeries: createMetricSeriesRead(account),
    counters: createCounterRead(account),
    refuseCounters: (problem) => account.transport.failure('counters', problem),
    queries: createSingleRead((query: QuerySubject, range, call) => runQuery(account, query, range, call)),
    entities: {
      list: (type, call) => listEntities(account, type, call),
      listCalls: (type, count) => Math.max(1, Math.ceil(count / memory.entityListOf('entities', type).limit)),
      types: (call) => readEntityTypes(account, call),
      goldenMetrics: createGoldenMetricsRead(account),
    },
    listApplications: ({ ids }, call) => listApplications(account, ids, call),
    listKeyTransactions: ({ ids }, call) => listKeyTransactions(account, ids, call),
    listCalls: (count) => Math.max(1, Math.ceil(count / PAGE_SIZE)),
    listMetricNames: (query, call) => listMetricNames(account, query, call),
    diagnose: (range, call) => diagnose(account, range, call),
    close: () => client.close(),
  };
}

/** Runs a query of the configuration. Accounts with `api: rest` use this, too. */
async function runQuery(
  account: NerdGraphAccount,
  subject: QuerySubject,
  range: TimeRange,
  call: CallOptions,
): Promise<QueryResult> {
  const { transport } = account;
  const group = 'queries';
  const { nrql, rules } = subject;
  const queried = resolveWindow(subject, range);
  // SINCE begins a new line, because the text may end with a comment.
  const query = `${nrql}\nSINCE ${queried.from * 1000} UNTIL ${queried.to * 1000} LIMIT ${rules.limit ?? 'MAX'}`;
  const read = { group, account: await account.resolveId(call), query, keyHeader: 'Api-Key' } as const;
  const result = await explainTooLarge('narrow the query, or set "limit"', transport.runWhole(read, call));
  if (result === undefined) {
    throw transport.failure(group, 'New Relic has no data for any application in the query', 'other');
  }
  return transport.parseReporting(group, () => readResult(result, rules, queried));
}

/** Reads a response to a query of the configuration. Throws a CallFailure if it is unusable or lacks rows. */
function readResult(result: Json, rules: QuerySubject['rules'], queried: TimeRange): QueryResult {
  const fromNewRelic = readResponse(result);
  const { rows, facets } = fromNewRelic;
  const response = { rows, facets, otherResult: result['otherResult'], messages: readMessages(result) };
  try {
    const incomplete = explainIncomplete(response, rules);
    if (incomplete !== undefined) throw new CallFailure('too_large', incomplete);
    return { window: checkWindow(fromNewRelic.window, queried), rows, facets, reading: readRows(response, rules) };
  } catch (error) {
    throw error instanceof UnreadableRows ? new CallFailure('invalid_response', error.message) : error;
  }
}
