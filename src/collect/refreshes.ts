import type { Clock } from './clock.ts';
import type { Refresh } from './refresh.ts';
import type { Unit } from './unit.ts';

/** Told when a refresh is over: all its work has ended, or a later refresh carries on what is left (`pending`). */
export type RefreshOver = (refresh: Refresh, seconds: number) => void;

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

  /** Begins a refresh. It carries on those that asked for the same and were answered, so that they cannot pile up. */
  open(refresh: Refresh): void {
    for (const earlier of this.#open) if (earlier.answered && earlier.asksLike(refresh)) this.#close(earlier);
    this.#open.add(refresh);
  }

  /** Takes a unit that has ended off every refresh; gives those that waited for it. */
  ended(unit: Unit, failed: boolean): Refresh[] {
    const waiting: Refresh[] = [];
    for (const refresh of this.#open) {
      if (!refresh.pending.delete(unit)) continue;
      if (failed) refresh.failures += 1;
      waiting.push(refresh);
    }
    return waiting;
  }

  /** Refreshes go on without this unit, which has left the inventory. */
  forget(unit: Unit): void {
    for (const refresh of this.#open) if (refresh.pending.delete(unit)) this.closeIfDone(refresh);
  }

  /** Refreshes go on without the units that are unwanted. */
  leaveOut(unwanted: (unit: Unit) => boolean): void {
    for (const refresh of this.#open) {
      for (const unit of refresh.pending) if (unwanted(unit)) refresh.pending.delete(unit);
      this.closeIfDone(refresh);
    }
  }

  closeIfDone(refresh: Refresh): void {
    if (refresh.pending.size === 0 && this.#open.has(refresh)) this.#close(refresh);
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
   * Resolves when the refresh is over (true), the deadline (Unix milliseconds) is reached, or its work cannot end before
   * it (false).
   */
  async wait(refresh: Refresh, deadline: number, canEnd: () => boolean): Promise<boolean> {
    const answerNow = (): boolean => !this.#open.has(refresh) || this.#clock.now() >= deadline || !canEnd();
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
        const cancel = deadline === Infinity ? undefined : this.#clock.after(deadline - this.#clock.now(), finish);
      });
    }
    refresh.answered = true;
    return !this.#open.has(refresh);
  }

  #close(refresh: Refresh): void {
    this.#open.delete(refresh);
    if (refresh.units > 0) this.#over(refresh, Math.max(0, this.#clock.now() - refresh.askedAt) / 1000);
  }
}
