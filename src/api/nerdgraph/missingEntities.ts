import { GUIDS_PER_CALL, type EntityList } from './accountMemory.ts';
import { ENTITY_LOOKUP } from './documents.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { withoutPadding } from './rows.ts';
import { hasMembers, isList } from '../http/validation.ts';
import { UpstreamError } from '../upstreamError.ts';
import type { CallOptions } from '../upstreamReader.ts';
import type { Group } from '../../reads/reads.ts';

/** A cursor may be a position: then an entity that moves up while the pages are read is on none of them. */
const LISTS_UNTIL_GONE = 3;
/** The most missing entities that are looked up: more do not fall between pages. */
const MAX_LOOKED_UP = 200;

/**
 * The entities of the earlier list that may exist although a list of `pages` pages lacks them, with the number of lists running
 * that lack them. The other missing ones are gone.
 */
export function doubtfullyMissing(
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

/** Looks entities up by guid. Returns the ones that exist, or may: a look-up that fails says nothing of them. */
export async function lookUp(
  account: NerdGraphAccount,
  group: Group,
  guids: readonly string[],
  call: CallOptions,
): Promise<readonly string[]> {
  const calls = Array.from({ length: Math.ceil(guids.length / GUIDS_PER_CALL) }, async (_, index) => {
    const chunk = guids.slice(index * GUIDS_PER_CALL, (index + 1) * GUIDS_PER_CALL);
    try {
      const existing = await readExisting(account, group, chunk, call);
      return chunk.filter((guid) => existing.has(withoutPadding(guid)));
    } catch (error) {
      if (error instanceof UpstreamError) return chunk;
      throw error;
    }
  });
  return (await Promise.all(calls)).flat();
}

/** The guids, without padding, that New Relic has an entity for. */
async function readExisting(
  { transport }: NerdGraphAccount,
  group: Group,
  guids: readonly string[],
  call: CallOptions,
): Promise<ReadonlySet<string>> {
  // Entities are read through NerdGraph also where the account's own header is that of REST.
  const options = group === 'entities' ? { keyHeader: 'Api-Key' } : {};
  const { found, failed } = await transport.read(group, ENTITY_LOOKUP, { guids }, call, options);
  if (failed !== undefined) throw transport.reportFailure(group, failed.failure);
  const { entities } = found;
  if (!isList(entities)) throw transport.failure(group, 'the response has no list "entities"');
  const known = entities.slice(0, GUIDS_PER_CALL).map((each) => (hasMembers(each) ? each['guid'] : undefined));
  return new Set(known.filter((guid) => typeof guid === 'string').map(withoutPadding));
}
