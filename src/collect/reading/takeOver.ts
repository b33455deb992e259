import type { CallOptions, Outcome, TimeRange } from '../../api/reader.ts';
import { nextTurn } from '../../eventLoop/turns.ts';
import type { Entity } from '../inventory/entity.ts';
import type { EntityRead, TakeOver } from './entityRead.ts';

/** The values of so many entities are taken over before other work gets its turn. */
const VALUES_PER_TURN = 40;

/** Why an entity was not read; an error that is none of upstream's is one of ours. */
export interface Failed {
  readonly error: unknown;
}

type Result = Outcome<TakeOver> | Failed;

/** Reads entities with one call; what each brought, in their order. Never rejects. */
export async function outcomesOf(
  read: EntityRead,
  entities: readonly Entity[],
  window: TimeRange,
  call: CallOptions,
): Promise<readonly Result[]> {
  try {
    return await read.read(entities, window, call);
  } catch (error) {
    return entities.map(() => ({ error }));
  }
}

/**
 * Takes over what a call brought, in portions between which other work goes on. Gives what failed, by entity.
 *
 * @param stopped true once the rest is no longer wanted
 */
export async function takeOver(
  entities: readonly Entity[],
  results: readonly Result[],
  stopped: () => boolean,
): Promise<readonly (Failed | undefined)[]> {
  const failures: (Failed | undefined)[] = [];
  for (const [index, entity] of entities.entries()) {
    if (index > 0 && index % VALUES_PER_TURN === 0) await nextTurn();
    if (stopped()) break;
    failures.push(takeOverOne(entity, results[index]));
  }
  return failures;
}

/** Takes the value over, unless the entity has left the inventory meanwhile. */
function takeOverOne(entity: Entity, result: Result | undefined): Failed | undefined {
  if (result === undefined || 'error' in result) return { error: result?.error };
  if (entity.gone) return undefined;
  try {
    result.value();
    return undefined;
  } catch (error) {
    return { error };
  }
}
