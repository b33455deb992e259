import * as z from 'zod';
import { entity, healthStatus, searchEntities } from './entitySearch.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { APPLICATIONS, KEY_TRANSACTION_DETAILS, KEY_TRANSACTIONS } from './documents.ts';
import { amount, count, id, parseRecord, text } from '../http/validation.ts';
import type { Application, KeyTransaction } from '../types.ts';
import type { CallOptions } from '../upstreamReader.ts';
import type { KnownKeyTransaction } from './accountMemory.ts';
import { readByGuid } from './missingEntities.ts';
import { trimPadding } from './rows.ts';
import { UpstreamError } from '../upstreamError.ts';

/**
 * Reads all applications of the account, and returns the ones with these ids: New Relic documents no search by id.
 * Rejects if the list is incomplete, or if it is empty and the key does not list the account.
 */
export async function listApplications(
  account: NerdGraphAccount,
  ids: readonly number[] | undefined,
  call: CallOptions,
): Promise<Application[]> {
  const search = { document: APPLICATIONS, type: 'APM-APPLICATION', schema: application };
  const { found: entities } = await searchEntities(account, 'applications', search, call);
  const found = new Map<number, Application>();
  for (const fields of entities.values()) {
    const { applicationId, name, reporting, settings, apmSummary, tags } = fields;
    if (found.has(applicationId)) continue;
    const apdexThreshold = settings?.apdexTarget ?? undefined;
    const hosts = apmSummary?.hostCount ?? undefined;
    const instances = apmSummary?.instanceCount ?? undefined;
    found.set(applicationId, {
      id: applicationId,
      name,
      language: fields.language?.toLowerCase(),
      healthStatus: healthStatus(fields),
      reporting,
      // Window and scale of New Relic's other figures are unknown, so rolling values are calculated from timeslices.
      summary: { apdexTarget: apdexThreshold, hostCount: hosts, instanceCount: instances },
      apdexThreshold,
      serverSideConfig: settings?.serverSideConfig ?? undefined,
      hosts,
      instances,
      // Tags that failed and were never read are unknown, not empty.
      tags: tags === null ? [] : tags,
    });
  }
  const applications = [...found.values()];
  await account.checkEmpty(applications.length === 0, call);
  account.memory.storeApplications(applications);
  const wanted = new Set(ids);
  return ids === undefined ? applications : applications.filter(({ id }) => wanted.has(id));
}

const application = entity.extend({
  applicationId: id,
  language: z.string().nullish(),
  apmSummary: z.object({ hostCount: count.nullish(), instanceCount: count.nullish() }).nullish(),
  settings: z.object({ apdexTarget: amount.nullish(), serverSideConfig: z.boolean().nullish() }).nullish(),
});

const ID_TAG = 'keyTransactionId';

const keyTransaction = entity.refine((fields) => idOf(fields) !== undefined, { path: ['tags'] });

function idOf({ tags }: z.infer<typeof entity>): number | undefined {
  return parseId(tags?.find(({ key }) => key === ID_TAG)?.values[0] ?? '');
}

const keyTransactionDetails = z
  .object({
    guid: text,
    apdexTarget: amount.nullish(),
    metricName: z.string().nullish(),
    application: z.object({ guid: z.string().nullish() }).nullish(),
  })
  .transform((fields) => ({
    guid: fields.guid,
    apdexTarget: fields.apdexTarget ?? undefined,
    transactionName: fields.metricName ?? undefined,
    applicationId: applicationIdOf(fields.application?.guid ?? undefined),
  }));

/** Returns the id in an application's guid: `account|APM|APPLICATION|id` in base64, with or without padding. */
export function applicationIdOf(guid: string | undefined): number | undefined {
  if (guid === undefined) return undefined;
  return parseId(Buffer.from(guid, 'base64').toString('utf8').split('|').at(-1) ?? '');
}

function parseId(text: string): number | undefined {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}

const GROUP = 'key_transactions';

