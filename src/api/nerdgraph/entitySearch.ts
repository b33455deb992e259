import * as z from 'zod';
import type { AccountResolver } from './accountResolver.ts';
import { NO_SUMMARY } from './rowValues.ts';
import type { Document } from './failures.ts';
import type { CallGroup, Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import {
  amount,
  count,
  id,
  isList,
  isObject,
  parseRecord,
  readPages,
  text,
  type Discarded,
  type Json,
} from '../http/readRecords.ts';
import type { CallOptions } from '../upstreamReader.ts';
import { UpstreamError, type Application } from '../types.ts';

/**
 * How the severity of the open alerts reads as the health status of the REST interface. That the two mean the same is our
 * inference: no public page says so.
 */
const HEALTH = {
  CRITICAL: 'red',
  WARNING: 'orange',
  NOT_ALERTING: 'green',
  NOT_CONFIGURED: 'unknown',
} as const;

/** The service takes 100 tags of an entity. */
const MOST_TAGS = 200;

const severity = z.enum(['CRITICAL', 'WARNING', 'NOT_ALERTING', 'NOT_CONFIGURED']);

const tag = z.object({ key: text, values: z.array(z.unknown()).nullish() });

/** A tag that cannot be read costs nothing but itself, and so does a value that is no text. */
const tags = z.array(z.unknown()).transform((list): NonNullable<Application['tags']> =>
  list.slice(0, MOST_TAGS).flatMap((each) => {
    const { data } = tag.safeParse(each);
    const values = data?.values?.filter((value) => typeof value === 'string') ?? [];
    return data === undefined ? [] : [{ key: data.key, values }];
  }),
);

/** What entities of every kind have. */
export const entity = z.object({
  guid: text,
  name: text,
  accountId: z.int().nullish(),
  tags: tags.nullish(),
  /** Null counts as true: what does not report any more says so. */
  reporting: z
    .boolean()
    .nullish()
    .transform((reporting) => reporting ?? true),
  alertSeverity: severity.nullish(),
});

/** The health status in words of the REST interface; what does not report is gray. */
export function healthStatus(
  reporting: boolean,
  alerts: z.infer<typeof severity> | null | undefined,
): string | undefined {
  if (!reporting) return 'gray';
  return alerts === null || alerts === undefined ? undefined : HEALTH[alerts];
}

/**
 * An application of the entity search. Its summary holds only the Apdex target and the number of hosts and instances: the
 * service's own figures have an unknown window and scale, so all other rolling values come from timeslices.
 */
export const application = entity
  .extend({
    applicationId: id,
    language: z.string().nullish(),
    apmSummary: z.object({ hostCount: count.nullish(), instanceCount: count.nullish() }).nullish(),
    settings: z.object({ apdexTarget: amount.nullish(), serverSideConfig: z.boolean().nullish() }).nullish(),
  })
  .transform((fields): Application => {
    const { reporting } = fields;
    const apdexTarget = fields.settings?.apdexTarget ?? undefined;
    const hosts = fields.apmSummary?.hostCount ?? undefined;
    const instances = fields.apmSummary?.instanceCount ?? undefined;
    return {
      id: fields.applicationId,
      name: fields.name,
      language: fields.language?.toLowerCase(),
      healthStatus: healthStatus(reporting, fields.alertSeverity),
      reporting,
      lastReportedAt: undefined,
      summary: { ...NO_SUMMARY, apdexTarget, hostCount: hosts, instanceCount: instances },
      endUserSummary: undefined,
      settings: {
        apdexThreshold: apdexTarget,
        endUserApdexThreshold: undefined,
        realUserMonitoring: undefined,
        serverSideConfig: fields.settings?.serverSideConfig ?? undefined,
      },
      alertPolicyId: undefined,
      hosts,
      instances,
      // Tags that failed and were never read are unknown, which is not the same as none.
      tags: fields.tags === undefined ? undefined : (fields.tags ?? []),
    };
  });

/** The fields of an application as the service writes them. */
export function fieldsOfApplication(record: Application): Json {
  const { id, name, language, reporting, healthStatus: health, settings, hosts, instances } = record;
  return {
    ...{ applicationId: id, name, language, reporting, tags: record.tags, alertSeverity: severityOf(health) },
    apmSummary: { hostCount: hosts, instanceCount: instances },
    settings: { apdexTarget: settings?.apdexThreshold, serverSideConfig: settings?.serverSideConfig },
  };
}

/** The severity that gives a health status; undefined where there is none, or the entity did not report. */
export function severityOf(health: string | undefined): string | undefined {
  return Object.entries(HEALTH).find(([, status]) => status === health)?.[0];
}

/** The service's pages; a larger one cannot be asked for. */
export const PAGE_SIZE = 200;
const MOST_ON_A_PAGE = 2_000;
const MOST_PAGES = 200;

/**
 * All entities of a search in the account by guid, page by page, those that can be read. Rejects with an UpstreamError when the search
 * is not whole: a page is null, a cursor comes again, or there are fewer entities than the service counts. Half a list is no
 * list.
 *
 * @param search.what in the service's search language, a constant
 */
export async function searchEntities<T>(
  transport: Transport,
  account: AccountResolver,
  search: {
    readonly group: CallGroup;
    readonly document: Document;
    readonly what: string;
    readonly schema: z.ZodType<T>;
    readonly maxPages: number | undefined;
    /** What a field said before stays where it fails: the records of the last search by guid, and the fields of one. */
    readonly before?: ReadonlyMap<string, T>;
    readonly fieldsOf?: (record: T) => Json;
    /** The size of pages, where the document takes one: it gets smaller where pages are too big. */
    readonly pages?: PageSize;
    /** More entities than this are not read. */
    readonly most?: number;
  },
  call: CallOptions,
): Promise<ReadonlyMap<string, T>> {
  const { group, document, what, schema, pages, most = Infinity } = search;
  const accountId = await account.id(call);
  const query = `${what} AND accountId = ${accountId}`;
  const guids = new Set<string>();
  const found = new Map<string, T>();
  const refuse = (words: string): Error => transport.invalid(group, words);
  await transport.parseReporting(group, (discarded) =>
    readPages('', { mostPages: search.maxPages ?? MOST_PAGES }, refuse, async (cursor, page) => {
      const variables = { search: query, cursor: cursor === '' ? null : cursor };
      const read = (limit: Json, options?: PageOptions) =>
        transport.read(group, document, { ...variables, ...limit }, call, options);
      const { found: parent, failed } = await (pages === undefined ? read({}) : readFitting(pages, read));
      const refused = (words: string): CallFailure => new CallFailure('invalid_response', `page ${page}: ${words}`);
      const results = parent['results'];
      const entities = isObject(results) ? results['entities'] : undefined;
      if (!isObject(results) || !isList(entities)) throw refused('the answer has no list "entities"');
      if (entities.length > MOST_ON_A_PAGE) throw refused(`more than ${MOST_ON_A_PAGE} entities`);
      const count = parent['count'];
      if (typeof count === 'number' && count > most) {
        throw new CallFailure('too_large', `the service counts ${count} entities, and at most ${most} are read`);
      }
      const before = guids.size;
      if (failed !== undefined) transport.fail(group, failed.failure);
      for (const [place, each] of entities.entries()) {
        const fields = failed?.fields.get(place);
        const written = isObject(each) && fields !== undefined ? withEarlier(each, fields, search) : each;
        take(written, schema, accountId, { guids, found }, discarded);
      }
      const next = results['nextCursor'] ?? '';
      if (typeof next !== 'string') throw refused('its next page has no cursor');
      if (next !== '') return { fresh: guids.size - before, next };
      if (typeof count !== 'number') throw refused('the answer has no "count"');
      if (guids.size < count) throw refused(`${guids.size} entities, but the service counts ${count}`);
      if (guids.size > 0 && found.size === 0) throw refused(`none of the ${guids.size} entities can be read`);
      return { fresh: guids.size - before, next: undefined };
    }),
  );
  return found;
}

/** The entity with what its failed fields said before: null would say that there is nothing. */
function withEarlier<T>(
  written: Json,
  failed: ReadonlySet<string>,
  { before, fieldsOf }: { readonly before?: ReadonlyMap<string, T>; readonly fieldsOf?: (record: T) => Json },
): Json {
  const record = before?.get(String(written['guid']));
  const fields = record === undefined ? undefined : fieldsOf?.(record);
  const nulls = [...failed].filter((name) => (written[name] ?? null) === null);
  return { ...written, ...Object.fromEntries(nulls.map((name) => [name, fields?.[name]])) };
}

type PageOptions = Parameters<Transport['read']>[4];

/** How many entities a page holds; remembered by whoever asks for the list again. */
export interface PageSize {
  limit: number;
}

/** Reads a page; one that is refused as too big or too complex, or times out, is read anew with half the entities. */
async function readFitting(
  pages: PageSize,
  read: (limit: Json, options: PageOptions) => ReturnType<Transport['read']>,
): ReturnType<Transport['read']> {
  for (;;) {
    const { limit } = pages;
    try {
      // The smallest is tried again as any call is.
      return await read({ limit }, { keyHeader: 'Api-Key', retries: limit > 1 ? 'but_timeouts' : 'all' });
    } catch (error) {
      if (!(error instanceof UpstreamError) || limit <= 1) throw error;
      const { reason, isTooBig } = error.failure;
      if (isTooBig !== true && reason !== 'too_large' && reason !== 'timeout') throw error;
      pages.limit = Math.min(pages.limit, limit >> 1);
    }
  }
}

/** Notes that the entity was there, whether it can be read or not. */
function take<T>(
  each: unknown,
  schema: z.ZodType<T>,
  accountId: number,
  { guids, found }: { readonly guids: Set<string>; readonly found: Map<string, T> },
  discarded: Discarded,
): void {
  const guid = isObject(each) ? each['guid'] : undefined;
  if (!isObject(each) || typeof guid !== 'string' || guid === '') {
    discarded.record('entities');
    return;
  }
  if (guids.has(guid)) return;
  guids.add(guid);
  if (typeof each['accountId'] === 'number' && each['accountId'] !== accountId) {
    discarded.record('entities.accountId');
    return;
  }
  const record = parseRecord(schema, each, discarded, 'entities');
  if (record !== undefined) found.set(guid, record);
}
