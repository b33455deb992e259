import { firstTurn, Turns } from '../eventLoop/turns.ts';
import { isEnabled, type AccountContext } from './inventory/context.ts';
import type { Entity, Kind } from './inventory/entity.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { Clock } from './schedule/clock.ts';
import type { Refresh, Refreshes } from './schedule/refreshes.ts';
import type { Refusal } from './schedule/refusal.ts';
import type { Scheduler } from './schedule/scheduler.ts';
import { covers } from './schedule/scope.ts';
import type { Timetable } from './schedule/timetable.ts';

/** Entities that are looked at before other work may go on: they take one or two milliseconds. */
const ENTITIES_PER_TURN = 1000;

/** What the intake looks at, and where it queues what is due. */
export interface IntakeSources {
  readonly context: Readonly<AccountContext>;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly timetable: Timetable;
  readonly refreshes: Refreshes;
  readonly refusal: Refusal;
  readonly scheduler: Scheduler;
}

/** Decides which entities of an account a refresh takes in, and which may be read at all. It holds nothing itself. */
export class Intake {
  readonly #sources: IntakeSources;

  constructor(sources: IntakeSources) {
    this.#sources = sources;
  }

  /**
   * As `join`, in portions between which other work goes on; the refresh is not over before. No call starts before all of
   * it is queued, because calls are filled with what is queued.
   */
  async fill(refresh: Refresh, entities: readonly Entity[]): Promise<void> {
    const { timetable, scheduler, refreshes } = this.#sources;
    const turns = new Turns(ENTITIES_PER_TURN, firstTurn);
    const release = scheduler.hold();
    refresh.beginFilling();
    try {
      const asked: Entity[] = [];
      for (const entity of entities) {
        if (this.#ask(refresh, entity)) asked.push(entity);
        const turn = turns.after(1);
        if (turn !== undefined) await turn;
      }
      // Once all of them count: the plan that the following looks at.
      await timetable.makePlan(turns);
      await turns.next();
      const take = this.#taking(refresh);
      for (const entity of asked) {
        if (!entity.gone) take(entity);
        const turn = turns.after(1);
        if (turn !== undefined) await turn;
      }
    } finally {
      refresh.endFilling();
      release();
    }
    refreshes.closeIfDone(refresh);
    refreshes.notify();
  }

  /** Adds what is due of `entities` to a refresh and to the queue: at once, or as `fill` where they are many. */
  join(refresh: Refresh, entities: readonly Entity[]): void {
    if (entities.length > ENTITIES_PER_TURN) {
      void this.fill(refresh, entities);
      return;
    }
    const asked: Entity[] = [];
    for (const entity of entities) if (this.#ask(refresh, entity)) asked.push(entity);
    asked.forEach(this.#taking(refresh));
    this.#sources.refreshes.closeIfDone(refresh);
  }

  /** Due entities of a kind that were asked for, for calls that have room for more than a probe waits for. */
  *companions(kind: Kind): Generator<Entity> {
    const { clock, inventory, refreshes, timetable } = this.#sources;
    if (!refreshes.probing) return;
    const isDue = timetable.due(clock.monotonic());
    for (const entity of inventory.entities()) {
      if (entity.kind !== kind || entity.state !== 'idle' || entity.failures > 0) continue;
      const wanted = timetable.counts(entity) && this.accepts(entity) && this.#isReady(entity);
      if (wanted && isDue(entity)) yield entity;
    }
  }

  /** While upstream refuses the account, only the application list is read. */
  accepts(entity: Entity): boolean {
    const { inventory, refusal } = this.#sources;
    return this.isRead(entity) && (refusal.reason === undefined || entity === inventory.applicationList);
  }

  /** False for the key transaction list of an account that reads no key transactions. */
  isRead(entity: Entity): boolean {
    const { context, inventory } = this.#sources;
    return entity !== inventory.keyTransactionList || isEnabled(context, 'key_transactions');
  }

  /** @returns false when the refresh does not ask for the entity */
  #ask(refresh: Refresh, entity: Entity): boolean {
    if (entity.gone || !this.#isCovered(refresh, entity)) return false;
    this.#sources.timetable.ask(entity, refresh.askedAt);
    return true;
  }

  /** Adds an entity that was asked for to a refresh and to the queue if it is due by the plan of now. */
  #taking(refresh: Refresh): (entity: Entity) => void {
    const { timetable, scheduler } = this.#sources;
    const { askedAt } = refresh;
    const isDue = timetable.due(askedAt);
    return (entity) => {
      if (!this.accepts(entity)) return;
      if (entity.state !== 'idle') refresh.add(entity);
      else if (entity.retryAt > askedAt || !this.#isReady(entity)) return;
      else if (isDue(entity)) {
        refresh.add(entity);
        scheduler.enqueue(entity);
      } else if (timetable.plan().stretch > 1 && timetable.dueAt(entity) < timetable.nextWindowAt) {
        // The next scrape may be as far away as the next window: until then the budget would lie idle. Nobody waits.
        scheduler.enqueue(entity);
      }
    };
  }

  #isCovered(refresh: Refresh, entity: Entity): boolean {
    return covers(refresh.needs, refresh.scope, entity, this.#isKnown(entity));
  }

  /** False for what has to be read once before other data can be used, and was not. */
  #isKnown(entity: Entity): boolean {
    if (entity.kind !== 'application_metrics') return entity.tried;
    return this.#sources.inventory.dataOf(entity.subject)?.data.database !== undefined;
  }

  /** False for metric data that has to wait for the first reading of the names to ask for. */
  #isReady({ kind, subject }: Entity): boolean {
    if (kind !== 'application_metrics' && kind !== 'host_metrics') return true;
    const data = this.#sources.inventory.dataOf(subject)?.data;
    return data !== undefined && data.datastoreList?.tried !== false && data.customNameList?.tried !== false;
  }
}
