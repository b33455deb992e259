import type { Entity, Kind } from './entity.ts';
import type { Scope } from './view.ts';
import type { Clock } from './clock.ts';
import { neededGroups, type Needs, type NeedsContext } from './scope.ts';
import { UpstreamError } from '../api/types.ts';

/** One refresh of one account: what it waits for. Refreshes that meet wait for the same entities. */
export class Refresh {
  readonly scope: Scope;
  readonly needs: Needs;
  /** When it was asked for, by the monotonic clock: what becomes due later is not its work. */
  readonly askedAt: number;
  /** How many entities it has waited for, and how many of those failed. */
  entities = 0;
  failures = 0;
  /** True once nobody waits for it any more. */
  answered = false;
  readonly #pending = new Set<Entity>();
  readonly #pendingByKind = new Map<Kind, number>();
  readonly #key: string;
  #fillings = 0;

  constructor(scope: Scope, askedAt: number, context: NeedsContext) {
    this.scope = scope;
    this.askedAt = askedAt;
    this.needs = neededGroups(scope, context);
    this.#key = JSON.stringify([[...scope.groups].sort(), scope.applicationId, scope.listsOnly]);
  }

  /** How many entities it still waits for. */
  get left(): number {
    return this.#pending.size;
  }

  /** How many of each kind it still waits for. */
  get leftByKind(): ReadonlyMap<Kind, number> {
    return this.#pendingByKind;
  }

  /** True while what it waits for is being added: it takes in whatever comes meanwhile, and is not over. */
  get filling(): boolean {
    return this.#fillings > 0;
  }

  beginFilling(): void {
    this.#fillings += 1;
  }

  endFilling(): void {
    this.#fillings -= 1;
  }

