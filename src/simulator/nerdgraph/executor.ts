import { readFile } from 'node:fs/promises';
import type { DocumentNode, GraphQLSchema } from 'graphql';
import {
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
import type { GraphqlKind } from '../callKinds.ts';
import type { DocumentContext } from './root.ts';
import { rootOf } from './root.ts';
import { applicationIdsOf, kindOfSearch } from './subjects.ts';

/** A GraphQL call as it comes in. */
export interface GraphqlRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | undefined;
}

/** One thing a document asks for. */
export interface Operation {
  readonly kind: GraphqlKind;
  /** The NRQL query, the search, or the guids; empty for accounts. */
  readonly text: string;
  readonly applicationIds: readonly number[];
}

/** Executes GraphQL documents over the schema. */
export interface Executor {
  /** What a document asks for; nothing when it is not sound. */
  readonly operations: (request: GraphqlRequest) => readonly Operation[];
  /** The body of the answer: the data, and errors where fields failed. */
  readonly execute: (request: GraphqlRequest, context: DocumentContext) => Promise<unknown>;
}

/** The file lies beside this one, and in `dist` beside the bundle. */
const SCHEMA = new URL('./nerdgraph.graphql', import.meta.url);

/** Reads the schema. This file and the GraphQL library are loaded when a simulator starts: nothing else needs them. */
export async function createExecutor(): Promise<Executor> {
  const schema = buildSchema(await readFile(SCHEMA, 'utf8'));
  return {
    operations: (request) => operationsOf(schema, request),
    execute: ({ query, variables, operationName }, context) =>
      graphql({
        schema,
        source: query,
        rootValue: rootOf(context),
        variableValues: variables,
        operationName: operationName ?? null,
      }),
  };
}

function operationsOf(schema: GraphQLSchema, request: GraphqlRequest): readonly Operation[] {
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
