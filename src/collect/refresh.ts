import type { Clock } from './clock.ts';
import type { Entity, Kind } from './entity.ts';
import { neededGroups, type Needs, type NeedsContext } from './scope.ts';
import type { Scope } from './view.ts';

/** What those who wait for a refresh wait for. It is gone with the last of them; the work goes on. */
class Waiting {
  readonly since: number;
  readonly pending = new Set<Entity>();
  readonly byKind = new Map<Kind, number>();
  readonly waiters = new Set<() => void>();
  entities = 0;
  failed = 0;

  constructor(since: number) {
    this.since = since;
  }

  count(kind: Kind, by: number): void {
    this.byKind.set(kind, (this.byKind.get(kind) ?? 0) + by);
  }
}

/** What a refresh came to when the last of those who waited for it has left. */
interface CameTo {
  readonly entities: number;
  readonly failed: number;
  readonly left: number;
  readonly seconds: number;
}

/**
 * One refresh of one account, shared by all that ask for the same scope. It goes on behind when nobody waits any more: what
 * is unlocked by what it has asked for is asked for, too. All times are milliseconds of the monotonic clock.
 */
export class Refresh {
  readonly scope: Scope;
  /** The scope as a text: refreshes of one key are one. */
  readonly key: string;
  /** How many askings are under way: until they have ended, it is not known what it waits for. */
  asking = 0;
  #needs: Needs;
  #askedAt: number;
  #waiting: Waiting | undefined;
  /** The asking for all of the scope that is under way: for which window, and for whom what is added is remembered. */
  #askingForAll:
    { readonly ended: Promise<void>; readonly windowEnd: number; readonly waiting: Waiting | undefined } | undefined;

  constructor(scope: Scope, askedAt: number, context: NeedsContext) {
    this.scope = scope;
    this.key = Refresh.keyOf(scope);
    this.#askedAt = askedAt;
    this.#needs = neededGroups(scope, context);
  }

  static keyOf({ groups, applicationId, listsOnly }: Scope): string {
    return JSON.stringify([[...groups].sort(), applicationId, listsOnly]);
  }

  get needs(): Needs {
    return this.#needs;
  }

  /** When it was asked for last: what becomes due later is not its work. */
  get askedAt(): number {
    return this.#askedAt;
  }

  /** Somebody asks for it once more. */
  askAgain(now: number, context: NeedsContext): void {
    this.#askedAt = now;
    this.#needs = neededGroups(this.scope, context);
  }

  /** True while somebody waits for it. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined;
  }

  /** True when nothing is left of what somebody waits for. */
  get isOver(): boolean {
    return this.asking === 0 && (this.#waiting === undefined || this.#waiting.pending.size === 0);
  }

  /** How many entities of each kind it still waits for. */
  get leftByKind(): ReadonlyMap<Kind, number> {
    return this.#waiting?.byKind ?? new Map();
  }

  /** Asks for all of the scope; those who come while that is under way in the same window share it. */
  async askForAll(windowEnd: number, ask: () => Promise<void>): Promise<void> {
    const before = this.#askingForAll;
    if (before?.windowEnd === windowEnd && before.waiting === this.#waiting) return before.ended;
    const asking = { ended: ask(), windowEnd, waiting: this.#waiting };
    this.#askingForAll = asking;
    await asking.ended;
    if (this.#askingForAll === asking) this.#askingForAll = undefined;
  }

  /** It waits for an entity. */
  add(entity: Entity): void {
    const waiting = this.#waiting;
    if (waiting === undefined || waiting.pending.has(entity)) return;
    waiting.pending.add(entity);
    waiting.count(entity.kind, 1);
    waiting.entities += 1;
  }

  /** An entity has ended, or is waited for no longer. */
  ended(entity: Entity, failed: boolean): void {
    const waiting = this.#waiting;
    if (waiting?.pending.delete(entity) !== true) return;
    waiting.count(entity.kind, -1);
    if (failed) waiting.failed += 1;
  }

  /** It waits no longer for what is unwanted. */
  leaveOut(unwanted: (entity: Entity) => boolean): void {
    for (const entity of this.#waiting?.pending ?? []) if (unwanted(entity)) this.ended(entity, false);
  }

  /** Has those who wait look whether they may go. */
  notify(): void {
    for (const look of [...(this.#waiting?.waiters ?? [])]) look();
  }

  /**
   * Waits until it is over, the deadline is reached, the work cannot end before it, or the signal is aborted. What is added
   * from now on is waited for.
   *
   * @returns whether it is over, and, for the last of those who waited, what it came to
   */
  async wait(
    clock: Clock,
    deadline: number,
    canEnd: () => boolean,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly isOver: boolean; readonly cameTo: CameTo | undefined }> {
    const waiting = (this.#waiting ??= new Waiting(clock.monotonic()));
    await new Promise<void>((resolve) => {
      let cancel: (() => void) | undefined;
      const go = (): void => {
        waiting.waiters.delete(look);
        cancel?.();
        signal?.removeEventListener('abort', go);
        resolve();
      };
      const look = (): void => {
        if (this.isOver || clock.monotonic() >= deadline || signal?.aborted === true) go();
        // While more is being asked for, nobody knows yet whether it can end.
        else if (this.asking === 0 && !canEnd()) go();
      };
      waiting.waiters.add(look);
      signal?.addEventListener('abort', go, { once: true });
      if (deadline !== Infinity) cancel = clock.after(deadline - clock.monotonic(), go);
      look();
    });
    const { isOver } = this;
    if (waiting.waiters.size > 0 || this.#waiting !== waiting) return { isOver, cameTo: undefined };
    this.#waiting = undefined;
    const { entities, failed, pending, since } = waiting;
    const seconds = Math.max(0, clock.monotonic() - since) / 1000;
    return { isOver, cameTo: { entities, failed, left: pending.size, seconds } };
  }
}
