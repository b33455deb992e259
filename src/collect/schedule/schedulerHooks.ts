import type { Entity, Kind } from '../inventory/entity.ts';
import type { EntityRead } from '../reading/entityRead.ts';
import type { Timing } from './queue.ts';
import type { CurrentWindow } from './timetable.ts';

/** How an attempt to read an entity ended: well, with an error, or before it began. */
export type Ending =
  { readonly kind: 'read' } | { readonly kind: 'failed'; readonly error: unknown } | { readonly kind: 'not_started' };

/** An entity whose turn is over. */
export interface Ended {
  readonly entity: Entity;
  readonly ending: Ending;
}

/** What the scheduler needs to know, and whom it tells. */
export interface SchedulerHooks extends Timing {
  /** The window that work starting now is done for. */
  window(): CurrentWindow;
  /** How entities of a kind are read. */
  read(kind: Kind): EntityRead;
  /** Due entities that nobody waits for, which a call for entities of the same kind may carry. */
  companions(kind: Kind): Iterable<Entity>;
  /** False for entities that must not start now: their account is refused. */
  mayStart(entity: Entity): boolean;
  /** When an entity that has just failed, reading `window`, may be tried again. */
  retryAt(entity: Entity, window: CurrentWindow): number;
  /** An entity was queued, and later has ended; some end together. */
  queued(entity: Entity): void;
  ended(endings: readonly Ended[]): void;
}
