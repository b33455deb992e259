import { UpstreamError } from '../api/errors.ts';
import { GROUPS, type Group } from '../metrics/groups.ts';
import type { Intake } from './intake.ts';
import { isEnabled, type AccountContext } from './inventory/context.ts';
import type { Entity } from './inventory/entity.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { AccountListener } from './listener.ts';
import type { AccountProgress } from './schedule/accountProgress.ts';
import type { Clock } from './schedule/clock.ts';
import type { Refresh, Refreshes } from './schedule/refreshes.ts';
import type { Refusal } from './schedule/refusal.ts';
import type { Ended } from './schedule/schedulerHooks.ts';
import type { CurrentWindow, Timetable } from './schedule/timetable.ts';
import type { Scope } from './view.ts';

/** What the end of a reading touches. */
export interface EndingsSources {
  readonly context: Readonly<AccountContext>;
  readonly clock: Clock;
  readonly listener: AccountListener;
  readonly inventory: Inventory;
  readonly timetable: Timetable;
  readonly progress: AccountProgress;
  readonly refreshes: Refreshes;
  readonly refusal: Refusal;
  readonly intake: Intake;
}

/**
 * What the end of an entity's reading causes in its account: refreshes go on with what has become due, the refusal of the
 * account is noted, and lists are read again where they are in doubt. It holds nothing itself.
 */
export class Endings {
  readonly #sources: EndingsSources;

  constructor(sources: EndingsSources) {
    this.#sources = sources;
  }

  /** Entities have ended together. */
  ended(endings: readonly Ended[]): void {
    const related = new Map<Refresh, Entity[]>();
    for (const ended of endings) this.#endedOne(ended, related);
    for (const [refresh, entities] of related) this.#sources.intake.join(refresh, entities);
    this.#sources.refreshes.notify();
  }

  /** An entity left the inventory: nobody waits for it. */
  forget(entity: Entity): void {
    this.#sources.progress.ended(entity, false);
    this.#sources.refreshes.forget(entity);
  }

  /** When an entity that failed just now, reading `window`, may be tried again. */
  retryAt(entity: Entity, window: CurrentWindow): number {
    const { inventory, refusal, timetable } = this.#sources;
    // Once per interval while the account is refused, whatever the list answers.
    if (refusal.reason !== undefined && entity === inventory.applicationList) return timetable.nextTurn('applications');
    return timetable.retryAt(entity, window);
  }

  /** @param related gains for each refresh what may have become due */
  #endedOne({ entity, ending }: Ended, related: Map<Refresh, Entity[]>): void {
    if (entity.gone) return;
    const { progress, refreshes } = this.#sources;
    const failed = ending.kind !== 'read';
    const list = ending.kind === 'failed' ? this.#readListAgain(entity, ending.error) : undefined;
    if (ending.kind !== 'not_started') this.#note(entity, ending.kind === 'failed' ? ending.error : undefined);
    progress.ended(entity, failed);
    for (const refresh of refreshes.ended(entity, failed)) {
      const entities = related.get(refresh) ?? [];
      related.set(refresh, entities);
      // With the list that says whether it is gone: what is gone has to be gone from the refresh's answer.
      if (list !== undefined) entities.push(list);
      for (const each of this.#related(entity, refresh.scope)) entities.push(each);
    }
  }

  /** What may have become due for a scope because an entity of it has ended. */
  #related(entity: Entity, { applicationId }: Scope): readonly Entity[] {
    const { inventory } = this.#sources;
    switch (entity.kind) {
      case 'applications':
      case 'key_transactions':
        return inventory.entities(applicationId);
      case 'metric_names':
      case 'custom_names':
      case 'hosts':
        return inventory.entitiesOfApplication(entity.subject);
      default:
        return [entity];
    }
  }

  #note(entity: Entity, error: unknown): void {
    const { clock, inventory, listener, refusal } = this.#sources;
    const isList = entity === inventory.applicationList;
    if (refusal.note(entity, isList, error, clock.monotonic())) this.#dropQueued();
    if (isList && error === undefined) this.#reportIdleGroups();
    listener.ended(entity, entity.problem);
  }

  /**
   * An entity that upstream does not know may be gone: the list that it is from tells, and is made overdue. Once it was
   * read since then and still has the entity, its interval holds again.
   *
   * @returns that list; undefined when it was read since then, or just before, or the failure is another one
   */
  #readListAgain(entity: Entity, error: unknown): Entity | undefined {
    const { clock, inventory, timetable } = this.#sources;
    if (!(error instanceof UpstreamError) || error.failure.reason !== 'not_found') return undefined;
    const since = entity.unknown(clock.monotonic());
    const list = inventory.listOf(entity);
    if (list?.held === undefined || list.held.windowEnd >= timetable.window.to) return undefined;
    if (list.failures === 0 && list.startedAt >= since) return undefined;
    if (list.state === 'idle') list.makeOverdue();
    return list;
  }

  /** Upstream refuses the account: what waits would be refused, too, so refreshes go on without it. */
  #dropQueued(): void {
    const { refreshes, timetable } = this.#sources;
    const { applicationList } = this.#sources.inventory;
    applicationList.waitUntil(Math.max(applicationList.retryAt, timetable.nextTurn('applications')));
    refreshes.leaveOut((entity) => entity.state === 'queued' && entity !== applicationList);
  }

  #reportIdleGroups(): void {
    const { context, inventory, progress } = this.#sources;
    const busy = new Set<Group>();
    for (const { group } of inventory.entities()) busy.add(group);
    for (const group of GROUPS) if (isEnabled(context, group) && !busy.has(group)) progress.nothingToDo(group);
  }
}
