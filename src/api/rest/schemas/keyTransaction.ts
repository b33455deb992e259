import * as z from 'zod';
import type { KeyTransaction } from '../../types.ts';
import { id, text, time } from '../../records/fields.ts';
import { summary } from './summary.ts';

/** A key transaction; bodies of 2014 have no status fields. */
export const keyTransaction = z
  .object({
    id,
    name: text,
    transaction_name: z.string().optional(),
    health_status: text.optional(),
    reporting: z.boolean().optional(),
    last_reported_at: time.optional(),
    application_summary: summary.optional(),
    end_user_summary: summary.optional(),
    links: z.object({ application: id.optional() }).optional(),
  })
  .transform((fields): KeyTransaction => ({
    id: fields.id,
    name: fields.name,
    transactionName: fields.transaction_name,
    healthStatus: fields.health_status,
    reporting: fields.reporting,
    lastReportedAt: fields.last_reported_at,
    summary: fields.application_summary,
    endUserSummary: fields.end_user_summary,
    applicationId: fields.links?.application,
  }));
