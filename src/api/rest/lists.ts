import type * as z from 'zod';
import { encodeQuery, createTarget, type Target, type RestClient } from './restClient.ts';
import { application, host, instance, keyTransaction } from './schemas.ts';
import { describeUnreadable, Discarded, id as recordId, isObject } from '../http/validation.ts';
import type { RollingValues } from '../types.ts';
import { CallFailure } from '../upstreamError.ts';
import type { CallOptions } from '../upstreamReader.ts';

/** Number of records on a full page, and limit for the ids in one `filter[ids]`. */
export const PAGE_SIZE = 200;
const MAX_PAGES = 200;
const MAX_LISTED = PAGE_SIZE * MAX_PAGES;

type Listed = RollingValues & ({ readonly id: number } | { readonly key: string });

interface List<T extends Listed> {
  readonly endpoint: string;
  readonly member: string;
  readonly schema: z.ZodType<T>;
}

export const APPLICATIONS = { endpoint: '/applications.json', member: 'applications', schema: application };

export const KEY_TRANSACTIONS = {
  endpoint: '/key_transactions.json',
  member: 'key_transactions',
  schema: keyTransaction,
};

export const HOSTS = { endpoint: '/applications/{id}/hosts.json', member: 'application_hosts', schema: host };

export const INSTANCES = {
  endpoint: '/applications/{id}/instances.json',
  member: 'application_instances',
  schema: instance,
};

/** The records of a list, after one or more reads. */
export interface ListRead<T> {
  readonly found: Map<number, T>;
  /** Ids of members that are otherwise unreadable. */
  readonly unreadable: Set<number>;
  /** Number of members without a readable id. Each may be any record. */
  unknown: number;
  /** The parts that the last page with an unreadable member left out. */
  leftOut: Discarded;
}

/**
 * Reads a list of the account, whole or for some ids, or a list of an application. Rejects if any page fails, or if the
 * list has members, but no readable member.
 */
export async function readList<T extends Listed>(
  rest: RestClient,
  list: List<T>,
  call: CallOptions,
  { ids, applicationId }: { readonly ids?: readonly number[] | undefined; readonly applicationId?: number } = {},
): Promise<ListRead<T>> {
  const read: ListRead<T> = { found: new Map(), unreadable: new Set(), unknown: 0, leftOut: new Discarded() };
  if (ids === undefined) await addPages(rest, list, createTarget(list.endpoint, { id: applicationId }), read, call);
  else await addByIds(rest, list, ids, read, call);
  const unreadable = read.unreadable.size + read.unknown;
  if (read.found.size > 0 || unreadable === 0) return read;
  throw rest.http.reportFailure(list.endpoint, read.leftOut.toFailure(describeUnreadable(unreadable, list.member)));
}

/** Adds the records with these ids to `read`. Without ids it makes no call: an empty filter would select everything. */
export async function addByIds<T extends Listed>(
  rest: RestClient,
  list: List<T>,
  ids: readonly number[],
  read: ListRead<T>,
  call: CallOptions,
): Promise<void> {
  for (let start = 0; start < ids.length; start += PAGE_SIZE) {
    const filter = encodeQuery([['filter[ids]', ids.slice(start, start + PAGE_SIZE).join(',')]]);
    await addPages(rest, list, createTarget(list.endpoint, {}, filter), read, call);
  }
}

/** Adds all pages of a list to `read`, and keeps the last record of each id. Leaves out unreadable members. */
async function addPages<T extends Listed>(
  rest: RestClient,
  { member, schema }: List<T>,
  target: Target,
  read: ListRead<T>,
  call: CallOptions,
): Promise<void> {
  const { found, unreadable } = read;
  let known = found.size + unreadable.size;
  const take = (records: readonly T[]): number => {
    const before = known;
    for (const record of records) found.set('id' in record ? record.id : Number(record.key), record);
    known = found.size + unreadable.size;
    if (known > MAX_LISTED) {
      const failure = new CallFailure('too_large', `"${member}" has more than ${MAX_LISTED} records`);
      throw rest.http.reportFailure(target.endpoint, failure);
    }
    return known - before;
  };
  await rest.readPages(target, member, schema, { maxPages: MAX_PAGES }, call, take, (record, discarded) => {
    read.leftOut = discarded;
    const { data } = recordId.safeParse(isObject(record) ? record['id'] : undefined);
    if (data === undefined) read.unknown += 1;
    else unreadable.add(data);
  });
}

/**
 * Remembers the records of a list. A record that New Relic lists (or may list) in an unreadable form stays, so that its
 * series and counters go on. Its rolling values go, because they are out of date.
 */
export class KnownRecords<T extends RollingValues> {
  #records: ReadonlyMap<number, T> = new Map();

  get ids(): readonly number[] {
    return [...this.#records.keys()];
  }

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
    const others = requested === undefined ? [] : [...this.#records].filter(([id]) => !requested.has(id));
    this.#records = new Map([...others, ...found]);
    return [...found.values()];
  }
}

/** Reads a list of an application, and completes it from the application's earlier lists. */
export async function readKnown<T extends Listed>(
  rest: RestClient,
  list: List<T>,
  known: Map<number, KnownRecords<T>>,
  applicationId: number,
  call: CallOptions,
): Promise<readonly T[]> {
  const read = await readList(rest, list, call, { applicationId });
  const records = known.get(applicationId) ?? new KnownRecords<T>();
  known.set(applicationId, records);
  return records.complete(read);
}
