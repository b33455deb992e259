import * as z from 'zod';
import type { Host, Instance } from '../../types.ts';
import { id, text } from '../../records/fields.ts';
import { summary } from './summary.ts';

/** What a host and an instance have in common in upstream's answers. */
const machine = z.object({
  id,
  host: text,
  language: z.string().optional(),
  health_status: text.optional(),
  application_summary: summary.optional(),
});

function toMachine(fields: z.infer<typeof machine>): Omit<Host, 'key'> {
  return {
    host: fields.host,
    language: fields.language,
    healthStatus: fields.health_status,
    summary: fields.application_summary,
  };
}

export const host = machine.transform((fields): Host => ({ ...toMachine(fields), key: String(fields.id) }));

/** An instance also has a port, which may be 0. */
export const instance = machine
  .extend({
    port: z.int().min(0).max(65_535).optional(),
    links: z.object({ application_host: id.optional() }).optional(),
  })
  .transform((fields): Instance => ({
    ...toMachine(fields),
    id: fields.id,
    port: fields.port,
    hostId: fields.links?.application_host,
  }));
