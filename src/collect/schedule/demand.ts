import type { AccountConfig } from '../../config/config.ts';
import type { Clock } from '../../eventLoop/clock.ts';
import { FIRST_OF, READS, type Group } from '../../reads/reads.ts';
import type { Task } from '../inventory/task.ts';

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

/** What scrapes, probes and the timer ask of one account: a refresh for each scope. Times are of the monotonic clock. */
export class Demand {
  readonly #clock: Clock;
  readonly refreshes = new Map<string, Refresh>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  request(scope: Scope, account: AccountConfig, enabled: ReadonlySet<Group>): Refresh {
    const { groups, applicationId, listsOnly } = scope;
    const key = `${applicationId} ${listsOnly} ${[...groups].sort().join()}`;
    const refresh = this.refreshes.get(key) ?? new Refresh(key, scope, this.#clock);
    this.refreshes.set(key, refresh);
    refresh.requestedAt = this.#clock.monotonic();
    refresh.needs = neededGroups(scope, account, enabled);
    return refresh;
  }

  forget({ key }: Refresh): void {
    this.refreshes.delete(key);
  }

  /** Records that a task has ended, or was removed from the inventory. */
  ended(task: Task): void {
    for (const { pending } of this.refreshes.values()) pending.delete(task);
  }

  /**
   * Releases the waiting scrapes that have nothing more to wait for, of all refreshes or of some.
   *
   * @param isHeldUp true: none waits any longer, because the account pauses, is refused, fails or is slowed
   */
  notify(isHeldUp: boolean, refreshes: Iterable<Refresh> = this.refreshes.values()): void {
    for (const { waiters } of refreshes) for (const check of [...waiters]) check(isHeldUp);
  }

  stop(): void {
    for (const { pending } of this.refreshes.values()) pending.clear();
    this.notify(true);
  }

  /** Removes refreshes without a waiting scrape: all of them once all work has ended, otherwise those requested before `oldest`. */
  drop(isIdle: boolean, oldest: number): void {
    for (const refresh of this.refreshes.values()) {
      if (refresh.waiters.size > 0 || refresh.requesting > 0) continue;
      if (isIdle || refresh.requestedAt < oldest) this.forget(refresh);
    }
  }
}

/**
 * One refresh of one account, shared by all scrapes of the same scope. It continues in the background after the last of them
 * has left, including work that it unlocks. All times are milliseconds of the monotonic clock.
 */
export class Refresh {
  readonly key: string;
  readonly scope: Scope;
  needs: ReturnType<typeof neededGroups> = { always: new Set(), once: new Set(), rolling: new Set() };
  /** The time of its last request: tasks that become due later do not belong to it. */
  requestedAt = -Infinity;
  /** The number of running requests: until they have ended, its tasks are not all known. */
  requesting = 0;
  /** The window end (Unix seconds) of a running request for the whole scope, whose tasks all current waiters wait for. */
  requestingAllOf: number | undefined;
  readonly #clock: Clock;
  /** A function for each waiting scrape, which releases it when there is nothing more to wait for. */
  readonly waiters = new Set<(isHeldUp: boolean) => void>();
  /** The tasks that the scrapes still wait for. */
  readonly pending = new Set<Task>();

  constructor(key: string, scope: Scope, clock: Clock) {
    this.key = key;
    this.scope = scope;
    this.#clock = clock;
  }

  /**
   * True for tasks of the scope's groups, and for tasks that these groups need to have been read once.
   *
   * @param isKnown true when groups that need the task once have it: it was read, or tried and given up
   */
  covers({ group, kind, subject }: Task, isKnown: boolean): boolean {
    const { always, once, rolling } = this.needs;
    const isNeeded =
      READS[kind].gives === 'rolling' ? rolling.has(group) : always.has(group) || (once.has(group) && !isKnown);
    const { applicationId: only } = this.scope;
    return isNeeded && (only === undefined || subject.applicationId === undefined || only === subject.applicationId);
  }

  /** Makes the scrapes that wait now wait for a task, too. */
  add(task: Task): void {
    if (this.waiters.size > 0) this.pending.add(task);
  }

  /**
   * Waits until the refresh is over, the deadline is reached, the account is held up, or the signal is aborted.
   * The caller must request the tasks right after this call: only tasks that are added from now on are waited for.
   *
   * @returns true for the last waiting scrape, if no task is left
   */
  wait(deadline: number, signal: AbortSignal | undefined): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (this.waiters.size === 0) this.requestingAllOf = undefined;
    return new Promise((resolve) => {
      let cancel: (() => void) | undefined;
      const release = (): void => {
        this.waiters.delete(check);
        cancel?.();
        signal?.removeEventListener('abort', release);
        const isLast = this.waiters.size === 0;
        resolve(isLast && this.pending.size === 0);
        if (isLast) this.pending.clear();
      };
      // While requests are running, it is not known yet what there is to wait for.
      const check = (isHeldUp: boolean): void => {
        if (this.requesting === 0 && (this.pending.size === 0 || (deadline !== Infinity && isHeldUp))) release();
      };
      this.waiters.add(check);
      signal?.addEventListener('abort', release, { once: true });
      if (deadline !== Infinity) cancel = this.#clock.after(deadline - now, release);
      if (now >= deadline || signal?.aborted === true) release();
    });
  }
}
