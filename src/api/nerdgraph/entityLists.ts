import * as z from 'zod';
import type { AccountMemory } from './accountMemory.ts';
import { entity, healthStatus, searchEntities } from './entitySearch.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { ENTITIES, ENTITY_TYPES } from './documents.ts';
import { count, parseList, parseRecord, text, type Json } from '../http/validation.ts';
import { explainTooLarge } from '../upstreamError.ts';
import type { CallOptions, EntityTypeCount, GoldenMetric, MonitoredEntity } from '../upstreamReader.ts';
import { inSlices } from '../../eventLoop/turns.ts';

const GROUP = 'entities';

/** Maximum entities of one type. Definitions of more entities would take tens of megabytes. */
const MAX_ENTITIES = 10_000;
const LONGEST_NAME = 200;
const LONGEST_DEFINITION = 10_000;
const MAX_REMEMBERED = 1_000;

const definitionText = z.string().max(LONGEST_DEFINITION);

export const goldenMetric = z.object({
  name: text.max(LONGEST_NAME),
  title: z.string(),
  unit: z.string(),
  definition: z.object({
    select: definitionText,
    from: definitionText,
    where: definitionText.nullish(),
    eventId: definitionText,
    eventObjectId: z.enum(['ENTITY_GUIDS', 'DOMAIN_IDS']),
  }),
});

const monitoredEntity = entity.extend({
  goldenMetrics: z.object({ metrics: z.array(z.unknown()).readonly() }).nullish(),
});

const entityType = z.object({ domain: text, type: text, count });

/** Reads all entities of a type, `DOMAIN-TYPE`; `unread` is set if an entity's golden metrics were never readable. */
export async function listEntities(
  account: NerdGraphAccount,
  type: string,
  call: CallOptions,
): Promise<readonly MonitoredEntity[]> {
  const { memory, transport } = account;
  const search = { document: ENTITIES, type, schema: monitoredEntity, maxEntities: MAX_ENTITIES };
  const { found, failure } = await explainTooLarge(
    `${type}: take the type out of "entities"`,
    searchEntities(account, GROUP, search, call),
  );
  memory.forgetOld();
  const entities = new Map<string, Json>();
  let unreadable = failure;
  return transport.parseReporting(GROUP, async (discarded) => {
    const listed: MonitoredEntity[] = [];
    await inSlices(found, ([guid, record]) => {
      const { name, reporting, tags, goldenMetrics } = record;
      // Undefined: this search and all earlier searches failed to read the golden metrics. Null: the entity has none.
      const isUnread = goldenMetrics === undefined;
      if (isUnread) unreadable ??= transport.failure(GROUP, 'the golden metrics of an entity cannot be read');
      const written = goldenMetrics?.metrics ?? [];
      // The memory holds parsed lists only, so a list with the same text needs no parsing.
      const metrics =
        memory.goldenMetrics.get(JSON.stringify(written)) ??
        sharedMetrics(
          memory,
          written.flatMap((each) => parseRecord(goldenMetric, each, discarded, 'entities.goldenMetrics.metrics') ?? []),
        );
      entities.set(guid, { ...record, goldenMetrics: isUnread ? undefined : { metrics } });
      const unread = isUnread ? unreadable : undefined;
      listed.push({ guid, name, reporting, healthStatus: healthStatus(record), tags: tags ?? [], metrics, unread });
    });
    memory.entityListOf(GROUP, type).entities = entities;
    return listed;
  });
}

function sharedMetrics({ goldenMetrics }: AccountMemory, metrics: readonly GoldenMetric[]): readonly GoldenMetric[] {
  const key = JSON.stringify(metrics);
  const known = goldenMetrics.get(key);
  if (known !== undefined) return known;
  if (goldenMetrics.size >= MAX_REMEMBERED) goldenMetrics.clear();
  goldenMetrics.set(key, metrics);
  return metrics;
}

/** Reads the entity types of the account, sorted, each with its number of entities. */
export async function readEntityTypes(
  account: NerdGraphAccount,
  call: CallOptions,
): Promise<readonly EntityTypeCount[]> {
  const { transport } = account;
  const search = `accountId = ${await account.resolveId(call)}`;
  const { found } = await transport.read(GROUP, ENTITY_TYPES, { search }, call, { keyHeader: 'Api-Key' });
  const known = await transport.parseReporting(GROUP, (discarded) => parseList(entityType, found, 'types', discarded));
  return known
    .map(({ domain, type, count: entities }) => ({ type: `${domain}-${type}`, count: entities }))
    .sort((a, b) => (a.type < b.type ? -1 : 1));
}
