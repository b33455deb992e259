import { backoff } from '../backoff.ts';

/** The id of an application, the guid of a key transaction or entity, or a metric name. */
export type OmittedItem = number | string;

const FORGOTTEN_MS = 3_600_000;
const FIRST_OMISSION_MS = 5 * 60_000;
/** Time between two returns of subjects without data. The exporter reads a returning subject in a call of its own. */
const RETURN_DISTANCE_MS = 20_000;

/** Leaves refused metric names and subjects without data out of an account's requests for a time. */
export class Omissions {
  readonly #monotonic: () => number;
  /** By collection and item: the end of the omission (monotonic milliseconds), and the number of omissions in a row. */
  readonly #omitted = new Map<string, Map<OmittedItem, { readonly until: number; readonly times: number }>>();
  /** Ends of the omissions of subjects without data, in units of RETURN_DISTANCE_MS. */
  readonly #returns = new Set<number>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** True without omissions. Check this before iterating over names. */
  get isEmpty(): boolean {
    return this.#omitted.size === 0;
  }

  /** Omits an item of a collection for a time: a subject of a kind, or a metric name of an application. */
  omit(collection: string, item: OmittedItem, ms: number, times = 1): void {
    const items = this.#omitted.get(collection) ?? new Map<OmittedItem, { until: number; times: number }>();
    this.#omitted.set(collection, items.set(item, { until: this.#monotonic() + ms, times }));
  }

  /**
   * Omits a subject without data, each time longer, up to `longestMs`. Spreads the ends, so that at most three subjects
   * a minute return. More return only if `longestMs` leaves no room.
   */
  omitWithoutData(collection: string, item: OmittedItem, longestMs: number): void {
    const now = this.#monotonic();
    const times = (this.#omitted.get(collection)?.get(item)?.times ?? 0) + 1;
    let end = Math.ceil((now + backoff(times, FIRST_OMISSION_MS, longestMs)) / RETURN_DISTANCE_MS);
    while (this.#returns.has(end) && end * RETURN_DISTANCE_MS < now + longestMs) end += 1;
    this.#returns.add(end);
    this.omit(collection, item, Math.min(end * RETURN_DISTANCE_MS - now, longestMs), times);
  }

  /** Ends the omissions of an item in one collection, or in all collections. */
  readmit(item: OmittedItem, collection?: string): void {
    for (const [name, items] of this.#omitted) if (collection === undefined || name === collection) items.delete(item);
  }

  isOmitted(collection: string, item: OmittedItem): boolean {
    const omission = this.#omitted.get(collection)?.get(item);
    return omission !== undefined && omission.until > this.#monotonic();
  }

  /** True for an item whose omission ended, and that no read has confirmed since. */
  isReturning(collection: string, item: OmittedItem): boolean {
    return this.#omitted.get(collection)?.has(item) === true && !this.isOmitted(collection, item);
  }

  /** Removes old records. Call it after each refresh of a list. */
  forgetOld(): void {
    const now = this.#monotonic();
    for (const end of this.#returns) if (end * RETURN_DISTANCE_MS < now) this.#returns.delete(end);
    for (const [collection, items] of this.#omitted) {
      for (const [item, { until }] of items) if (now - until > FORGOTTEN_MS) items.delete(item);
      if (items.size === 0) this.#omitted.delete(collection);
    }
  }
}
