const KEPT = 10;

/** The addresses that scraped last. A scrape asks for values: one of the exporter's own metrics alone is none. */
export class LastScrapes {
  /** Unix seconds, the oldest first. */
  readonly #at = new Map<string, number>();
  /** The newest scrape in milliseconds of the monotonic clock. */
  newest: number | undefined;

  /** @param now Unix milliseconds, only to be shown; `monotonic` is of a clock that is never set */
  note(address = 'unknown', now: number, monotonic: number): void {
    this.newest = monotonic;
    const plain = address.replace(/^::ffff:(?=[\d.]+$)/, '');
    this.#at.delete(plain);
    this.#at.set(plain, now / 1000);
    const [oldest] = this.#at.keys();
    if (this.#at.size > KEPT && oldest !== undefined) this.#at.delete(oldest);
  }

  /** Each with its last scrape, the newest first. */
  list(): readonly { readonly address: string; readonly at: number }[] {
    return Array.from(this.#at, ([address, at]) => ({ address, at })).reverse();
  }
}
