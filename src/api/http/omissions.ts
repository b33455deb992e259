import { backoff } from '../backoff.ts';

/** What is left out: an application by its id, a key transaction or entity by its guid, or a metric name. */
export type OmittedItem = number | string;

/** An item is forgotten when its omission ended this long ago. */
const FORGOTTEN_MS = 3_600_000;
/** The first time for which an application without data is left out. */
const FIRST_OMISSION_MS = 5 * 60_000;
/** The distance between the ends of such omissions: each application is then read alone, which costs a call. */
const RETURN_DISTANCE_MS = 20_000;

/** Refused metric names, and subjects without data: an account does not ask for them for a time. */
export class Omissions {
  readonly #monotonic: () => number;
  /** For each collection the items that are left out, with the end of their omission (monotonic milliseconds) and its number. */
  readonly #omitted = new Map<string, Map<OmittedItem, { readonly until: number; readonly times: number }>>();
  /** The ends of omissions for want of data, in units of their distance. */
  readonly #returns = new Set<number>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** True when nothing is left out: a quick check before many names are compared. */
  get isEmpty(): boolean {
    return this.#omitted.size === 0;
  }

  /** Leaves an item of a collection (a subject of a kind of data, a metric name of an application) out for a time. */
  omit(collection: string, item: OmittedItem, ms: number, times = 1): void {
    const items = this.#omitted.get(collection) ?? new Map<OmittedItem, { until: number; times: number }>();
    this.#omitted.set(collection, items.set(item, { until: this.#monotonic() + ms, times }));
  }

  /** Leaves a subject without data out, each time longer; at most three a minute return before the longest time is over. */
  omitWithoutData(collection: string, item: OmittedItem, longestMs: number): void {
    const now = this.#monotonic();
    const times = (this.#omitted.get(collection)?.get(item)?.times ?? 0) + 1;
    let end = Math.ceil((now + backoff(times, FIRST_OMISSION_MS, longestMs)) / RETURN_DISTANCE_MS);
    while (this.#returns.has(end) && end * RETURN_DISTANCE_MS < now + longestMs) end += 1;
    this.#returns.add(end);
    this.omit(collection, item, Math.min(end * RETURN_DISTANCE_MS - now, longestMs), times);
  }

  /** Ends the omissions of an item, because there is news of it; only those from one collection where it is given. */
  readmit(item: OmittedItem, collection?: string): void {
    for (const [name, items] of this.#omitted) if (collection === undefined || name === collection) items.delete(item);
  }

  isOmitted(collection: string, item: OmittedItem): boolean {
    const omission = this.#omitted.get(collection)?.get(item);
    return omission !== undefined && omission.until > this.#monotonic();
  }

  /** True for an item that is no longer left out, but was not read since. */
  isReturning(collection: string, item: OmittedItem): boolean {
    return this.#omitted.get(collection)?.has(item) === true && !this.isOmitted(collection, item);
  }

  /** Removes old records. Called with every list. */
  forgetOld(): void {
    const now = this.#monotonic();
    for (const end of this.#returns) if (end * RETURN_DISTANCE_MS < now) this.#returns.delete(end);
    for (const [collection, items] of this.#omitted) {
      for (const [item, { until }] of items) if (now - until > FORGOTTEN_MS) items.delete(item);
      if (items.size === 0) this.#omitted.delete(collection);
    }
  }
}
