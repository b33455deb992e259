import * as z from 'zod';
import type { EntityList } from './accountMemory.ts';
import { findDoubtful, lookUp } from './missingEntities.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import type { Document } from './documents.ts';
import type { Group } from '../../reads/reads.ts';
import type { Transport } from './transport.ts';
import {
  isList,
  isObject,
  LONGEST_TEXT,
  parseRecord,
  text,
  type Discarded,
  type Json,
  readPages,
} from '../http/validation.ts';
import type { CallOptions } from '../upstreamReader.ts';
import type { Tag } from '../types.ts';
import { UpstreamError, CallFailure, type FailureReason } from '../upstreamError.ts';

/** REST's health status by severity of the open alerts. The equivalence is inferred; no public page documents it. */
const HEALTH = { CRITICAL: 'red', WARNING: 'orange', NOT_ALERTING: 'green', NOT_CONFIGURED: 'unknown' } as const;

const tag = z.object({ key: text, values: z.array(z.unknown()).nullish() });

/** Drops invalid tags, and values that are not texts. */
const tags = z.array(z.unknown()).transform((list): readonly Tag[] =>
  list.flatMap((each) => {
    const { data } = tag.safeParse(each);
    const values = data?.values?.filter((value) => typeof value === 'string') ?? [];
    return data === undefined ? [] : [{ key: data.key, values }];
  }),
);

export const entity = z.object({
  guid: text,
  name: text,
  accountId: z.int().nullish(),
  tags: tags.nullish(),
  /** Null counts as true, because New Relic returns false for an entity that stopped reporting. */
  reporting: z
    .boolean()
    .nullish()
    .transform((reporting) => reporting ?? true),
  alertSeverity: z.enum(['CRITICAL', 'WARNING', 'NOT_ALERTING', 'NOT_CONFIGURED']).nullish(),
});

/** Returns the health status in the words of the REST interface; gray for an entity that stopped reporting. */
export function healthStatus({ reporting, alertSeverity: alerts }: z.infer<typeof entity>): string | undefined {
  if (!reporting) return 'gray';
  return alerts === null || alerts === undefined ? undefined : HEALTH[alerts];
}

const MAX_PAGE_SIZE = 2_000;
const MAX_PAGES = 200;

/**
 * Reads all valid entities of a type, `DOMAIN-TYPE`, by guid, and the last failure of a field. Keeps the earlier record
 * of an entity that cannot be read, or that only a look-up finds. Rejects if the search is incomplete.
 */
