import * as z from 'zod';
import type { RollingSummary } from '../../types.ts';
import { amount, count } from '../../records/fields.ts';

/** `application_summary` and `end_user_summary`; older bodies have fewer fields. */
export const summary = z
  .object({
    response_time: amount.optional(),
    throughput: amount.optional(),
    error_rate: amount.optional(),
    apdex_target: amount.optional(),
    apdex_score: amount.max(1).optional(),
    host_count: count.optional(),
    instance_count: count.optional(),
    concurrent_instance_count: count.optional(),
  })
  .transform((fields): RollingSummary => ({
    responseTime: fields.response_time,
    throughput: fields.throughput,
    errorRate: fields.error_rate,
    apdexTarget: fields.apdex_target,
    apdexScore: fields.apdex_score,
    hostCount: fields.host_count,
    instanceCount: fields.instance_count,
    concurrentInstanceCount: fields.concurrent_instance_count,
  }));
