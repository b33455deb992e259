import type { AccountConfig } from '../config/config.ts';
import type { Clock } from '../eventLoop/clock.ts';
import { FIRST_OF, READS, type Group, type Kind } from '../reads/reads.ts';
import type { Task } from './task.ts';

/** The scope of a request: everything, some groups, one account, or one application. */
export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: only the lists of these groups, without rolling values and other groups. */
  readonly listsOnly?: boolean;
}

/**
 * The needs of a scope in an account: `always`, the groups to keep up to date; `once`, the groups to try once; and `rolling`,
 * the groups of the scope itself, whose rolling values are needed. Metric names need nothing where the interface has no list.
 */
export function neededGroups(
  { groups, listsOnly }: Scope,
  { custom_metrics }: AccountConfig,
  enabled: ReadonlySet<Group>,
) {
  const requested = [...groups].filter((group) => group !== 'metric_names' || enabled.has(group));
  if (listsOnly === true) return { always: new Set(requested), once: new Set<Group>(), rolling: new Set<Group>() };
  // Custom metrics are read with the data of their application or host.
  const scopes = groups.has('custom_metrics') ? custom_metrics.map(({ scope }) => scope) : [];
  const read = [...new Set([...requested, ...scopes.map((scope) => `${scope}_metrics` as const)])];
  return {
    always: new Set(read.flatMap((group) => [group, ...(FIRST_OF[group].needs ?? [])])),
    once: new Set(read.flatMap((group) => FIRST_OF[group].needsOnce ?? [])),
    rolling: new Set(requested),
  };
}

/** Limit for the refreshes that are kept: scrapers and probes of one account use fewer scopes. */
const MAX_REFRESHES = 10_000;

/** What scrapes, probes and the timer ask of one account: a refresh for each scope. Times are of the monotonic clock. */
export class Demand {
  readonly #clock: Clock;
  readonly #refreshes = new Map<string, Refresh>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  request(scope: Scope, account: AccountConfig, enabled: ReadonlySet<Group>): Refresh {
    const key = keyOf(scope);
    const refresh = this.#refreshes.get(key) ?? new Refresh(scope, this.#clock);
    if (this.#refreshes.size >= MAX_REFRESHES) this.drop(false, -Infinity);
    this.#refreshes.set(key, refresh);
    refresh.request(account, enabled);
    return refresh;
  }

  refreshes(): Iterable<Refresh> {
    return this.#refreshes.values();
  }

  get isProbing(): boolean {
    for (const { isWaitedFor, scope } of this.refreshes()) {
      if (isWaitedFor && scope.applicationId !== undefined) return true;
    }
    return false;
  }

  forget({ scope }: Refresh): void {
    this.#refreshes.delete(keyOf(scope));
  }

  /** Records that a task has ended, or was removed from the inventory. */
  ended(task: Task): void {
    for (const refresh of this.refreshes()) refresh.ended(task);
  }

  /** Makes each waiting scrape check if it may be released. */
  notify(): void {
    for (const refresh of this.refreshes()) refresh.notify();
  }

  stop(): void {
    for (const refresh of this.refreshes()) refresh.giveUp();
  }

  /**
   * Removes refreshes without a waiting scrape: all of them once all work has ended, otherwise those requested before `oldest`,
   * and the oldest of them when there are too many.
   */
  drop(isIdle: boolean, oldest: number): void {
    for (const refresh of this.refreshes()) {
      if (refresh.isWaitedFor || refresh.requesting > 0) continue;
      const isOld = refresh.requestedAt < oldest || this.#refreshes.size >= MAX_REFRESHES;
      if (isIdle || isOld) this.forget(refresh);
    }
  }
}

function keyOf({ groups, applicationId, listsOnly }: Scope): string {
  return `${applicationId} ${listsOnly} ${[...groups].sort().join()}`;
}