export async function searchEntities<T extends Json & { readonly reporting: boolean; readonly applicationId?: number }>(
  account: NerdGraphAccount,
  group: Group,
  search: {
    readonly document: Document;
    readonly type: string;
    readonly schema: z.ZodType<T>;
    /** Set for a document with a page size. The page size shrinks when pages are too big. */
    readonly maxEntities?: number;
  },
  call: CallOptions,
): Promise<{ readonly found: ReadonlyMap<string, T>; readonly failure: UpstreamError | undefined }> {
  const { transport } = account;
  const { document, type, schema, maxEntities } = search;
  const list = account.memory.entityListOf(group, type);
  const earlier = list.entities;
  // A page may shrink to one entity.
  const maxPages = maxEntities === undefined ? MAX_PAGES : maxEntities + 1;
  const accountId = await account.resolveId(call);
  const [domain = '', ...rest] = type.split('-');
  const query = `domain = '${domain}' AND type = '${rest.join('-')}' AND accountId = ${accountId}`;
  const guids = new Set<string>();
  const found = new Map<string, T>();
  /** Number of members without a guid. Each may be any entity. */
  let unknown = 0;
  const unreadable = new Set<string>();
  let failure: UpstreamError | undefined;
  // The count may change between two pages. The list must have at least the smallest count.
  let smallest = Infinity;
  let pages = 0;
  const refuse = (words: string, reason?: FailureReason): Error => transport.failure(group, words, reason);
  await transport.parseReporting(group, (discarded) =>
    readPages('', { maxPages }, refuse, async (cursor, page) => {
      const variables = { search: query, cursor: cursor === '' ? null : cursor };
      const read = (limit: Json, options?: Parameters<Transport['read']>[4]) =>
        transport.read(group, document, { ...variables, ...limit }, call, options);
      const isFailing = (): boolean => transport.http.isFailing(call);
      const reading = maxEntities === undefined ? read({}) : readFitting(list, read, isFailing);
      const { found: parent, failed } = await reading;
      const makeFailure = (words: string): CallFailure => new CallFailure('invalid_response', `page ${page}: ${words}`);
      const results = parent['results'];
      const entities = isObject(results) ? results['entities'] : undefined;
      if (!isObject(results) || !isList(entities)) throw makeFailure('the response has no list "entities"');
      if (entities.length > MAX_PAGE_SIZE) {
        throw new CallFailure('too_large', `page ${page} has more than ${MAX_PAGE_SIZE} entities`);
      }
      const count = parent['count'];
      if (typeof count === 'number' && count > (maxEntities ?? Infinity)) {
        const counts = `New Relic counts ${count} entities, above the limit of ${maxEntities}`;
        throw new CallFailure('too_large', `${type}: ${counts}: take the type out of "entities"`);
      }
      if (typeof count === 'number') smallest = Math.min(smallest, count);
      pages = page;
      const before = guids.size;
      // Failed fields are reported, but do not make the list unusable.
      if (failed !== undefined) failure = transport.reportFailure(group, failed.failure);
      for (const [index, each] of entities.entries()) {
        const guid = isObject(each) ? each['guid'] : undefined;
        if (!isObject(each) || typeof guid !== 'string' || guid === '') {
          discarded.add('record', 'entities');
          unknown += 1;
          continue;
        }
        if (guids.has(guid)) continue;
        // The entity counts as listed even if its record cannot be read.
        guids.add(guid);
        const fields = failed?.fields.get(index);
        const written = fields === undefined ? each : fillFromEarlier(each, fields, earlier);
        if (typeof written['accountId'] === 'number' && written['accountId'] !== accountId) {
          discarded.add('record', 'entities.accountId');
          continue;
        }
        const record = parseRecord(schema, written, discarded, 'entities');
        if (record === undefined) {
          unreadable.add(guid);
          continue;
        }
        found.set(guid, record);
        if (isList(written['tags'])) reportLongTags(written['tags'], discarded);
      }
      const next = results['nextCursor'] ?? '';
      if (typeof next !== 'string') throw makeFailure('"nextCursor" is not a text');
      if (next !== '') return { fresh: guids.size - before, next };
      if (typeof count !== 'number') throw makeFailure('the response has no "count"');
      const members = guids.size + unknown;
      if (members < smallest) throw makeFailure(`${members} entities, but New Relic counts ${smallest}`);
      if (members > 0 && found.size === 0) {
        throw discarded.toFailure(`page ${page}: none of the ${members} entities can be read`);
      }
      return { fresh: guids.size - before, next: undefined };
    }),
  );
  // A member without a guid may be any missing entity, so no missing entity is gone for certain.
  const doubtful = unknown > 0 ? new Map<string, number>() : findDoubtful(list, guids, pages);
  const existing = await lookUp(account, group, [...doubtful.keys()], call);
  const hidden = unknown > 0 ? [...earlier.keys()].filter((guid) => !guids.has(guid)) : [];
  for (const guid of [...existing, ...unreadable, ...hidden]) {
    const { data } = schema.safeParse(earlier.get(guid));
    if (data !== undefined) found.set(guid, data);
  }
  // Ends the omission of an entity without data once the entity reports.
  for (const [guid, { reporting, applicationId }] of found) {
    if (reporting && earlier.get(guid)?.['reporting'] !== true) account.memory.omissions.readmit(applicationId ?? guid);
  }
  list.entities = found;
  if (unknown === 0) list.absences = new Map(existing.map((guid) => [guid, doubtful.get(guid) ?? 0]));
  return { found, failure };
}

function reportLongTags(list: readonly unknown[], discarded: Discarded): void {
  for (const each of list) {
    const key = isObject(each) ? each['key'] : undefined;
    if (typeof key === 'string' && key.length > LONGEST_TEXT) {
      discarded.addTooLong('value', 'entities.tags', each, ['key'], LONGEST_TEXT);
    }
  }
}

/** A field that is useless in part: a golden metric without its condition is another metric. */
const WHOLE = 'goldenMetrics';

/** Fills the failed fields of an entity with their earlier values: null would mean that the entity has no value. */
function fillFromEarlier(written: Json, failed: ReadonlySet<string>, earlier: ReadonlyMap<string, Json>): Json {
  const fields = earlier.get(String(written['guid']));
  const known = [...failed].map((name) => {
    return [name, fields?.[name] ?? (name === WHOLE ? undefined : written[name]) ?? undefined] as const;
  });
  return { ...written, ...Object.fromEntries(known) };
}

/**
 * Reads a page, and halves its size while it is too big or times out. Remembers a smaller size only after a success,
 * because during an outage pages of every size time out.
 */
async function readFitting(
  pages: Pick<EntityList, 'limit'>,
  read: (limit: Json, options: Parameters<Transport['read']>[4]) => ReturnType<Transport['read']>,
  isFailing: () => boolean,
): ReturnType<Transport['read']> {
  for (let { limit } = pages; ; limit >>= 1) {
    try {
      // The smallest page is retried like any other call.
      const page = await read({ limit }, { keyHeader: 'Api-Key', retries: limit > 1 ? 'but_timeouts' : 'all' });
      pages.limit = Math.min(pages.limit, limit);
      return page;
    } catch (error) {
      if (!(error instanceof UpstreamError) || limit <= 1) throw error;
      const { reason } = error.failure;
      if (reason !== 'too_large' && (reason !== 'timeout' || isFailing())) throw error;
    }
  }
}
