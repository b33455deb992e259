import type { PageFault, GraphqlKind } from '../faults/faultRules.ts';
import {
  type Condition,
  comparedValues,
  comparisons,
  meets,
  NrqlError,
  parseCondition,
  TokenReader,
} from '../nrql/condition.ts';
import { type EntityContext, type Outline, applicationOutline, keyTransactionOutline } from './graphqlEntities.ts';
import { parseNrql } from '../nrql/parseQuery.ts';

/** Why the service does not answer a field; the rest of the document is answered all the same. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** The GraphQL library copies these into the answer. */
  readonly extensions: Readonly<Record<string, string>>;

  constructor(message: string, extensions: Readonly<Record<string, string>>) {
    super(message);
    this.extensions = extensions;
  }
}

export function invalidInput(message: string): ServiceError {
  return new ServiceError(message, { errorClass: 'INVALID_INPUT' });
}

const ENTITIES_PER_PAGE = 200;
const ATTRIBUTES = ['accountId', 'domain', 'domainId', 'guid', 'id', 'name', 'reporting', 'type'];

/** Reads the text of an entity search, which finds a LIKE text anywhere in the value. Throws an NrqlError. */
export function parseSearch(text: string): Condition | undefined {
  const reader = new TokenReader(text);
  if (reader.peek().kind === 'end') return undefined;
  const condition = parseCondition(reader, true);
  if (reader.peek().kind !== 'end') reader.fail('AND, OR or the end');
  const unknown = comparisons(condition).find(({ attribute }) => !ATTRIBUTES.includes(attribute));
  if (unknown !== undefined) throw new NrqlError(`there is no ${unknown.attribute} to search for`);
  return condition;
}

/** Whether a search is for key transactions rather than for applications. */
function isForKeyTransactions(condition: Condition | undefined): boolean {
  if (condition === undefined) return false;
  return (
    comparedValues(condition, 'type').includes('KEY_TRANSACTION') || comparedValues(condition, 'domain').includes('EXT')
  );
}

/** The entities that a search finds, those that do not report among them: applications first, each in the order of their ids. */
export function findEntities(context: EntityContext, condition: Condition | undefined): readonly Outline[] {
  const { world } = context;
  const all = [
    ...world.applications().map((application) => ({
      outline: applicationOutline(context, application),
      domainId: String(application.id),
    })),
    ...world.keyTransactions().map((key) => {
      const outline = keyTransactionOutline(context, key);
      return { outline, domainId: outline.guid };
    }),
  ];
  return all
    .filter(({ outline, domainId }) => {
      if (condition === undefined) return true;
      const { guid, name, accountId, domain, type, reporting } = outline;
      const values: Readonly<Record<string, string | null>> = {
        accountId: String(accountId),
        domain,
        domainId,
        guid,
        id: guid,
        name,
        reporting: reporting === null ? null : String(reporting),
        type,
      };
      return meets(condition, (attribute) => values[attribute] ?? null) === true;
    })
    .map(({ outline }) => outline);
}

const encodeCursor = (offset: number): string => Buffer.from(`from:${offset}`).toString('base64url');

function decodeCursor(cursor: string | null | undefined): number {
  if (cursor === null || cursor === undefined) return 0;
  const offset = /^from:(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (offset === undefined) throw invalidInput('Invalid cursor');
  return Number(offset);
}

/** One page of the entities that a search found. Throws a ServiceError for a cursor that the service did not give. */
export function entityPage(
  found: readonly Outline[],
  request: {
    readonly cursor: string | null | undefined;
    /** Entities per page, if fewer than the service gives. */
    readonly limit: number | null | undefined;
    readonly fault: PageFault | undefined;
    /** How many of so many entities are shown; without it, all. */
    readonly truncate: ((entities: number) => number) | undefined;
  },
): { readonly nextCursor: string | null; readonly entities: readonly Outline[] } {
  const size = Math.max(1, Math.min(request.limit ?? ENTITIES_PER_PAGE, ENTITIES_PER_PAGE));
  const offset = decodeCursor(request.cursor);
  const isEndless = request.fault === 'endless-pages' && found.length > 0;
  const page = found.slice(isEndless ? offset % found.length : offset).slice(0, size);
  const shown = page.slice(0, request.truncate?.(page.length) ?? page.length);
  const entities = request.fault === 'repeat-ids' ? shown.flatMap((entity) => [entity, entity]) : shown;
  if (request.fault === 'repeat-next') return { entities, nextCursor: encodeCursor(offset) };
  return { entities, nextCursor: isEndless || offset + size < found.length ? encodeCursor(offset + size) : null };
}

/** What the text is about; `fallback` when it is no sound text, which the answer then says. */
function reading<Subject>(read: () => Subject, fallback: Subject): Subject {
  try {
    return read();
  } catch (error) {
    if (error instanceof NrqlError) return fallback;
    throw error;
  }
}

/** What an entity search looks for: key transactions when it names them, else applications. */
export function kindOfSearch(text: string): GraphqlKind {
  const isFor = reading(() => isForKeyTransactions(parseSearch(text)), false);
  return isFor ? 'graphql_key_transactions' : 'graphql_applications';
}

/** The application ids that an NRQL query names. */
export function applicationIdsOf(query: string): readonly number[] {
  return reading(() => {
    const { where } = parseNrql(query);
    return where === undefined ? [] : comparedValues(where, 'appId').map(Number);
  }, []);
}
