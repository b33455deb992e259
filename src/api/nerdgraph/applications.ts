import * as z from 'zod';
import { entity, healthStatus, searchEntities } from './entitySearch.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { APPLICATIONS } from './documents.ts';
import { amount, count, id } from '../http/validation.ts';
import type { Application } from '../types.ts';
import type { CallOptions } from '../upstreamReader.ts';

/** Reads all applications of the account. Rejects when the list is incomplete, or empty while the key lists no such account. */
export async function listApplications(account: NerdGraphAccount, call: CallOptions): Promise<Application[]> {
  const { memory } = account;
  const search = {
    group: 'applications',
    document: APPLICATIONS,
    type: 'APM-APPLICATION',
    schema: application,
  } as const;
  const { found: entities } = await searchEntities(account, search, call);
  const found = new Map<number, Application>();
  for (const each of entities.values()) {
    if (!found.has(each.applicationId)) found.set(each.applicationId, toApplication(each));
  }
  const applications = [...found.values()];
  await account.checkEmpty(applications.length === 0, call);
  memory.listed(applications);
  return applications;
}

const application = entity.extend({
  applicationId: id,
  language: z.string().nullish(),
  apmSummary: z.object({ hostCount: count.nullish(), instanceCount: count.nullish() }).nullish(),
  settings: z.object({ apdexTarget: amount.nullish(), serverSideConfig: z.boolean().nullish() }).nullish(),
});

/** New Relic's other figures have an unknown window and scale, so the rolling values are calculated from timeslices. */
function toApplication(fields: z.infer<typeof application>): Application {
  const { reporting, settings, apmSummary, tags } = fields;
  const apdexThreshold = settings?.apdexTarget ?? undefined;
  const hosts = apmSummary?.hostCount ?? undefined;
  const instances = apmSummary?.instanceCount ?? undefined;
  return {
    id: fields.applicationId,
    name: fields.name,
    language: fields.language?.toLowerCase(),
    healthStatus: healthStatus(reporting, fields.alertSeverity),
    reporting,
    summary: { apdexTarget: apdexThreshold, hostCount: hosts, instanceCount: instances },
    apdexThreshold,
    serverSideConfig: settings?.serverSideConfig ?? undefined,
    hosts,
    instances,
    // Tags that failed and were never read are unknown, not empty.
    tags: tags === null ? [] : tags,
  };
}