/**
 * One refresh of one account, shared by all scrapes of the same scope. It continues in the background after the last of them
 * has left, including work that it unlocks. All times are milliseconds of the monotonic clock.
 */
export class Refresh {
  readonly scope: Scope;
  #needs: ReturnType<typeof neededGroups> = { always: new Set(), once: new Set(), rolling: new Set() };
  /** The time of its last request: tasks that become due later do not belong to it. */
  requestedAt = -Infinity;
  /** The number of running requests: until they have ended, its tasks are not all known. */
  requesting = 0;
  /** The window end (Unix seconds) of a running request for the whole scope, whose tasks all current waiters wait for. */
  requestingAllOf: number | undefined;
  readonly #clock: Clock;
  /** A function for each waiting scrape, which releases it when there is nothing more to wait for. */
  readonly #waiters = new Set<() => void>();
  /** The tasks that the scrapes still wait for, and their numbers by kind. */
  readonly #left = new Set<Task>();
  readonly leftByKind = new Map<Kind, number>();

  constructor(scope: Scope, clock: Clock) {
    this.scope = scope;
    this.#clock = clock;
  }

  request(account: AccountConfig, enabled: ReadonlySet<Group>): void {
    this.requestedAt = this.#clock.monotonic();
    this.#needs = neededGroups(this.scope, account, enabled);
  }

  /**
   * True for tasks of the scope's groups, and for tasks that these groups need to have been read once.
   *
   * @param isKnown true when groups that need the task once have it: it was read, or tried and given up
   */
  covers({ group, kind, subject }: Task, isKnown: boolean): boolean {
    const { always, once, rolling } = this.#needs;
    const isNeeded =
      READS[kind].gives === 'rolling' ? rolling.has(group) : always.has(group) || (once.has(group) && !isKnown);
    const { applicationId: only } = this.scope;
    return isNeeded && (only === undefined || subject.applicationId === undefined || only === subject.applicationId);
  }

  get isWaitedFor(): boolean {
    return this.#waiters.size > 0;
  }

  add(task: Task): void {
    if (!this.isWaitedFor || this.#left.has(task)) return;
    this.#left.add(task);
    this.#count(task, 1);
  }

  /** Records that a task has ended, or was removed from the inventory. */
  ended(task: Task): void {
    if (this.#left.delete(task)) this.#count(task, -1);
  }

  giveUp(): void {
    this.#left.clear();
    this.leftByKind.clear();
    this.notify();
  }

  /** Makes each waiting scrape check if it may be released. */
  notify(): void {
    for (const check of [...this.#waiters]) check();
  }

  /**
   * Waits until the refresh is over, the deadline is reached, the work cannot end before the deadline, or the signal is aborted.
   * The caller must request the tasks right after this call: only tasks that are added from now on are waited for.
   *
   * @returns true for the last waiting scrape, if no task is left
   */
  wait(deadline: number, canEnd: () => boolean, signal: AbortSignal | undefined): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (!this.isWaitedFor) this.requestingAllOf = undefined;
    return new Promise((resolve) => {
      let cancel: (() => void) | undefined;
      const release = (): void => {
        this.#waiters.delete(check);
        cancel?.();
        signal?.removeEventListener('abort', release);
        const isLast = !this.isWaitedFor;
        resolve(isLast && this.#left.size === 0);
        if (!isLast) return;
        this.#left.clear();
        this.leftByKind.clear();
      };
      // While requests are running, it is not known yet if the work can end in time.
      const check = (): void => {
        if (this.requesting === 0 && (this.#left.size === 0 || !canEnd())) release();
      };
      this.#waiters.add(check);
      signal?.addEventListener('abort', release, { once: true });
      if (deadline !== Infinity) cancel = this.#clock.after(deadline - now, release);
      if (now >= deadline || signal?.aborted === true) release();
    });
  }

  #count({ kind }: Task, change: number): void {
    this.leftByKind.set(kind, (this.leftByKind.get(kind) ?? 0) + change);
  }
}
