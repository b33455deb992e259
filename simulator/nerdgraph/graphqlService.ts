import * as z from 'zod';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExecutionResult, type GraphQLSchema, buildSchema, execute, GraphQLError, parse, validate } from 'graphql';
import { type CallKind, type FaultRule, appliesTo } from '../faults/faultRules.ts';
import { comparedValues, NrqlError } from '../nrql/condition.ts';
import { parseNrql } from '../nrql/parseQuery.ts';
import { runNrql } from '../nrql/runQuery.ts';
import { type JsonObject, sentKey, type ServiceResponse } from '../simulatorHttp.ts';
import {
  type LoggedOperation,
  MinuteLimit,
  NERDGRAPH_PATH,
  type ServiceCall,
  type ServiceOptions,
} from '../simulatorState.ts';
import { unpadded } from '../world/worldEntities.ts';
import type { World } from '../world/world.ts';
import { entityTypes, findEntities, readSearchKind, parseSearch, wholeEntities } from './graphqlEntities.ts';
import { createError, invalidInput, isOmitted, cutPage, truncated } from './pages.ts';

const REQUEST = z.object({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
});

/** Reads the GraphQL request in a body; undefined if the body has another form. */
function readRequest(text: string): z.infer<typeof REQUEST> | undefined {
  try {
    return REQUEST.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Parses a document, or returns its errors. The service executes it twice: to list its requests, and to answer. */
function parseDocument(schema: GraphQLSchema, query: string) {
  try {
    const document = parse(query);
    const errors = validate(schema, document);
    return errors.length > 0 ? { errors } : { document };
  } catch (error) {
    if (error instanceof GraphQLError) return { errors: [error] };
    throw error;
  }
}

/** Resolves a request of a document. The first execution lists the request; the second returns the resolved value. */
type Field = <Result>(
  kind: CallKind,
  text: string,
  resolve: (fault: FaultRule | undefined) => { readonly value: Result; readonly rows: number },
) => Result | null;

/** One request of a document. */
interface DocumentCall {
  /** The entry in the log of calls, which records the result. */
  readonly entry: LoggedOperation;
  readonly applicationIds: readonly number[];
}

const MAX_GUIDS = 25;
/** The most calls in flight of one user, over all keys of the user. */
const MAX_CALLS_AT_ONCE = 25;
const USER = 1_000_000;

function refuse(status: number, message: string, headers: Readonly<Record<string, string>> = {}): ServiceResponse {
  return { status, body: { errors: [{ message }] }, headers };
}

/** Returns the result of `read`, or `fallback` for an invalid query. The answer reports the error later. */
function readOr<Found>(fallback: Found, read: () => Found): Found {
  try {
    return read();
  } catch (error) {
    if (error instanceof NrqlError) return fallback;
    throw error;
  }
}

/** Returns the kind of an entity search; applications if the search is invalid. */
const readKind = (text: string): CallKind => readOr('graphql_applications', () => readSearchKind(parseSearch(text)));

const readApplicationIds = (query: string): readonly number[] =>
  comparedValues(parseNrql(query).where, 'appId').map(Number);

const joinGuids = (guids: readonly (string | null)[]): string => guids.filter((guid) => guid !== null).join(' ');

/** The most checked documents in the cache. A client sends a few documents again and again. */
const MAX_DOCUMENTS = 100;

/** The schema, and a cache of documents that were checked against it. */
class CheckedSchema {
  readonly schema: GraphQLSchema;
  readonly #documents = new Map<string, ReturnType<typeof parseDocument>>();

  constructor(text: string) {
    this.schema = buildSchema(text);
  }

  checkedDocument(query: string): ReturnType<typeof parseDocument> {
    const checked = this.#documents.get(query);
    if (checked !== undefined) return checked;
    const document = parseDocument(this.schema, query);
    if (this.#documents.size === MAX_DOCUMENTS) this.#documents.clear();
    this.#documents.set(query, document);
    return document;
  }
}

/** The GraphQL interface. */
export class GraphqlService {
  /** The schema of all simulators in this process. It lies beside this file, and in `dist` beside the bundle. */
  static #opened: Promise<CheckedSchema> | undefined;
  readonly #options: ServiceOptions;
  readonly #schema: CheckedSchema;
  readonly #queries: MinuteLimit;
  readonly #identical: MinuteLimit;
  /** Calls in flight, by user. */
  readonly #running = new Map<number, number>();

  private constructor(options: ServiceOptions, schema: CheckedSchema) {
    this.#options = options;
    this.#schema = schema;
    this.#queries = new MinuteLimit(options.settings.nrqlPerMinute);
    this.#identical = new MinuteLimit(options.settings.identicalPerMinute);
  }

  static async open(options: ServiceOptions): Promise<GraphqlService> {
    GraphqlService.#opened ??= readFile(new URL('./nerdgraph.graphql', import.meta.url), 'utf8').then(
      (text) => new CheckedSchema(text),
    );
    return new GraphqlService(options, await GraphqlService.#opened);
  }

  async read(incoming: IncomingMessage, response: ServerResponse, body: string): Promise<ServiceCall> {
    const key = sentKey(incoming.headers)?.value ?? '';
    const user = this.#userOf(key);
    const running = this.#count(user, 1);
    response.once('close', () => this.#count(user, -1));
    const request = readRequest(body);
    const document = this.#schema.checkedDocument(request?.query ?? '');
    const requested = request === undefined ? [] : await this.#listRequests(request, document);
    return {
      kinds: requested.map(({ entry }) => entry.kind),
      get applicationIds() {
        return requested.flatMap(({ applicationIds }) => applicationIds);
      },
      text: [NERDGRAPH_PATH, ...requested.map(({ entry }) => entry.text)].join(' '),
      isGraphql: true,
      path: NERDGRAPH_PATH,
      search: '',
      operations: requested.map(({ entry }) => entry),
      format: 'json',
      respond: async (rule) => {
        if (incoming.method !== 'POST') return refuse(405, 'Method Not Allowed', { Allow: 'POST' });
        // Unlike REST, NerdGraph accepts the key in this header only.
        if (incoming.headers['api-key'] === undefined || !this.#options.apiKeys.has(key))
          return refuse(401, 'authentication required');
        if (running > MAX_CALLS_AT_ONCE) return refuse(429, 'Too many requests at once');
        const now = this.#options.state.now();
        const isRepeated = ({ entry: { kind, text } }: DocumentCall): boolean =>
          kind === 'graphql_nrql' && !this.#identical.count(`${key} ${text}`, now);
        if (requested.some(isRepeated)) return refuse(429, 'Too many identical queries');
        if (request === undefined) return refuse(400, 'The body must be a JSON object with a query');
        const field = createAnswers(requested, rule);
        return { status: 200, body: await this.#execute(request, document, this.#root(field, key, rule)), headers: {} };
      },
    };
  }

  /** Lists the requests of a document by executing it with null for each. An invalid document has none. */
  async #listRequests(
    request: z.infer<typeof REQUEST>,
    document: ReturnType<typeof parseDocument>,
  ): Promise<readonly DocumentCall[]> {
    const requested: DocumentCall[] = [];
    const list: Field = (kind, text) => {
      requested.push({
        entry: { kind, text },
        // Only a fault of one application needs them, so without faults no query is read twice.
        get applicationIds() {
          return kind === 'graphql_nrql' ? readOr([], () => readApplicationIds(text)) : [];
        },
      });
      return null;
    };
    await this.#execute(request, document, this.#root(list));
    return requested;
  }

  /** Returns the body of the response: the data, and the errors of failed fields. */
  async #execute(
    { variables, operationName }: z.infer<typeof REQUEST>,
    read: ReturnType<typeof parseDocument>,
    rootValue: object,
  ): Promise<JsonObject> {
    const { schema } = this.#schema;
    const result: ExecutionResult =
      'errors' in read
        ? read
        : await execute({ schema, document: read.document, rootValue, variableValues: variables, operationName });
    const errors = result.errors?.map((error) => error.toJSON());
    return { ...(errors && { errors }), ...('data' in result && { data: result.data }) } as JsonObject;
  }

  /**
   * Creates the root object of execution: the members of the schema's `Query`.
   *
   * @param key undefined to list requests only, which may then name any account
   */
  #root(field: Field, key?: string, rule?: FaultRule) {
    const { state, settings } = this.#options;
    const { accounts } = state;
    const worlds = [...new Set(accounts.flatMap(({ id }) => state.worldOf(id) ?? []))];
    const level = rule?.effect === 'null-alias' ? rule.level : undefined;
    const now = state.now();

    const createNrql =
      (world: World) =>
      ({ query }: { readonly query: string }) =>
        field('graphql_nrql', query, (fault) => {
          if (!this.#queries.count(`${key ?? ''} ${world.options.accountId}`, now))
            throw new GraphQLError('The limit of NRQL queries per minute has been exceeded', {
              extensions: { errorClass: 'TOO_MANY_REQUESTS' },
            });
          const { results, otherResult, totalResult, facets, messages, since, until } = runNrql(query, {
            world,
            now,
            snaps: settings.nrqlSnapping,
            truncate: (facetsFound) => truncated(fault, facetsFound),
          });
          const timeWindow = { begin: since, end: until, since: String(since), until: String(until) };
          const said = fault?.effect === 'message' ? [...messages, fault.text] : messages;
          const metadata = { facets: facets ?? null, messages: said, timeWindow };
          return { value: { results, otherResult, totalResult, metadata }, rows: results.length };
        });

    const actor = {
      user: () =>
        field('graphql_user', '', () => ({
          value: { id: this.#userOf(key ?? '') },
          rows: 1,
        })),
      accounts: () => field('graphql_accounts', '', () => ({ value: accounts, rows: accounts.length })),
      account: ({ id }: { readonly id: number }) => {
        // To list requests, any world is good enough.
        const world = state.worldOf(id) ?? (key === undefined ? state.world : undefined);
        if (world === undefined)
          throw new GraphQLError(`You are not authorized to query account ${id}`, {
            extensions: { errorClass: 'SERVER_ERROR', classification: 'DataFetchingException' },
          });
        if (level === 'account') return null;
        return { id, name: accounts.find((account) => account.id === id)?.name ?? null, nrql: createNrql(world) };
      },
      entitySearch: (search: {
        readonly query?: string | null;
        readonly options?: { readonly limit?: number | null } | null;
      }) => {
        const text = search.query ?? '';
        return field(readKind(text), text, (fault) => {
          const condition = parseSearch(text);
          const found = worlds
            .flatMap((world) => findEntities(world, now, condition, fault))
            .filter(({ name }) => !isOmitted(name, fault));
          const results = ({ cursor }: { readonly cursor?: string | null }) => {
            const { page, nextCursor } = cutPage(found, cursor, search.options?.limit ?? undefined, fault);
            return { entities: page.map(({ outline }) => outline()), nextCursor };
          };
          return { value: { count: found.length, types: () => entityTypes(found), results }, rows: found.length };
        });
      },
      entities: ({ guids }: { readonly guids: readonly (string | null)[] }) =>
        field('graphql_entities', joinGuids(guids), (fault) => {
          if (guids.length > MAX_GUIDS)
            throw invalidInput(`At most ${MAX_GUIDS} guids can be asked for, not ${guids.length}`);
          const wanted = guids.map((guid) => unpadded(guid ?? ''));
          const known = new Map(worlds.flatMap((world) => [...wholeEntities(world, now, wanted)]));
          const found = wanted.flatMap((guid) => known.get(guid) ?? []).filter(({ name }) => !isOmitted(name, fault));
          const value = found.slice(0, truncated(fault, found.length));
          return { value, rows: value.length };
        }),
    };
    return { actor: level === 'actor' ? null : actor };
  }

  #userOf(key: string): number {
    return this.#options.settings.users?.[key] ?? USER;
  }

  /** Changes the number of a user's calls in flight by `more`, and returns it. */
  #count(user: number, more: 1 | -1): number {
    const running = (this.#running.get(user) ?? 0) + more;
    if (running === 0) this.#running.delete(user);
    else this.#running.set(user, running);
    return running;
  }
}

/** Creates the resolver that answers each request, or applies the fault, and logs the result. */
function createAnswers(requested: readonly DocumentCall[], rule: FaultRule | undefined): Field {
  return (kind, text, resolve) => {
    const one = requested.find(
      ({ entry }) =>
        entry.kind === kind && entry.text === text && entry.rows === undefined && entry.error === undefined,
    );
    const fault = rule !== undefined && appliesTo(rule, [kind], one?.applicationIds ?? []) ? rule : undefined;
    if (fault?.effect === 'null-alias') return null;
    try {
      if (fault?.effect === 'graphql-error' && fault.field === undefined) throw createError(fault);
      const { value, rows } = resolve(fault);
      if (one !== undefined) one.entry.rows = rows;
      return value;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (one !== undefined) one.entry.error = error.message;
      throw error instanceof NrqlError ? invalidInput(error.message) : error;
    }
  };
}