/**
 * Reads all key transactions, and the details that are unknown or too old. Returns the key transactions with these ids;
 * `unread` is set where the details failed. Rejects if the list is incomplete, or if no details could be read.
 */
export async function listKeyTransactions(
  account: NerdGraphAccount,
  ids: readonly number[] | undefined,
  call: CallOptions,
): Promise<KeyTransaction[]> {
  const { memory, transport } = account;
  const search = { document: KEY_TRANSACTIONS, type: 'EXT-KEY_TRANSACTION', schema: keyTransaction };
  const { found: entities } = await searchEntities(account, GROUP, search, call);
  const failures = await refreshDetails(account, new Set(entities.keys()), call);
  const found = new Map<number, KeyTransaction>();
  const listed = new Map<number, KnownKeyTransaction>();
  for (const entity of entities.values()) {
    const { guid, name, reporting } = entity;
    const id = idOf(entity);
    const details = memory.keyTransactionDetails.get(guid);
    const known = details === undefined ? failures.get(guid) : { ...details, name };
    if (id === undefined || found.has(id) || known === undefined) continue;
    listed.set(id, known);
    found.set(id, {
      id,
      name,
      reporting,
      healthStatus: healthStatus(entity),
      transactionName: details?.transactionName,
      applicationId: details?.applicationId,
      summary: { apdexTarget: details?.apdexTarget },
      unread: known instanceof UpstreamError ? known : undefined,
    });
  }
  const unread = [...listed.values()].filter((known) => known instanceof UpstreamError);
  const worst = unread.find(({ failure }) => unread.length === listed.size || failure.reason === 'auth');
  if (worst !== undefined) throw worst;
  if (entities.size > 0 && found.size === 0) {
    throw transport.failure(GROUP, `none of the ${entities.size} key transactions has details`);
  }
  memory.keyTransactions = listed;
  const wanted = new Set(ids);
  return [...found.values()].filter(({ id }) => ids === undefined || wanted.has(id));
}

async function refreshDetails(
  account: NerdGraphAccount,
  guids: ReadonlySet<string>,
  call: CallOptions,
): Promise<ReadonlyMap<string, UpstreamError>> {
  const { memory, options, transport } = account;
  const details = memory.keyTransactionDetails;
  const readAt = options.monotonic();
  for (const guid of details.keys()) if (!guids.has(guid)) details.delete(guid);
  const due = [...guids].filter((guid) => {
    const known = details.get(guid);
    return known?.isWhole !== true || readAt - known.readAt >= options.detailsMs;
  });
  return readByGuid(account, GROUP, KEY_TRANSACTION_DETAILS, due, call, async (requested, entities, failure) => {
    const open = new Map(requested.map((guid) => [trimPadding(guid), guid]));
    await transport.parseReporting(GROUP, (discarded) => {
      for (const entity of entities) {
        // The failure is reported below, so the entity does not count as discarded.
        if (entity === null && failure !== undefined) continue;
        const read = parseRecord(keyTransactionDetails, entity, discarded, 'entities');
        const guid = open.get(trimPadding(read?.guid ?? ''));
        if (read === undefined || guid === undefined) continue;
        open.delete(trimPadding(guid));
        // A field that failed keeps its earlier value.
        const { applicationId, transactionName, apdexTarget } = details.get(guid) ?? {};
        details.set(guid, {
          guid,
          applicationId: read.applicationId ?? applicationId,
          transactionName: read.transactionName ?? transactionName,
          apdexTarget: read.apdexTarget ?? apdexTarget,
          readAt,
          isWhole: failure === undefined,
        });
      }
      if (failure === undefined) {
        for (let missing = entities.length; missing < requested.length; missing += 1)
          discarded.add('record', 'entities');
      }
    });
    // A failed required field makes its whole entity null, so a missing entity is not gone.
    if (failure !== undefined && open.size > 0) throw transport.reportFailure(GROUP, failure);
  });
}
