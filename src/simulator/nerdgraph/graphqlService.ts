import * as z from 'zod';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import type { FaultRule } from '../faults/faultRules.ts';
import { NERDGRAPH_PATH, type ServiceCall, type ServiceOptions } from '../serviceCall.ts';
import { type LoggedOperation, MinuteLimit } from '../simulatorState.ts';
import { type ServiceAnswer, type JsonObject, sentKey, readBody } from '../simulatorHttp.ts';
import { execute, type GraphqlRequest, operationsOf, readSchema } from './executor.ts';

const REQUEST = z.object({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
});

/** The GraphQL call in a body; undefined when it is none. */
function readRequest(text: string): GraphqlRequest | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = REQUEST.safeParse(body);
  if (!parsed.success) return undefined;
  const { query, variables, operationName } = parsed.data;
  return { query, variables: variables ?? {}, operationName: operationName ?? undefined };
}

function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): ServiceAnswer {
  return { status, body: { errors: [{ message }] }, headers };
}

/** The GraphQL interface of the service. */
export class GraphqlService {
  readonly #options: ServiceOptions;
  readonly #schema: GraphQLSchema;
  readonly #queries: MinuteLimit;
  /** Calls under way, by key. */
  readonly #running = new Map<string, number>();

  private constructor(options: ServiceOptions, schema: GraphQLSchema) {
    this.#options = options;
    this.#schema = schema;
    this.#queries = new MinuteLimit(options.settings.nrqlPerMinute);
  }

  static async open(options: ServiceOptions): Promise<GraphqlService> {
    return new GraphqlService(options, await readSchema());
  }

  async read(incoming: IncomingMessage, response: ServerResponse): Promise<ServiceCall> {
    const key = sentKey(incoming.headers)?.value ?? '';
    const running = this.#count(key, 1);
    response.once('close', () => this.#count(key, -1));
    const request = readRequest(await readBody(incoming));
    const asked = request === undefined ? [] : operationsOf(this.#schema, request);
    const operations = asked.map(({ kind, text }): LoggedOperation => ({ kind, text }));
    const { apiKeys, settings } = this.#options;
    return {
      kinds: asked.map(({ kind }) => kind),
      applicationIds: asked.flatMap(({ applicationIds }) => applicationIds),
      text: [NERDGRAPH_PATH, ...asked.map(({ text }) => text)].join(' '),
      isGraphql: true,
      path: NERDGRAPH_PATH,
      search: '',
      operations,
      format: 'json',
      answer: (rule) => {
        if (incoming.method !== 'POST') return refusal(405, 'Method Not Allowed', { Allow: 'POST' });
        // The REST interface takes the key in another header as well; this one does not.
        if (incoming.headers['api-key'] === undefined || !apiKeys.has(key))
          return refusal(401, 'authentication required');
        if (running > settings.callsAtOnce) return refusal(429, 'Too many requests at once');
        if (request === undefined) return refusal(400, 'The body must be a JSON object with a query');
        return this.#execute(request, operations, key, rule);
      },
    };
  }

  async #execute(
    request: GraphqlRequest,
    operations: readonly LoggedOperation[],
    key: string,
    rule: FaultRule | undefined,
  ): Promise<ServiceAnswer> {
    const { state, settings } = this.#options;
    const { accountId, accounts, nrqlCharacters, nrqlRows, nrqlSnapping, nrqlMatchesAll } = settings;
    const now = state.now();
    const body = await execute(this.#schema, request, {
      world: state.world('nerdgraph'),
      now,
      accountId,
      accounts: accounts ?? [{ id: accountId, name: 'Simulator' }],
      limits: { characters: nrqlCharacters, rows: nrqlRows },
      snaps: nrqlSnapping,
      mustMatchAll: nrqlMatchesAll,
      countQuery: () => this.#queries.count(key, now),
      rule,
      note: (kind, text, outcome) => {
        const noted = operations.find(
          (one) => one.kind === kind && one.text === text && !('rows' in one || 'error' in one),
        );
        if (noted !== undefined) Object.assign(noted, outcome);
      },
    });
    // The objects of the GraphQL library have no prototype, and its errors write themselves.
    return { status: 200, body: JSON.parse(JSON.stringify(body)) as JsonObject, headers: {} };
  }

  /** Calls of a key under way, after this many more. */
  #count(key: string, more: 1 | -1): number {
    const running = (this.#running.get(key) ?? 0) + more;
    if (running === 0) this.#running.delete(key);
    else this.#running.set(key, running);
    return running;
  }
}
