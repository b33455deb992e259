import { GROUPS, type Group } from '../metrics/sample.ts';
import type { Clock } from './clock.ts';
import type { AccountLog, Failing } from './collectorLog.ts';
import type { Entity } from './entity.ts';
import type { Timetable } from './timetable.ts';

interface Round {
  readonly startedAt: number;
  readonly pending: Set<Entity>;
}

/**
 * Follows the refreshes of one group. A refresh begins with the first entity queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports. What
 * failed is held against every refresh until it has been read: a later one that only leaves it out is no success.
 */
export class GroupProgress {
  readonly group: Group;
  readonly #clock: Clock;
  readonly #timetable: Timetable;
  readonly #log: AccountLog;
  /** Open refreshes by the end of their window. */
  readonly #rounds = new Map<number, Round>();
  /** What was not read at its last attempt. */
  readonly #failing = new Set<Entity>();
  #seconds: number | undefined;
  #lastSuccess: number | undefined;

  constructor(group: Group, clock: Clock, timetable: Timetable, log: AccountLog) {
    this.group = group;
    this.#clock = clock;
    this.#timetable = timetable;
    this.#log = log;
  }

  /** The progress of every group. */
  static ofAll(clock: Clock, timetable: Timetable, log: AccountLog): ReadonlyMap<Group, GroupProgress> {
    return new Map(GROUPS.map((group) => [group, new GroupProgress(group, clock, timetable, log)]));
  }

  /** Whether nothing that counts has failed at its last attempt; undefined when no refresh has ended and none failed. */
  get success(): boolean | undefined {
    if (this.#fails()) return false;
    return this.#seconds === undefined ? undefined : true;
  }

  /** Seconds the last refresh took. */
  get seconds(): number | undefined {
    return this.#seconds;
  }

  /** When a refresh last ended without failure, Unix seconds. */
  get lastSuccess(): number | undefined {
    return this.#lastSuccess;
  }

  /** @param windowEnd the end of the window that was current then */
  queued(entity: Entity, windowEnd: number): void {
    const round = this.#rounds.get(windowEnd) ?? { startedAt: this.#clock.monotonic(), pending: new Set() };
    this.#rounds.set(windowEnd, round);
    round.pending.add(entity);
  }

  /** An entity has ended, or has left the inventory and is waited for no longer. */
  ended(entity: Entity, failed: boolean): void {
    if (failed) this.#failing.add(entity);
    else this.#failing.delete(entity);
    for (const [windowEnd, round] of this.#rounds) {
      if (!round.pending.delete(entity) || round.pending.size > 0) continue;
      this.#rounds.delete(windowEnd);
      this.#close(round.startedAt);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  nothingToDo(): void {
    if (this.#rounds.size === 0) this.#close(this.#clock.monotonic());
  }

  #close(startedAt: number): void {
    this.#seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    if (!this.#fails()) this.#lastSuccess = this.#clock.now() / 1000;
    const failing = new Map<string, Failing>();
    for (const entity of this.#failing) {
      if (!this.#counts(entity) || entity.problem === undefined) continue;
      const { reason, text } = entity.problem;
      failing.set(reason, { entities: (failing.get(reason)?.entities ?? 0) + 1, problem: text });
    }
    this.#log.groupEnded(this.group, failing);
  }

  #fails(): boolean {
    for (const entity of this.#failing) if (this.#counts(entity)) return true;
    return false;
  }

  /** False for what has left, and for what nothing asks for any more. */
  #counts(entity: Entity): boolean {
    return !entity.gone && this.#timetable.counts(entity);
  }
}
