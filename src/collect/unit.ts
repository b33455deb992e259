import type { CallOptions } from '../api/reader.ts';
import type { Group } from '../metrics/groups.ts';
import type { HeldTimes } from './due.ts';
import type { Window } from './window.ts';

/** What was read last, and when: everything an answer is made of (one plain value per entity). */
export interface Held<V> extends HeldTimes {
  readonly value: V;
}

/** What a unit is about: an account's list has neither id. */
export interface Subject {
  readonly applicationId?: number;
  readonly hostKey?: string;
}

/** What a unit does when its turn comes. */
export type Work<V> = (window: Window, call: CallOptions) => Promise<V>;

/**
 * One entity that is refreshed as a whole: a list of an account or an application, or the metric data of an application
 * or a host. It is read by at most one call sequence at a time, which everybody who wants it shares.
 */
export class Unit<V = unknown> {
  readonly group: Group;
  readonly subject: Subject;
  /** When it became known, Unix milliseconds; what was never read is overdue since then. */
  readonly firstSeen: number;
  held: Held<V> | undefined;
  /** Failed attempts in a row, the time before which it is left alone, and why it failed. */
  failures = 0;
  retryAt = 0;
  problem: string | undefined;
  /** When the last attempt started, Unix milliseconds, and how many seconds it took. */
  startedAt = -Infinity;
  seconds: number | undefined;
  /** How many calls a reading takes when nothing fails, as far as is known. */
  calls = 1;
  state: 'idle' | 'queued' | 'running' = 'idle';
  /** True when it must be read again whatever its interval says. */
  overdue = false;
  /** True once it has left the inventory; a result that still arrives is dropped. */
  gone = false;
  readonly #read: (window: Window, call: CallOptions, now: () => number) => Promise<void>;

  constructor(group: Group, subject: Subject, firstSeen: number, work: Work<V>, arrived: (held: Held<V>) => void) {
    this.group = group;
    this.subject = subject;
    this.firstSeen = firstSeen;
    this.#read = async (window, call, now) => {
      const value = await work(window, call);
      if (this.gone) return;
      this.held = { windowEnd: window.to, fetchedAt: now(), value };
      arrived(this.held);
    };
  }

  /** True once it has been tried, well or not. */
  get tried(): boolean {
    return this.held !== undefined || this.failures > 0;
  }

  /** Reads it for `window`; what arrives is held. Rejects as the reader does, and holds on to what it had. */
  async read(window: Window, call: CallOptions, now: () => number): Promise<void> {
    // What makes it overdue while it is being read (a reload) is not answered by this reading.
    const { overdue } = this;
    this.overdue = false;
    try {
      await this.#read(window, call, now);
    } catch (error) {
      this.overdue ||= overdue;
      throw error;
    }
  }
}
