import * as z from 'zod';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { GraphqlRequest, Executor } from './executor.ts';
import { distort, refuse, breakConnection, transmit } from '../faults/faultEffects.ts';
import type { FaultRule } from '../faults/faultRules.ts';
import { type Answer, type JsonObject, sentKey, send } from '../wire/httpAnswer.ts';
import { readBody } from '../wire/httpListener.ts';
import { MinuteLimit, type LoggedOperation, type SimulatorState } from '../simulatorState.ts';
import type { ServiceSettings } from '../simulatorSettings.ts';

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

interface NerdGraphOptions {
  readonly state: SimulatorState;
  readonly settings: ServiceSettings;
  readonly executor: Executor;
  readonly apiKeys: ReadonlySet<string>;
  readonly latencyMs: number;
  /** Ends pauses when the simulator closes. */
  readonly signal: AbortSignal;
}

export const NERDGRAPH_PATH = '/graphql';

function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: { errors: [{ message }] }, headers };
}

/** A call with what it asks for, in all its parts. */
interface Call {
  /** Undefined when the body is not a GraphQL request. */
  readonly request: GraphqlRequest | undefined;
  readonly operations: readonly LoggedOperation[];
  readonly key: string;
  /** Calls of this key under way when this one came, itself included. */
  readonly running: number;
}

/** The GraphQL interface of the service: checks calls, executes their documents, and applies the faults. */
export class NerdGraph {
  readonly #options: NerdGraphOptions;
  readonly #queries: MinuteLimit;
  readonly #running = new Map<string, number>();

  constructor(options: NerdGraphOptions) {
    this.#options = options;
    this.#queries = new MinuteLimit(options.settings.nrqlPerMinute);
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { state, latencyMs, signal, executor } = this.#options;
    const key = sentKey(incoming.headers)?.value ?? '';
    const running = this.#count(key, 1);
    response.once('close', () => this.#count(key, -1));
    const request = readRequest(await readBody(incoming));
    const asked = request === undefined ? [] : executor.operations(request);
    const operations = asked.map(({ kind, text }): LoggedOperation => ({ kind, text }));
    const done = this.#log(incoming, operations);
    response.once('close', () => done(response.writableFinished ? response.statusCode : undefined));

    if (latencyMs > 0) await pause(latencyMs, undefined, { signal });
    const rule = state.faults.strike({
      kinds: asked.map(({ kind }) => kind),
      applicationIds: asked.flatMap(({ applicationIds }) => applicationIds),
      text: [NERDGRAPH_PATH, ...asked.map(({ text }) => text)].join(' '),
      isGraphql: true,
    });
    if (rule?.effect === 'hang') return;
    if (rule?.effect === 'reset') {
      breakConnection(response);
      return;
    }
    const refused = rule === undefined ? undefined : refuse(rule, { now: state.now(), key, isGraphql: true });
    if (refused !== undefined) {
      send(response, refused);
      return;
    }
    const call = { request, operations, key, running };
    const said = this.#refuse(incoming, call) ?? (await this.#execute(call, rule));
    await transmit(rule, response, distort(rule, said, 'json'), signal);
  }

  /** Why a call is not answered, whatever it asks for. */
  #refuse({ method, headers }: IncomingMessage, { request, key, running }: Call): Answer | undefined {
    const { apiKeys, settings } = this.#options;
    if (method !== 'POST') return refusal(405, 'Method Not Allowed', { Allow: 'POST' });
    // The REST interface takes the key in another header as well; this one does not.
    if (headers['api-key'] === undefined || !apiKeys.has(key)) return refusal(401, 'authentication required');
    if (running > settings.callsAtOnce) return refusal(429, 'Too many requests at once');
    return request === undefined ? refusal(400, 'The body must be a JSON object with a query') : undefined;
  }

  async #execute({ request, operations, key }: Call, rule: FaultRule | undefined): Promise<Answer> {
    if (request === undefined) throw new Error('a call without a request was not refused');
    const { state, settings, executor } = this.#options;
    const { accountId, accounts, nrqlCharacters, nrqlRows, nrqlSnapping } = settings;
    const now = state.now();
    const body = await executor.execute(request, {
      world: state.world('nerdgraph'),
      now,
      accountId,
      accounts: accounts ?? [{ id: accountId, name: 'Simulator' }],
      limits: { characters: nrqlCharacters, rows: nrqlRows },
      snaps: nrqlSnapping,
      countQuery: () => this.#queries.count(key, now),
      rule,
      note: (kind, text, outcome) => {
        const noted = operations.find(
          (one) => one.kind === kind && one.text === text && !('rows' in one || 'error' in one),
        );
        if (noted !== undefined) Object.assign(noted, outcome);
      },
    });
    return { status: 200, body: toJson(body), headers: {} };
  }

  /** Calls of a key under way, after this many more. */
  #count(key: string, more: 1 | -1): number {
    const running = (this.#running.get(key) ?? 0) + more;
    if (running === 0) this.#running.delete(key);
    else this.#running.set(key, running);
    return running;
  }

  #log({ method, headers }: IncomingMessage, operations: readonly LoggedOperation[]) {
    const { state, apiKeys } = this.#options;
    const key = sentKey(headers);
    return state.requests.begin({
      at: state.now(),
      elapsed: performance.now(),
      method: method ?? '',
      path: NERDGRAPH_PATH,
      query: '',
      kind: operations[0]?.kind,
      applicationId: undefined,
      accept: headers.accept,
      userAgent: headers['user-agent'],
      keyHeader: key?.header,
      keyValid: key !== undefined && apiKeys.has(key.value),
      operations,
    });
  }
}

/** What the GraphQL library gives, as plain JSON: its objects have no prototype, its errors write themselves. */
function toJson(body: unknown): JsonObject {
  return JSON.parse(JSON.stringify(body)) as JsonObject;
}
