import { readFile } from 'node:fs/promises';
import {
  type DocumentNode,
  type GraphQLSchema,
  buildSchema,
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  graphql,
  GraphQLError,
  parse,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type GraphqlKind, isMeant, pageFaultOf, type FaultRule } from '../faults/faultRules.ts';
import { NrqlError } from '../nrql/condition.ts';
import { type NrqlContext, type NrqlResult, runNrql } from '../nrql/runQuery.ts';
import type { ServiceSettings } from '../simulatorSettings.ts';
import {
  type EntityContext,
  keyTransactionEntity,
  guidOf,
  isSameGuid,
  entityPage,
  findEntities,
  parseSearch,
  invalidInput,
  ServiceError,
  applicationIdsOf,
  kindOfSearch,
} from './graphqlEntities.ts';

/** Everything that the answer to a document depends on. */
export interface DocumentContext extends EntityContext, Pick<NrqlContext, 'limits' | 'snaps' | 'mustMatchAll'> {
  /** The accounts that `accounts` names. */
  readonly accounts: NonNullable<ServiceSettings['accounts']>;
  /** Counts an NRQL query; false when it is one too many in this minute. */
  readonly countQuery: () => boolean;
  /** The fault of this call; it applies to the fields that it is meant for. */
  readonly rule: FaultRule | undefined;
  /** Told how many rows a query or a search gave, or why it failed. */
  readonly note: (
    kind: GraphqlKind,
    text: string,
    outcome: { readonly rows: number } | { readonly error: string },
  ) => void;
}

const MOST_GUIDS = 25;
/** What the service says of an account that the key does not see. */
const FORBIDDEN = { classification: 'DataFetchingException' };

/** The answer of a field after the fault that is meant for it: null, an error, or what the service gives. */
function field<Answer>(
  context: DocumentContext,
  kind: GraphqlKind,
  applicationIds: readonly number[],
  text: string,
  answer: (rule: FaultRule | undefined) => { readonly value: Answer; readonly rows: number },
): Answer | null {
  const rule = context.rule !== undefined && isMeant(context.rule, [kind], applicationIds) ? context.rule : undefined;
  if (rule?.effect === 'null-alias') return null;
  try {
    if (rule?.effect === 'graphql-error') throw new ServiceError(rule.message, extensionsOf(rule.class));
    const { value, rows } = answer(rule);
    context.note(kind, text, { rows });
    return value;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    context.note(kind, text, { error: error.message });
    throw error instanceof NrqlError ? invalidInput(error.message) : error;
  }
}

/** The service says that a key is bad in another member than the other classes. */
function extensionsOf(errorClass: string): Readonly<Record<string, string>> {
  return errorClass === 'BAD_API_KEY' ? { error_code: errorClass } : { errorClass };
}

/** A truncated answer has only so many of the rows, at least one: half of them unless the rule says how many. */
function truncation(rule: FaultRule | undefined): ((rows: number) => number) | undefined {
  if (rule?.effect !== 'truncate') return undefined;
  return (rows) => Math.max(1, Math.min(rows, rule.rows ?? Math.ceil(rows / 2)));
}

function nrql(context: DocumentContext, query: string) {
  return field(context, 'graphql_nrql', applicationIdsOf(query), query, (rule) => {
    if (!context.countQuery()) {
      throw new ServiceError('The limit of NRQL queries per minute has been exceeded', {
        errorClass: 'TOO_MANY_REQUESTS',
      });
    }
    const result = runNrql(query, {
      ...context,
      guidOf: (type, id) => guidOf(context.accountId, type, id),
      truncate: truncation(rule),
    });
    return { value: container(result), rows: result.results.length };
  });
}

function container({ results, otherResult, totalResult, facets, since, until }: NrqlResult) {
  return {
    results,
    otherResult,
    totalResult,
    metadata: {
      facets: facets ?? null,
      messages: [],
      timeWindow: { begin: since, end: until, since: String(since), until: String(until) },
    },
  };
}

function entitySearch(context: DocumentContext, isListed: boolean, text: string, limit: number | null | undefined) {
  return field(context, kindOfSearch(text), [], text, (rule) => {
    const condition = parseSearch(text);
    const found = isListed ? findEntities(context, condition) : [];
    const results = ({ cursor }: { readonly cursor?: string | null }) =>
      entityPage(found, { cursor, limit, fault: pageFaultOf(rule), truncate: truncation(rule) });
    return { value: { count: found.length, results }, rows: found.length };
  });
}

