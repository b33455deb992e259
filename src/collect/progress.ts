import type { Logger } from 'pino';
import { GROUPS, type Group } from '../metrics/sample.ts';
import type { Clock } from './clock.ts';
import type { Entity } from './entity.ts';
import type { Timetable } from './timetable.ts';

/**
 * The log of one account: one line per refresh, and one for each failure of a group, when it begins and when it ends,
 * however many entities it concerns and however often it is tried.
 */
export class AccountLog {
  readonly #logger: Logger;
  /** What is known to fail: group and reason. */
  readonly #failing = new Map<Group, ReadonlySet<string>>();
  #warnings: ReadonlySet<string> = new Set();
  #isRefused = false;
  /** Whether the line of the refusal has been written, and that of its end not yet. */
  #refusalSaid = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** An attempt to read an entity failed. */
  failed({ group, subject, problem }: Entity): void {
    const { applicationId, hostKey, keyTransactionId } = subject;
    const about = { group, app_id: applicationId, host_id: hostKey, key_transaction_id: keyTransactionId };
    this.#logger.debug({ ...about, problem: problem?.text }, 'An attempt failed');
  }

  /** The refresh of a group has ended, and this fails in it: by reason, how many entities, and what upstream said of one. */
  groupEnded(
    group: Group,
    failing: ReadonlyMap<string, { readonly entities: number; readonly problem: string }>,
  ): void {
    const before = this.#failing.get(group) ?? new Set();
    for (const [reason, { entities, problem }] of failing) {
      if (!before.has(reason)) this.#logger.warn({ group, reason, failed: entities, problem }, 'Could not be read');
    }
    for (const reason of before) if (!failing.has(reason)) this.#logger.info({ group, reason }, 'Works again');
    this.#failing.set(group, new Set(failing.keys()));
    this.#endRefusal();
  }

  /** The configuration leaves this group out now: what failed in it is over, without a line. */
  leftOut(group: Group): void {
    this.#failing.delete(group);
    this.#endRefusal();
  }

  /** Nobody waits for a refresh any more: all of it has ended, or the rest goes on behind. */
  refreshed(
    applicationId: number | undefined,
    came: { readonly entities: number; readonly failed: number; readonly left: number; readonly seconds: number },
  ): void {
    const { entities, failed, left, seconds } = came;
    const about = applicationId === undefined ? {} : { app_id: applicationId };
    const counts = { ...about, entities, failed, left, seconds: Number(seconds.toFixed(3)) };
    // Where nothing was read, in a pause or by tries that fail again, there is nothing to report but the failure, which has its
    // own line. Probes come for every application.
    const level = left + failed === entities || applicationId !== undefined ? 'debug' : 'info';
    this.#logger[level](counts, left === 0 ? 'Refreshed' : 'Refreshed in part: the rest goes on');
  }

  /**
   * What follows from a refusal; why the account is refused stands in the line of the group that failed. A key that is taken
   * for the list and refused for all else is one refusal, not one for each time the list is read.
   */
  refused(isRefused: boolean): void {
    this.#isRefused = isRefused;
    if (isRefused && !this.#refusalSaid) {
      this.#logger.error(
        'The account is refused: look at its key, the rights of the user of the key, and the region; ' +
          'meanwhile only its application list is read, once per interval',
      );
      this.#refusalSaid = true;
    }
    this.#endRefusal();
  }

  #endRefusal(): void {
    if (this.#isRefused || !this.#refusalSaid) return;
    for (const reasons of this.#failing.values()) if (reasons.has('auth')) return;
    this.#logger.info('The account is accepted again');
    this.#refusalSaid = false;
  }

  /** The things that somebody should look at, as of now, in sentences; each is written once while it lasts. */
  warnings(warnings: readonly string[]): void {
    for (const warning of warnings) if (!this.#warnings.has(warning)) this.#logger.warn(warning);
    this.#warnings = new Set(warnings);
  }
}

/**
 * Follows the refreshes of one group. A refresh begins with the first entity queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports. What
 * failed is held against every refresh until it has been read: a later one that only leaves it out is no success.
 */
export class GroupProgress {
  /** Seconds the last refresh took. */
  seconds: number | undefined;
  /** When a refresh last ended without failure, Unix seconds. */
  lastSuccess: number | undefined;
  readonly #group: Group;
  readonly #clock: Clock;
  readonly #timetable: Timetable;
  readonly #log: AccountLog;
  /** Open refreshes by the end of their window: since when, and what is left of them. */
  readonly #open = new Map<number, { readonly startedAt: number; readonly pending: Set<Entity> }>();
  /** What was not read at its last attempt. */
  readonly #failing = new Set<Entity>();

  constructor(group: Group, clock: Clock, timetable: Timetable, log: AccountLog) {
    this.#group = group;
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
    if (this.#failed().length > 0) return false;
    return this.seconds === undefined ? undefined : true;
  }

  /** @param windowEnd the end of the window that was current then */
  queued(entity: Entity, windowEnd: number): void {
    const refresh = this.#open.get(windowEnd) ?? { startedAt: this.#clock.monotonic(), pending: new Set() };
    this.#open.set(windowEnd, refresh);
    refresh.pending.add(entity);
  }

  /** An entity has ended, or has left the inventory and is waited for no longer. */
  ended(entity: Entity, failed: boolean): void {
    if (failed) this.#failing.add(entity);
    else this.#failing.delete(entity);
    for (const [windowEnd, { startedAt, pending }] of this.#open) {
      if (!pending.delete(entity) || pending.size > 0) continue;
      this.#open.delete(windowEnd);
      this.#close(startedAt);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  nothingToDo(): void {
    if (this.#open.size === 0) this.#close(this.#clock.monotonic());
  }

  #close(startedAt: number): void {
    this.seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    const failed = this.#failed();
    if (failed.length === 0) this.lastSuccess = this.#clock.now() / 1000;
    const failing = new Map<string, { readonly entities: number; readonly problem: string }>();
    for (const { problem } of failed) {
      if (problem === undefined) continue;
      failing.set(problem.reason, {
        entities: (failing.get(problem.reason)?.entities ?? 0) + 1,
        problem: problem.text,
      });
    }
    this.#log.groupEnded(this.#group, failing);
  }

  /** What has failed, without what has left, and what nothing asks for any more. */
  #failed(): Entity[] {
    return [...this.#failing].filter((entity) => !entity.gone && this.#timetable.counts(entity));
  }
}
