import type * as z from 'zod';
import { encodeQuery, createTarget, type Target, type ListRead, type RestClient } from './restClient.ts';
import { application, host, instance, keyTransaction } from './schemas.ts';
import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../types.ts';
import type { CallOptions } from '../upstreamReader.ts';

/** Number of records on a full page, and limit for the ids in one `filter[ids]`. */
export const PAGE_SIZE = 200;

interface List<T> {
  readonly endpoint: string;
  readonly member: string;
  readonly schema: z.ZodType<T>;
  readonly idOf: (record: T) => number;
}

export const APPLICATIONS: List<Application> = {
  endpoint: '/applications.json',
  member: 'applications',
  schema: application,
  idOf: ({ id }) => id,
};

export const KEY_TRANSACTIONS: List<KeyTransaction> = {
  endpoint: '/key_transactions.json',
  member: 'key_transactions',
  schema: keyTransaction,
  idOf: ({ id }) => id,
};

export const HOSTS: List<Host> = {
  endpoint: '/applications/{id}/hosts.json',
  member: 'application_hosts',
  schema: host,
  idOf: ({ key }) => Number(key),
};

export const INSTANCES: List<Instance> = {
  endpoint: '/applications/{id}/instances.json',
  member: 'application_instances',
  schema: instance,
  idOf: ({ id }) => id,
};

/** Reads a list of an application or of the account. Rejects if the list has members, but no readable member. */
export async function readList<T>(
  rest: RestClient,
  list: List<T>,
  call: CallOptions,
  applicationId?: number,
): Promise<ListRead<T>> {
  const read = createEmptyList<T>();
  await rest.readList(createListTarget(list, '', applicationId), list, read, call);
  return refuseUnreadable(rest, list, read);
}

/** Like `readList`, for the records with these ids. */
export async function readByIds<T>(
  rest: RestClient,
  list: List<T>,
  ids: readonly number[],
  call: CallOptions,
): Promise<ListRead<T>> {
  const read = createEmptyList<T>();
  await addByIds(rest, list, ids, read, call);
  return refuseUnreadable(rest, list, read);
}

/** Adds the records with these ids to `read`. Without ids it makes no call: an empty filter would select everything. */
export async function addByIds<T>(
  rest: RestClient,
  list: List<T>,
  ids: readonly number[],
  read: ListRead<T>,
  call: CallOptions,
): Promise<void> {
  for (let start = 0; start < ids.length; start += PAGE_SIZE) {
    const filter = encodeQuery([['filter[ids]', ids.slice(start, start + PAGE_SIZE).join(',')]]);
    await rest.readList(createListTarget(list, filter), list, read, call);
  }
}

function createEmptyList<T>(): ListRead<T> {
  return { found: new Map(), unreadable: new Set(), unknown: 0, leftOut: undefined };
}

function createListTarget({ endpoint }: Pick<List<unknown>, 'endpoint'>, query: string, id?: number): Target {
  return createTarget(endpoint, id === undefined ? {} : { id }, query);
}

function refuseUnreadable<T>(rest: RestClient, { endpoint, member }: List<T>, read: ListRead<T>): ListRead<T> {
  const { found, unreadable, unknown } = read;
  if (found.size === 0 && unreadable.size + unknown > 0) throw rest.failUnreadable(endpoint, member, read);
  return read;
}

/**
 * Remembers the records of a list. A record that New Relic lists (or may list) in an unreadable form stays, so that its
 * series and counters go on. Its rolling values go, because they are out of date.
 */
export class KnownRecords<T extends RollingValues> {
  #records: ReadonlyMap<number, T> = new Map();

  /**
   * Adds the known records that are now unreadable, and returns all records.
   *
   * @param ids the ids that were requested; undefined: the whole list
   */
  complete({ found, unreadable, unknown }: ListRead<T>, ids?: readonly number[]): T[] {
    const requested = ids === undefined ? undefined : new Set(ids);
    for (const [id, record] of this.#records) {
      const isHidden = (unknown > 0 && requested?.has(id) !== false) || unreadable.has(id);
      if (isHidden && !found.has(id)) found.set(id, { ...record, summary: undefined, endUserSummary: undefined });
    }
    if (requested === undefined) this.#records = found;
    else {
      const others = [...this.#records].filter(([id]) => !requested.has(id));
      this.#records = new Map([...others, ...found]);
    }
    return [...found.values()];
  }
}

/** Returns the known records of an application. Creates an empty set at the first call. */
export function getKnownRecords<T extends RollingValues>(
  known: Map<number, KnownRecords<T>>,
  applicationId: number,
): KnownRecords<T> {
  let records = known.get(applicationId);
  if (records === undefined) known.set(applicationId, (records = new KnownRecords()));
  return records;
}
