import * as z from 'zod';
import type { RollingSummary, Application, Host, Instance, KeyTransaction, MetricName } from '../types.ts';
import { amount, count, id, parseTime, text } from '../http/validation.ts';

/** Valid only as a whole: without a bad element the length is wrong, and a million issues would fill the memory. */
const ids = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((element) => Number.isSafeInteger(element) && Number(element) > 0),
);
const texts = z.custom<readonly string[]>(
  (value) => Array.isArray(value) && value.every((element) => typeof element === 'string'),
);

const time = z.string().transform((value, context) => {
  const seconds = parseTime(value);
  if (seconds !== undefined) return seconds;
  context.issues.push({ code: 'custom', message: 'no time with an offset', input: value });
  return z.NEVER;
});

const divideBy = (divisor: number) => amount.transform((value) => value / divisor).optional();

/** Creates the schema of a summary with rates per minute. Older responses have fewer fields, so all are optional. */
const createSummarySchema = (timeUnitsPerSecond: number) => {
  const summaryFields = z.object({
    response_time: divideBy(timeUnitsPerSecond),
    throughput: divideBy(60),
    error_rate: amount.optional(),
    apdex_target: amount.optional(),
    apdex_score: amount.max(1).optional(),
    host_count: count.optional(),
    instance_count: count.optional(),
    concurrent_instance_count: count.optional(),
  });
  return summaryFields.transform((fields): RollingSummary => ({
    responseTime: fields.response_time,
    requestRate: fields.throughput,
    errorRate: fields.error_rate,
    apdexTarget: fields.apdex_target,
    apdexScore: fields.apdex_score,
    hostCount: fields.host_count,
    instanceCount: fields.instance_count,
    concurrentInstanceCount: fields.concurrent_instance_count,
  }));
};

const applicationSummary = createSummarySchema(1000).optional();
const endUserSummary = createSummarySchema(1).optional();

const settings = z.object({
  app_apdex_threshold: amount.optional(),
  end_user_apdex_threshold: amount.optional(),
  enable_real_user_monitoring: z.boolean().optional(),
  use_server_side_config: z.boolean().optional(),
});

const links = z.object({
  alert_policy: id.optional(),
  application_hosts: ids.optional(),
  application_instances: ids.optional(),
});

const listed = z.object({
  id,
  name: text,
  health_status: text.optional(),
  reporting: z.boolean().optional(),
  last_reported_at: time.optional(),
  application_summary: applicationSummary,
  end_user_summary: endUserSummary,
});

const toListed = (fields: z.output<typeof listed>) => ({
  id: fields.id,
  name: fields.name,
  healthStatus: fields.health_status,
  reporting: fields.reporting,
  lastReportedAt: fields.last_reported_at,
  summary: fields.application_summary,
  endUserSummary: fields.end_user_summary,
});

/** An application. Only id and name are always present: a silent application has no summaries. */
export const application = listed
  .extend({ language: z.string().optional(), settings: settings.optional(), links: links.optional() })
  .transform((fields): Application => ({
    language: fields.language,
    apdexThreshold: fields.settings?.app_apdex_threshold,
    endUserApdexThreshold: fields.settings?.end_user_apdex_threshold,
    realUserMonitoring: fields.settings?.enable_real_user_monitoring,
    serverSideConfig: fields.settings?.use_server_side_config,
    alertPolicyId: fields.links?.alert_policy,
    hosts: fields.links?.application_hosts?.length,
    instances: fields.links?.application_instances?.length,
    ...toListed(fields),
  }));

/** A key transaction. Responses published in 2014 have no status. */
export const keyTransaction = listed
  .extend({
    transaction_name: z.string().optional(),
    links: z.object({ application: id.optional() }).optional(),
  })
  .transform((fields): KeyTransaction => ({
    transactionName: fields.transaction_name,
    applicationId: fields.links?.application,
    ...toListed(fields),
  }));

const machine = z.object({
  id,
  host: text,
  language: z.string().optional(),
  health_status: text.optional(),
  application_summary: applicationSummary,
});

const toMachine = (fields: z.output<typeof machine>) => ({
  host: fields.host,
  language: fields.language,
  healthStatus: fields.health_status,
  summary: fields.application_summary,
});

export const host = machine.transform((fields): Host => ({ key: String(fields.id), ...toMachine(fields) }));

export const instance = machine
  .extend({
    port: z.int().min(0).max(65_535).optional(),
    links: z.object({ application_host: id.optional() }).optional(),
  })
  .transform((fields): Instance => ({
    id: fields.id,
    port: fields.port,
    hostId: fields.links?.application_host,
    ...toMachine(fields),
  }));

export const metricName = z
  .object({ name: text, values: texts.optional() })
  .transform(({ name, values }): MetricName => ({ name, values: values ?? [] }));
