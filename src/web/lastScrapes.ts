const KEPT = 10;

/** The addresses that scraped last. A scrape asks for values: one of the exporter's own metrics alone is none. */
export class LastScrapes {
  /** Milliseconds of the monotonic clock, the oldest first. */
  readonly #at = new Map<string, number>();

  note(address = 'unknown', at: number): void {
    const plain = address.replace(/^::ffff:(?=[\d.]+$)/, '');
    this.#at.delete(plain);
    this.#at.set(plain, at);
    const [oldest] = this.#at.keys();
    if (this.#at.size > KEPT && oldest !== undefined) this.#at.delete(oldest);
  }

  /** Each with its last scrape, the newest first. */
  list(): readonly { readonly address: string; readonly at: number }[] {
    return Array.from(this.#at, ([address, at]) => ({ address, at })).reverse();
  }
}
