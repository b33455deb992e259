import type { Entity } from './inventory/entity.ts';
import type { Refresh } from './schedule/refreshes.ts';

/** Who is told what happens to an account's entities, for the log. */
export interface AccountListener {
  /** An entity was read, or could not be (`problem`). */
  ended(entity: Entity, problem: string | undefined): void;
  /** A refresh is over: all of its work has ended, or the next refresh carries on what is left. */
  refreshed(refresh: Refresh, seconds: number): void;
  refused(reason: string | undefined): void;
}
