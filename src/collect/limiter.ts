import { abortReason } from '../api/http/address.ts';
import type { Gate, Overload } from '../api/reader.ts';
import type { Budget } from './budget.ts';
import type { Clock } from './clock.ts';

/** NerdGraph refuses more calls at once than this from one key, whatever accounts they read. */
const PLACES_OF_KEY = 25;

/** Calls at once over several accounts, which one key shares. */
export class SharedPlaces {
  readonly #most: number;
  readonly #freed = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get free(): boolean {
    return this.#taken < this.#most;
  }

  take(): void {
    this.#taken += 1;
  }

  /** Gives a place back, and tells everybody who may wait for one. */
  release(): void {
    this.#taken -= 1;
    for (const freed of [...this.#freed]) freed();
  }

  /** @returns ends it */
  watch(freed: () => void): () => void {
    this.#freed.add(freed);
    return () => void this.#freed.delete(freed);
  }
}

/** The places of each key. */
export class PlacesOfKeys {
  readonly #byKey = new Map<string, SharedPlaces>();

  /** @param keyMark something that is another exactly when the key is another one */
  of(keyMark: string): SharedPlaces {
    let places = this.#byKey.get(keyMark);
    if (places === undefined) this.#byKey.set(keyMark, (places = new SharedPlaces(PLACES_OF_KEY)));
    return places;
  }

  /** Forgets the keys that nothing uses any more. */
  keepOnly(keyMarks: ReadonlySet<string>): void {
    for (const keyMark of this.#byKey.keys()) if (!keyMarks.has(keyMark)) this.#byKey.delete(keyMark);
  }
}

interface Waiter {
  readonly grant: () => void;
}

/** A place taken ahead for work that is about to start. */
export interface Reservation {
  /** The gate the work enters by: its first call uses the place, later ones wait for theirs. */
  readonly gate: Gate;
  /** Gives the place back if no call was made. */
  cancel(): void;
}

/**
 * Grants calls under an account's budget and its limit of calls at once. Calls of work that has begun (pages, retries,
 * parts) wait here, first come first served, and go before new work.
 */
export class CallGate implements Gate {
  readonly #budget: Budget;
  readonly #clock: Clock;
  readonly #changed: () => void;
  #places: number;
  readonly #waiting: Waiter[] = [];
  #cancelTimer: (() => void) | undefined;
  #closed = false;
  #shared: SharedPlaces | undefined;
  #unwatch: (() => void) | undefined;

  /** @param changed called when a place or a call of the budget may have come free */
  constructor(budget: Budget, clock: Clock, places: number, changed: () => void) {
    this.#budget = budget;
    this.#clock = clock;
    this.#places = places;
    this.#changed = changed;
  }

  /** Calls of begun work that wait for a place or the budget. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Changes the limit of calls at once (reload). */
  resize(places: number): void {
    this.#places = places;
  }

  /** From now on calls take a place of these as well; those in flight give theirs back to where they took it. */
  share(shared: SharedPlaces | undefined): void {
    if (shared === this.#shared) return;
    this.#unwatch?.();
    this.#shared = shared;
    this.#unwatch = shared?.watch(() => {
      this.admit();
      this.#changed();
    });
  }

  enter(signal: AbortSignal): Promise<(overload?: Overload) => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(abortReason(signal));
      };
      const waiter: Waiter = {
        grant: () => {
          signal.removeEventListener('abort', onAbort);
          resolve(this.#take());
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(waiter);
      this.admit();
    });
  }

  /** Takes a place for new work, if one is free and no begun work waits for it; else `changed` is called when one may be. */
  reserve(): Reservation | undefined {
    const now = this.#clock.monotonic();
    if (this.#waiting.length > 0 || !this.#open(now)) {
      this.#wakeLater(now);
      return undefined;
    }
    const shared = this.#shared;
    let release: ((overload?: Overload) => void) | undefined = this.#take();
    return {
      gate: {
        enter: (signal) => {
          if (release === undefined) return this.enter(signal);
          const taken = release;
          release = undefined;
          return Promise.resolve(taken);
        },
      },
      cancel: () => {
        if (release === undefined) return;
        release = undefined;
        this.#budget.refund();
        shared?.release();
      },
    };
  }

  /** Lets waiting calls in as far as there is room, and looks again when the budget next allows a call. */
  admit(): void {
    // One time for both: had a pause ended between two readings, the calls would neither be let in nor be woken later.
    const now = this.#clock.monotonic();
    while (this.#waiting.length > 0 && this.#open(now)) this.#waiting.shift()?.grant();
    this.#wakeLater(now);
  }

  #open(now: number): boolean {
    if (this.#shared?.free === false) return false;
    return this.#budget.inFlight < this.#places && this.#budget.nextStart(now) === now;
  }

  #take(): (overload?: Overload) => void {
    const startedAt = this.#clock.monotonic();
    const shared = this.#shared;
    shared?.take();
    this.#budget.start(startedAt);
    let ended = false;
    return (overload) => {
      if (ended) return;
      ended = true;
      const now = this.#clock.monotonic();
      this.#budget.end(now);
      if (overload !== undefined) this.#budget.overloaded(now, startedAt, overload.waitMs);
      shared?.release();
      this.admit();
      this.#changed();
    };
  }

  /**
   * A place that is taken comes free with its call; only the budget needs a timer. One that is set stays where the budget
   * allows a call by now: work that asked in vain a moment earlier counts on it.
   */
  #wakeLater(now: number): void {
    if (this.#closed) return;
    const next = this.#budget.nextStart(now);
    if (next === undefined || next <= now) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#clock.after(next - now, () => {
      this.#cancelTimer = undefined;
      this.admit();
      this.#changed();
    });
  }

  /** Forgets its timer; calls still waiting are ended by their signals. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#unwatch?.();
  }
}