function entities(context: DocumentContext, guids: readonly (string | null)[]) {
  return field(context, 'graphql_entities', [], guids.filter((guid) => guid !== null).join(' '), (rule) => {
    if (guids.length > MOST_GUIDS)
      throw invalidInput(`At most ${MOST_GUIDS} guids can be asked for, not ${guids.length}`);
    const keys = context.world
      .keyTransactions()
      .map((key) => ({ key, guid: guidOf(context.accountId, 'KEY_TRANSACTION', key.id) }));
    const found = guids.flatMap((wanted) => {
      const match = keys.find(({ guid }) => wanted !== null && isSameGuid(guid, wanted));
      return match === undefined ? [] : [keyTransactionEntity(context, match.key)];
    });
    const value = found.slice(0, truncation(rule)?.(found.length) ?? found.length);
    return { value, rows: value.length };
  });
}

/** The object that GraphQL documents are executed on: the members of the schema's `Query`, with their arguments. */
function rootOf(context: DocumentContext) {
  const { accounts, accountId } = context;
  const isListed = accounts.some(({ id }) => id === accountId);
  const level = context.rule?.effect === 'null-alias' ? context.rule.level : undefined;
  const actor = {
    accounts: () => field(context, 'graphql_accounts', [], '', () => ({ value: accounts, rows: accounts.length })),
    account: ({ id }: { readonly id: number }) => {
      if (id !== accountId || !isListed)
        throw new ServiceError(`You are not authorized to query account ${id}`, FORBIDDEN);
      if (level === 'account') return null;
      return {
        id,
        name: accounts.find((account) => account.id === id)?.name ?? null,
        nrql: ({ query }: { readonly query: string }) => nrql(context, query),
      };
    },
    entitySearch: (search: {
      readonly query?: string | null;
      readonly options?: { readonly limit?: number | null } | null;
    }) => entitySearch(context, isListed, search.query ?? '', search.options?.limit),
    entities: ({ guids }: { readonly guids: readonly (string | null)[] }) => entities(context, isListed ? guids : []),
  };
  return { actor: () => (level === 'actor' ? null : actor) };
}

/** A GraphQL call as it comes in. */
export interface GraphqlRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | undefined;
}

/** One thing a document asks for. */
interface Operation {
  readonly kind: GraphqlKind;
  /** The NRQL query, the search, or the guids; empty for accounts. */
  readonly text: string;
  readonly applicationIds: readonly number[];
}

/** The file lies beside this one, and in `dist` beside the bundle. */
export async function readSchema(): Promise<GraphQLSchema> {
  return buildSchema(await readFile(new URL('./nerdgraph.graphql', import.meta.url), 'utf8'));
}

/** The body of the answer: the data, and errors where fields failed. */
export function execute(
  schema: GraphQLSchema,
  { query, variables, operationName }: GraphqlRequest,
  context: DocumentContext,
): Promise<unknown> {
  return graphql({
    schema,
    source: query,
    rootValue: rootOf(context),
    variableValues: variables,
    operationName: operationName ?? null,
  });
}

/** What a document asks for; nothing when it is not sound. */
export function operationsOf(schema: GraphQLSchema, request: GraphqlRequest): readonly Operation[] {
  const document = soundDocument(schema, request.query);
  if (document === undefined) return [];
  const definitions = getOperationAST(document, request.operationName)?.variableDefinitions ?? [];
  const { coerced } = getVariableValues(schema, definitions, request.variables);
  if (coerced === undefined) return [];
  const found: Operation[] = [];
  const types = new TypeInfo(schema);
  const visitor = visitWithTypeInfo(types, {
    Field: (node) => {
      const definition = types.getFieldDef();
      if (definition === null || definition === undefined) return;
      const operation = operationOf(`${types.getParentType()?.name}.${definition.name}`, () =>
        getArgumentValues(definition, node, coerced),
      );
      if (operation !== undefined) found.push(operation);
    },
  });
  visit(document, visitor);
  return found;
}

/** The document when it is written well and the schema has what it asks for. */
function soundDocument(schema: GraphQLSchema, text: string): DocumentNode | undefined {
  try {
    const document = parse(text);
    return validate(schema, document).length === 0 ? document : undefined;
  } catch (error) {
    if (error instanceof GraphQLError) return undefined;
    throw error;
  }
}

function operationOf(field: string, values: () => Readonly<Record<string, unknown>>): Operation | undefined {
  switch (field) {
    case 'Actor.accounts':
      return { kind: 'graphql_accounts', text: '', applicationIds: [] };
    case 'Actor.entitySearch': {
      const text = texts(values()['query']);
      return { kind: kindOfSearch(text), text, applicationIds: [] };
    }
    case 'Actor.entities':
      return { kind: 'graphql_entities', text: texts(values()['guids']), applicationIds: [] };
    case 'Account.nrql': {
      const text = texts(values()['query']);
      return { kind: 'graphql_nrql', text, applicationIds: applicationIdsOf(text) };
    }
    default:
      return undefined;
  }
}

/** The text, or the texts of a list, of an argument. */
function texts(argument: unknown): string {
  return [argument]
    .flat()
    .filter((value) => typeof value === 'string')
    .join(' ');
}
