import * as z from 'zod';
import type { Application, ApplicationSettings } from '../../types.ts';
import { amount, id, ids, text, time } from '../../records/fields.ts';
import { summary } from './summary.ts';

const settings = z
  .object({
    app_apdex_threshold: amount.optional(),
    end_user_apdex_threshold: amount.optional(),
    enable_real_user_monitoring: z.boolean().optional(),
    use_server_side_config: z.boolean().optional(),
  })
  .transform((fields): ApplicationSettings => ({
    apdexThreshold: fields.app_apdex_threshold,
    endUserApdexThreshold: fields.end_user_apdex_threshold,
    realUserMonitoring: fields.enable_real_user_monitoring,
    serverSideConfig: fields.use_server_side_config,
  }));

const links = z.object({
  alert_policy: id.optional(),
  application_hosts: ids.optional(),
  application_instances: ids.optional(),
});

/** An application. Only its id and its name are always there: one that does not report has no summaries. */
export const application = z
  .object({
    id,
    name: text,
    language: z.string().optional(),
    health_status: text.optional(),
    reporting: z.boolean().optional(),
    last_reported_at: time.optional(),
    application_summary: summary.optional(),
    end_user_summary: summary.optional(),
    settings: settings.optional(),
    links: links.optional(),
  })
  .transform((fields): Application => ({
    id: fields.id,
    name: fields.name,
    language: fields.language,
    healthStatus: fields.health_status,
    reporting: fields.reporting,
    lastReportedAt: fields.last_reported_at,
    summary: fields.application_summary,
    endUserSummary: fields.end_user_summary,
    settings: fields.settings,
    alertPolicyId: fields.links?.alert_policy,
    hosts: fields.links?.application_hosts?.length,
    instances: fields.links?.application_instances?.length,
  }));
