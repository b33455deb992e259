import * as z from 'zod';
import { entity, healthStatus, isReporting } from './entity.ts';
import { amount, count, id } from '../../records/fields.ts';
import { NO_SUMMARY } from '../summaries.ts';
import type { Application } from '../../types.ts';

export interface ListedApplication {
  readonly guid: string;
  readonly application: Application;
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
  .transform((fields): ListedApplication => {
    const reporting = isReporting(fields.reporting);
    const apdexTarget = fields.settings?.apdexTarget ?? undefined;
    const hosts = fields.apmSummary?.hostCount ?? undefined;
    const instances = fields.apmSummary?.instanceCount ?? undefined;
    return {
      guid: fields.guid,
      application: {
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
      },
    };
  });