  add(entity: Entity): void {
    if (this.#pending.has(entity)) return;
    this.#pending.add(entity);
    this.#count(entity.kind, 1);
    this.entities += 1;
  }

  /** @returns false when it did not wait for it */
  remove(entity: Entity): boolean {
    if (!this.#pending.delete(entity)) return false;
    this.#count(entity.kind, -1);
    return true;
  }

  removeWhere(unwanted: (entity: Entity) => boolean): void {
    for (const entity of this.#pending) if (unwanted(entity)) this.remove(entity);
  }

  /** True when the two ask for the same, so that the later can carry on the earlier. */
  asksLike(other: Refresh): boolean {
    return this.#key === other.#key;
  }

  #count(kind: Kind, by: number): void {
    this.#pendingByKind.set(kind, (this.#pendingByKind.get(kind) ?? 0) + by);
  }
}

/** Told when a refresh is over: all its work has ended, or a later refresh carries on what is left. */
type RefreshOver = (refresh: Refresh, seconds: number) => void;

/** The refreshes of one account that are under way, and the scrapes that wait for them. */
export class Refreshes {
  readonly #clock: Clock;
  readonly #over: RefreshOver;
  readonly #open = new Set<Refresh>();
  /** Called whenever work has ended: waiting scrapes look again. */
  readonly #watchers = new Set<() => void>();

  constructor(clock: Clock, over: RefreshOver) {
    this.#clock = clock;
    this.#over = over;
  }

  /** True while a refresh of one application alone is under way. */
  get probing(): boolean {
    for (const { scope } of this.#open) if (scope.applicationId !== undefined) return true;
    return false;
  }

  /** Begins a refresh. It carries on those that asked for the same and were answered, so that they cannot pile up. */
  open(refresh: Refresh): void {
    for (const earlier of this.#open) if (earlier.answered && earlier.asksLike(refresh)) this.#close(earlier);
    this.#open.add(refresh);
  }

  /** Takes an entity that has ended off every refresh; gives those that waited for it or are being filled. */
  ended(entity: Entity, failed: boolean): Refresh[] {
    const waiting: Refresh[] = [];
    for (const refresh of this.#open) {
      const waited = refresh.remove(entity);
      if (waited && failed) refresh.failures += 1;
      if (waited || refresh.filling) waiting.push(refresh);
    }
    return waiting;
  }

  /** Refreshes go on without the entities that are unwanted, and the scrapes that wait look again. */
  leaveOut(unwanted: (entity: Entity) => boolean): void {
    for (const refresh of this.#open) {
      refresh.removeWhere(unwanted);
      this.closeIfDone(refresh);
    }
    this.notify();
  }

  /** As `leaveOut`, for one that has left the inventory; `notify` follows when all that left are named. */
  forget(entity: Entity): void {
    for (const refresh of this.#open) if (refresh.remove(entity)) this.closeIfDone(refresh);
  }

  closeIfDone(refresh: Refresh): void {
    if (refresh.left === 0 && !refresh.filling && this.#open.has(refresh)) this.#close(refresh);
  }

  /** Ends all of them, whatever is left of them. */
  closeAll(): void {
    for (const refresh of this.#open) this.#close(refresh);
    this.notify();
  }

  /** Has the waiting scrapes look again. */
  notify(): void {
    for (const watch of [...this.#watchers]) watch();
  }

  /**
   * Resolves when the refresh is over (true), the deadline (of the monotonic clock) is reached, or its work cannot end
   * before it (false).
   */
  async wait(refresh: Refresh, deadline: number, canEnd: () => boolean): Promise<boolean> {
    // While more is being added, nobody knows yet whether it can end.
    const cannotEnd = (): boolean => !refresh.filling && !canEnd();
    const answerNow = (): boolean => !this.#open.has(refresh) || this.#clock.monotonic() >= deadline || cannotEnd();
    if (!answerNow()) {
      await new Promise<void>((resolve) => {
        const finish = (): void => {
          this.#watchers.delete(watch);
          cancel?.();
          resolve();
        };
        const watch = (): void => {
          if (answerNow()) finish();
        };
        this.#watchers.add(watch);
        const left = deadline - this.#clock.monotonic();
        const cancel = deadline === Infinity ? undefined : this.#clock.after(left, finish);
      });
    }
    refresh.answered = true;
    return !this.#open.has(refresh);
  }

  #close(refresh: Refresh): void {
    this.#open.delete(refresh);
    if (refresh.entities > 0) this.#over(refresh, Math.max(0, this.#clock.monotonic() - refresh.askedAt) / 1000);
  }
}

/** True for errors that stop the whole account: a 401 anywhere, a 403 on its application list. */
function stopsAccount(error: unknown, isApplicationList: boolean): error is UpstreamError {
  if (!(error instanceof UpstreamError)) return false;
  const { reason } = error.failure;
  return reason === 'auth' || (reason === 'forbidden' && isApplicationList);
}

/**
 * Whether upstream refuses an account. While it does, only the application list is read, once per interval; when that
 * works again, so does the account. Answers to calls made before the account was last refused or accepted say nothing.
 */
export class Refusal {
  readonly #changed: (reason: string | undefined) => void;
  #reason: string | undefined;
  #decidedAt = -Infinity;

  /** @param changed told why the account is refused now, or undefined: it is accepted again */
  constructor(changed: (reason: string | undefined) => void) {
    this.#changed = changed;
  }

  /** In words; undefined while the account is accepted. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /**
   * Takes note of how a reading ended at `now` (monotonic clock, milliseconds); `error` is undefined when it ended well.
   *
   * @returns true when the account is refused because of it
   */
  note(entity: Entity, isApplicationList: boolean, error: unknown, now: number): boolean {
    if (entity.startedAt < this.#decidedAt) return false;
    if (stopsAccount(error, isApplicationList)) {
      this.#set(error.message, now);
      return true;
    }
    if (isApplicationList && error === undefined) this.#set(undefined, now);
    return false;
  }

  /** The key is another one: what was said of the old one counts no longer. */
  lift(now: number): void {
    this.#decidedAt = now;
    this.#set(undefined, now);
  }

  #set(reason: string | undefined, now: number): void {
    const before = this.#reason;
    if (reason === before) return;
    this.#reason = reason;
    if ((reason === undefined) !== (before === undefined)) this.#decidedAt = now;
    this.#changed(reason);
  }
}
