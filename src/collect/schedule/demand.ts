import { getOrAdd } from '../../api/maps.ts';
import type { Clock } from '../../eventLoop/clock.ts';
import { FIRST_OF, READS, type Group } from '../../reads/reads.ts';
import type { AccountContext } from '../inventory/accountContext.ts';
import type { Task } from '../inventory/task.ts';

export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: only the lists of these groups, without rolling values and without the groups that they need. */
  readonly listsOnly?: boolean;
}

type Enabled = Pick<AccountContext, 'account' | 'enabled'>;

/**
 * Returns the groups that a scope needs. `always`: to keep up to date. `once`: to try once. `rolling`: with rolling
 * values. Metric names need nothing where the interface has no list of names.
 */
export function findNeededGroups({ groups, listsOnly }: Scope, { account, enabled }: Enabled) {
  const requested = [...groups].filter((group) => group !== 'metric_names' || enabled.has(group));
  if (listsOnly === true) return { always: new Set(requested), once: new Set<Group>(), rolling: new Set<Group>() };
  // The metric data of an application or host brings its custom metrics.
  const scopes = groups.has('custom_metrics') ? account.custom_metrics.map(({ scope }) => scope) : [];
  const read = [...new Set([...requested, ...scopes.map((scope) => `${scope}_metrics` as const)])];
  return {
    always: new Set(read.flatMap((group) => [group, ...(FIRST_OF[group].needs ?? [])])),
    once: new Set(read.flatMap((group) => FIRST_OF[group].needsOnce ?? [])),
    rolling: new Set(requested),
  };
}

/** The refreshes of one account, one for each scope. Times are of the monotonic clock. */
export class Demand {
  readonly #clock: Clock;
  readonly refreshes = new Map<string, Refresh>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  request(scope: Scope, context: Enabled): Refresh {
    const { groups, applicationId, listsOnly } = scope;
    const key = `${applicationId} ${listsOnly} ${[...groups].sort().join()}`;
    const refresh = getOrAdd(this.refreshes, key, () => new Refresh(key, scope, this.#clock));
    refresh.requestedAt = this.#clock.monotonic();
    refresh.needs = findNeededGroups(scope, context);
    return refresh;
  }

  forget({ key }: Refresh): void {
    this.refreshes.delete(key);
  }

  recordEnd(task: Task): void {
    for (const { pending } of this.refreshes.values()) pending.delete(task);
  }

  /** Releases the scrapes that have nothing more to wait for; all of them if the account is held up. */
  notify(isHeldUp: boolean, refreshes: Iterable<Refresh> = this.refreshes.values()): void {
    for (const { waiters } of refreshes) for (const check of [...waiters]) check(isHeldUp);
  }

  stop(): void {
    for (const { pending } of this.refreshes.values()) pending.clear();
    this.notify(true);
  }

  /** Removes refreshes without a waiting scrape: all if the account is idle, else those requested before `oldest`. */
  drop(isIdle: boolean, oldest: number): void {
    for (const refresh of this.refreshes.values()) {
      if (refresh.waiters.size > 0 || refresh.requesting > 0) continue;
      if (isIdle || refresh.requestedAt < oldest) this.forget(refresh);
    }
  }
}

/**
 * All scrapes of the same scope share a refresh. It continues after the last one has left. Times are milliseconds of
 * the monotonic clock.
 */
export class Refresh {
  readonly key: string;
  readonly scope: Scope;
  needs: ReturnType<typeof findNeededGroups> = { always: new Set(), once: new Set(), rolling: new Set() };
  /** The last request. Tasks that become due later do not belong to the refresh. */
  requestedAt = -Infinity;
  /** Running requests. While one runs, some tasks of the refresh are unknown. */
  requesting = 0;
  /** The window end of a running request for the whole scope. All current waiters wait for its tasks. */
  requestingAllFor: number | undefined;
  readonly #clock: Clock;
  /** For each waiting scrape: releases it when there is nothing more to wait for. */
  readonly waiters = new Set<(isHeldUp: boolean) => void>();
  readonly pending = new Set<Task>();

  constructor(key: string, scope: Scope, clock: Clock) {
    this.key = key;
    this.scope = scope;
    this.#clock = clock;
  }

  /** @param isKnown true if groups that need the task only once no longer need it */
  covers({ group, kind, subject }: Task, isKnown: boolean): boolean {
    const { always, once, rolling } = this.needs;
    const isNeeded =
      READS[kind].gives === 'rolling' ? rolling.has(group) : always.has(group) || (once.has(group) && !isKnown);
    const { applicationId: only } = this.scope;
    return isNeeded && (only === undefined || subject.applicationId === undefined || only === subject.applicationId);
  }

  /** Makes the currently waiting scrapes wait for a task, too. */
  add(task: Task): void {
    if (this.waiters.size > 0) this.pending.add(task);
  }

  /**
   * Waits until the refresh ends, the deadline passes, the account is held up, or the signal aborts. Only tasks added
   * from now on count. Resolves to true for the last waiting scrape if no task is pending.
   */
  wait(deadline: number, signal: AbortSignal | undefined): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (this.waiters.size === 0) this.requestingAllFor = undefined;
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
      // A running request may still add tasks to wait for.
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
