import * as z from 'zod';
import { entity, healthStatus, isReporting } from './entity.ts';
import { amount, text } from '../../records/fields.ts';

/** The tag that holds the id which the REST interface gives a key transaction. */
const ID_TAG = 'keyTransactionId';

const tag = z.object({ key: z.string().nullish(), values: z.array(z.string().nullish()).nullish() }).nullish();

/** A key transaction of the entity search. */
export const keyTransaction = entity.extend({ tags: z.array(tag) }).transform((fields, context) => {
  const tags = fields.tags.find((each) => each?.key === ID_TAG);
  const written = tags?.values?.[0] ?? '';
  const id = /^[1-9]\d{0,15}$/.test(written) ? Number(written) : Number.NaN;
  if (!Number.isSafeInteger(id)) {
    context.issues.push({ code: 'custom', message: `no tag ${ID_TAG}`, input: fields.tags, path: ['tags'] });
    return z.NEVER;
  }
  const reporting = isReporting(fields.reporting);
  return {
    id,
    guid: fields.guid,
    name: fields.name,
    reporting,
    healthStatus: healthStatus(reporting, fields.alertSeverity),
  };
});

export type ListedKeyTransaction = z.infer<typeof keyTransaction>;

/** What only the full entity says. */
export const keyTransactionDetails = z
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

export type KeyTransactionDetails = z.infer<typeof keyTransactionDetails>;

/** The id in an application's guid: base64, its padding may be missing, of `account|APM|APPLICATION|id`. */
export function applicationIdOf(guid: string | undefined): number | undefined {
  if (guid === undefined) return undefined;
  const last = Buffer.from(guid, 'base64').toString('utf8').split('|').at(-1) ?? '';
  const id = /^[1-9]\d{0,15}$/.test(last) ? Number(last) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}
