import * as z from 'zod';
import type { Host, Instance } from '../types.ts';
import { id, text } from './fields.ts';
import { summary } from './summary.ts';

/** What a host and an instance have in common (api-facts 3.2). */
const machine = z.object({
  id,
  host: text,
  language: z.string().optional(),
  health_status: text.optional(),
  application_summary: summary.optional(),
});

function toHost(fields: z.infer<typeof machine>): Host {
  return {
    id: fields.id,
    host: fields.host,
    language: fields.language,
    healthStatus: fields.health_status,
    summary: fields.application_summary,
  };
}

export const host = machine.transform(toHost);

/** An instance also has a port, which may be 0. */
export const instance = machine
  .extend({
    port: z.int().min(0).max(65_535).optional(),
    links: z.object({ application_host: id.optional() }).optional(),
  })
  .transform((fields): Instance => ({ ...toHost(fields), port: fields.port, hostId: fields.links?.application_host }));
