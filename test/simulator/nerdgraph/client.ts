import type { Simulator } from '../../../simulator/simulator.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { type Reply, call, MINUTE, NOW } from '../client.ts';

export interface GraphqlError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

export interface GraphqlBody {
  readonly data?: { readonly actor: Readonly<Record<string, unknown>> | null } | null;
  readonly errors?: readonly GraphqlError[];
}

export type Row = Readonly<Record<string, unknown>>;

/** What `nrql` answers, with everything the schema has. */
export interface Container {
  readonly results: readonly Row[];
  readonly otherResult: unknown;
  readonly totalResult: unknown;
  readonly metadata: {
    readonly facets: readonly string[] | null;
    readonly messages: readonly string[];
    readonly timeWindow: {
      readonly begin: number;
      readonly end: number;
      readonly since: string;
      readonly until: string;
    };
  };
}

/** The end of the windows that are asked for: the minute two minutes ago. */
export const TO = Math.floor(NOW / MINUTE) * MINUTE - 2 * MINUTE;
/** The account that simulators answer for unless told otherwise. */
export const ACCOUNT = 1_234_567;
/** Short for the value of timeslices in queries. */
export const V = 'newrelic.timeslice.value';

const NRQL = `query ($account: Int!, $query: Nrql!) {
  actor { account(id: $account) { nrql(query: $query, timeout: 20) {
    results otherResult totalResult metadata { facets messages timeWindow { begin end since until } }
  } } }
}`;

/** One call with a document. */
export function send(
  simulator: Simulator,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = { 'Api-Key': DEMO_API_KEY },
): Promise<Reply> {
  return call(`${simulator.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query, variables }) });
}

/** The body of a call that gets status 200. */
export async function body(
  simulator: Simulator,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
): Promise<GraphqlBody> {
  const reply = await send(simulator, query, variables);
  if (reply.status !== 200) throw new Error(`status ${reply.status}: ${reply.text}`);
  return JSON.parse(reply.text) as GraphqlBody;
}

/** The whole response to an NRQL query, errors too. */
export function ask(simulator: Simulator, query: string, account = ACCOUNT): Promise<GraphqlBody> {
  return body(simulator, NRQL, { account, query });
}

/** The result of a sound NRQL query. */
export async function nrql(simulator: Simulator, query: string): Promise<Container> {
  const { data, errors } = await ask(simulator, query);
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join('; '));
  return (data!.actor!['account'] as { readonly nrql: Container }).nrql;
}

export interface Entity extends Row {
  readonly guid: string;
  readonly name: string;
}

export interface Search {
  readonly count: number;
  readonly results: { readonly nextCursor: string | null; readonly entities: readonly Entity[] };
}

export const APPLICATIONS = `domain = 'APM' AND type = 'APPLICATION' AND accountId = ${ACCOUNT}`;
export const KEY_TRANSACTIONS = `domain = 'EXT' AND type = 'KEY_TRANSACTION' AND accountId = ${ACCOUNT}`;

const SEARCH = `query ($query: String, $cursor: String, $limit: Int) {
  actor { entitySearch(query: $query, options: { limit: $limit }) { count results(cursor: $cursor) { nextCursor entities {
    guid name accountId domain type reporting tags { key values }
    ... on ApmApplicationEntityOutline {
      alertSeverity applicationId language
      apmSummary { hostCount instanceCount throughput webResponseTimeAverage responseTimeAverage errorRate apdexScore }
      settings { apdexTarget serverSideConfig }
    }
    ... on KeyTransactionEntityOutline { severity: alertSeverity }
  } } } }
}`;

/** One page of a search. */
export async function search(
  simulator: Simulator,
  query: string,
  page: { readonly cursor?: string | null; readonly limit?: number | undefined } = {},
): Promise<Search> {
  const { data, errors } = await body(simulator, SEARCH, { query, ...page });
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join('; '));
  return data!.actor!['entitySearch'] as Search;
}
