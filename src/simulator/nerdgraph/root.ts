import type { GraphqlKind } from '../callKinds.ts';
import { isMeant } from '../faults/book.ts';
import { pageFaultOf } from '../faults/pageFault.ts';
import type { FaultRule } from '../faults/rule.ts';
import { NrqlSyntaxError, QueryTooBigError } from '../nrql/error.ts';
import type { NrqlLimits, NrqlResult } from '../nrql/run.ts';
import { runNrql } from '../nrql/run.ts';
import type { Account } from '../settings.ts';
import type { EntityContext } from './entities.ts';
import { keyTransactionEntity } from './entities.ts';
import { entityPage, findEntities, parseSearch } from './entitySearch.ts';
import { applicationGuid, isSameGuid, keyTransactionGuid } from './guid.ts';
import { invalidInput, ServiceError } from './serviceError.ts';
import { applicationIdsOf, kindOfSearch } from './subjects.ts';

/** Everything that the answer to a document depends on. */
export interface DocumentContext extends EntityContext {
  /** The accounts that `accounts` names. */
  readonly accounts: readonly Account[];
  readonly limits: NrqlLimits;
  /** Counts an NRQL query; false when it is one too many in this minute. */
  readonly countQuery: () => boolean;
  /** The fault of this call; it applies to the fields that it is meant for. */
  readonly rule: FaultRule | undefined;
  /** Told how many rows a query or a search gave, or why it failed. */
  readonly note: (kind: GraphqlKind, text: string, outcome: Outcome) => void;
}

export type Outcome = { readonly rows: number } | { readonly error: string };

const MOST_GUIDS = 25;

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
    throw error instanceof NrqlSyntaxError || error instanceof QueryTooBigError ? invalidInput(error.message) : error;
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
    const { world, now, limits, accountId } = context;
    const guids = {
      application: (id: number) => applicationGuid(accountId, id),
      keyTransaction: (id: number) => keyTransactionGuid(accountId, id),
    };
    const result = runNrql(query, { world, guids, now, limits, truncate: truncation(rule) });
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

function entitySearch(context: DocumentContext, text: string, limit: number | null | undefined) {
  return field(context, kindOfSearch(text), [], text, (rule) => {
    const found = findEntities(context, parseSearch(text));
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
      .map((key) => ({ key, guid: keyTransactionGuid(context.accountId, key.id) }));
    const found = guids.flatMap((wanted) => {
      const match = keys.find(({ guid }) => wanted !== null && isSameGuid(guid, wanted));
      return match === undefined ? [] : [keyTransactionEntity(context, match.key)];
    });
    const value = found.slice(0, truncation(rule)?.(found.length) ?? found.length);
    return { value, rows: value.length };
  });
}

interface SearchOptions {
  readonly limit?: number | null;
}

/** The object that GraphQL documents are executed on: the members of the schema's `Query`, with their arguments. */
export function rootOf(context: DocumentContext) {
  const { accounts, accountId } = context;
  const level = context.rule?.effect === 'null-alias' ? context.rule.level : undefined;
  const actor = {
    accounts: () => field(context, 'graphql_accounts', [], '', () => ({ value: accounts, rows: accounts.length })),
    account: ({ id }: { readonly id: number }) => {
      if (id !== accountId) throw new ServiceError(`Access denied to account ${id}`, { errorClass: 'ACCESS_DENIED' });
      if (level === 'account') return null;
      return {
        id,
        name: accounts.find((account) => account.id === id)?.name ?? null,
        nrql: ({ query }: { readonly query: string }) => nrql(context, query),
      };
    },
    entitySearch: (search: { readonly query?: string | null; readonly options?: SearchOptions | null }) =>
      entitySearch(context, search.query ?? '', search.options?.limit),
    entities: ({ guids }: { readonly guids: readonly (string | null)[] }) => entities(context, guids),
  };
  return { actor: () => (level === 'actor' ? null : actor) };
}
