import * as z from 'zod';
import { entity, healthStatus, PAGE_SIZE, searchEntities, type PageSize } from './entitySearch.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { ENTITIES, ENTITY_TYPES } from './transport.ts';
import { count, isList, parseRecord, text } from '../http/validation.ts';
import type { CallOptions, GoldenMetric, MonitoredEntity } from '../upstreamReader.ts';

const GROUP = 'entities';

/** The most entities of one type: the definitions of more would be tens of megabytes. */
const MOST_ENTITIES = 10_000;
/** The most golden metrics of one entity; the longest public list has 12. */
const MOST_METRICS = 100;
const LONGEST_NAME = 200;
const LONGEST_DEFINITION = 10_000;
/** The most different lists of definitions that are kept: a type has one list for each provider of its data. */
const MOST_REMEMBERED = 1_000;

const part = z.string().max(LONGEST_DEFINITION);

const goldenMetric = z.object({
  name: text.max(LONGEST_NAME),
  title: z.string(),
  unit: z.string(),
  definition: z.object({
    select: part,
    from: part,
    where: part.nullish(),
    eventId: part,
    eventObjectId: z.enum(['ENTITY_GUIDS', 'DOMAIN_IDS']),
  }),
});

const monitoredEntity = entity.extend({
  goldenMetrics: z.object({ metrics: z.array(z.unknown()).readonly() }).nullish(),
});

type EntityRecord = z.infer<typeof monitoredEntity>;

const entityType = z.object({ domain: text, type: text, count });

/** Lists entities by type. It remembers the page size that New Relic accepts, and stores equal definitions once. */
export class MonitoredEntities {
  readonly #account: NerdGraphAccount;
  /** Earlier values of failed fields, by type and guid. */
  readonly #last = new Map<string, ReadonlyMap<string, EntityRecord>>();
  readonly #definitions = new Map<string, readonly GoldenMetric[]>();

  constructor(account: NerdGraphAccount) {
    this.#account = account;
  }

  /** Rejects with an UpstreamError where a part of the list cannot be read. */
  async list(type: string, call: CallOptions): Promise<readonly MonitoredEntity[]> {
    const [domain = '', ...rest] = type.split('-');
    const search = {
      group: GROUP,
      document: ENTITIES,
      what: `domain = '${domain}' AND type = '${rest.join('-')}'`,
      schema: monitoredEntity,
      pages: this.#pageSize(type),
      most: MOST_ENTITIES,
      before: this.#last.get(type) ?? new Map<string, EntityRecord>(),
      fieldsOf: (record: EntityRecord) => record,
    } as const;
    const found = await searchEntities(this.#account, search, call);
    this.#account.memory.failures.forgetOld();
    const listed = new Map<string, EntityRecord>();
    this.#last.set(type, listed);
    return this.#account.transport.parseReporting(GROUP, (discarded) =>
      Array.from(found, ([guid, record]) => {
        const { name, reporting, alertSeverity, tags, goldenMetrics } = record;
        const written = goldenMetrics?.metrics.slice(0, MOST_METRICS) ?? [];
        const metrics = this.#once(
          written.flatMap((each) => parseRecord(goldenMetric, each, discarded, 'entities.goldenMetrics.metrics') ?? []),
        );
        listed.set(guid, { ...record, goldenMetrics: { metrics } });
        const status = healthStatus(reporting, alertSeverity);
        return { guid, name, reporting, healthStatus: status, tags: tags ?? [], metrics };
      }),
    );
  }

  listCalls(type: string, entities: number): number {
    return Math.max(1, Math.ceil(entities / this.#pageSize(type).limit));
  }

  async types(call: CallOptions): Promise<readonly { readonly type: string; readonly count: number }[]> {
    const search = `accountId = ${await this.#account.id(call)}`;
    const { found } = await this.#account.transport.read(GROUP, ENTITY_TYPES, { search }, call, {
      keyHeader: 'Api-Key',
    });
    const { types } = found;
    if (!isList(types)) throw this.#account.transport.invalid(GROUP, 'the answer has no list "types"');
    const known = await this.#account.transport.parseReporting(GROUP, (discarded) =>
      types.flatMap((each) => parseRecord(entityType, each, discarded, 'types') ?? []),
    );
    return known
      .map(({ domain, type, count: entities }) => ({ type: `${domain}-${type}`, count: entities }))
      .sort((a, b) => (a.type < b.type ? -1 : 1));
  }

  #pageSize(type: string): PageSize {
    let pages = this.#account.memory.entityPages.get(type);
    if (pages === undefined) this.#account.memory.entityPages.set(type, (pages = { limit: PAGE_SIZE }));
    return pages;
  }

  #once(metrics: readonly GoldenMetric[]): readonly GoldenMetric[] {
    const key = JSON.stringify(metrics);
    const known = this.#definitions.get(key);
    if (known !== undefined) return known;
    if (this.#definitions.size >= MOST_REMEMBERED) this.#definitions.clear();
    this.#definitions.set(key, metrics);
    return metrics;
  }
}
