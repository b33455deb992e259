import type { EntityList } from './accountMemory.ts';
import { ENTITY_LOOKUP, type Document } from './documents.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { trimPadding } from './rows.ts';
import { isObject, isList } from '../http/validation.ts';
import { UpstreamError, type CallFailure } from '../upstreamError.ts';
import type { CallOptions } from '../upstreamReader.ts';
import type { Group } from '../../reads/reads.ts';

/** New Relic's limit for the entities of one call of `entities(guids:)`. */
const GUIDS_PER_CALL = 25;

/** Lists without an entity until it is gone. A cursor may be a position, so a list can skip an entity that moves. */
const LISTS_UNTIL_GONE = 3;
/** More missing entities than this do not fall between pages by chance. */
const MAX_LOOKED_UP = 200;

/** Finds missing entities that may still exist. Returns how many consecutive lists lack each of them. */
export function findDoubtful(
  { entities, absences }: Pick<EntityList, 'entities' | 'absences'>,
  listed: ReadonlySet<string>,
  pages: number,
): ReadonlyMap<string, number> {
  if (pages < 2) return new Map();
  const missing = [...entities.keys()].filter((guid) => !listed.has(guid));
  if (missing.length > MAX_LOOKED_UP) return new Map();
  const counted = missing.map((guid) => [guid, (absences.get(guid) ?? 0) + 1] as const);
  return new Map(counted.filter(([, lists]) => lists < LISTS_UNTIL_GONE));
}

/** Looks up entities by guid. Returns the guids that exist, or may exist because their look-up failed. */
export async function lookUp(
  account: NerdGraphAccount,
  group: Group,
  guids: readonly string[],
  call: CallOptions,
): Promise<readonly string[]> {
  const existing = new Set<string>();
  const failures = await readByGuid(account, group, ENTITY_LOOKUP, guids, call, (_, entities, failure) => {
    if (failure !== undefined) throw account.transport.reportFailure(group, failure);
    for (const each of entities) {
      const guid = isObject(each) ? each['guid'] : undefined;
      if (typeof guid === 'string') existing.add(trimPadding(guid));
    }
  });
  return guids.filter((guid) => failures.has(guid) || existing.has(trimPadding(guid)));
}

/** Reads entities by guid. Passes the entities of each call, and its error, to `take`. Returns the failures by guid. */
export async function readByGuid(
  { transport }: NerdGraphAccount,
  group: Group,
  document: Document,
  guids: readonly string[],
  call: CallOptions,
  take: (guids: readonly string[], entities: readonly unknown[], failure?: CallFailure) => void | Promise<void>,
): Promise<ReadonlyMap<string, UpstreamError>> {
  const failures = new Map<string, UpstreamError>();
  // An account with `api: rest` has REST's key header, but reads entities through NerdGraph.
  const options = group === 'entities' ? { keyHeader: 'Api-Key' } : {};
  const calls = Array.from({ length: Math.ceil(guids.length / GUIDS_PER_CALL) }, async (_, index) => {
    const some = guids.slice(index * GUIDS_PER_CALL, (index + 1) * GUIDS_PER_CALL);
    try {
      const { found, failed } = await transport.read(group, document, { guids: some }, call, options);
      const { entities } = found;
      if (!isList(entities)) throw transport.failure(group, 'the response has no list "entities"');
      await take(some, entities.slice(0, GUIDS_PER_CALL), failed?.failure);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      for (const guid of some) failures.set(guid, error);
    }
  });
  await Promise.all(calls);
  return failures;
}
