/** Counts what comes in each minute of the clock, per key. */
export class MinuteLimit {
  readonly most: number;
  #minute = 0;
  #counts = new Map<string, number>();

  /** 0 means no limit. */
  constructor(most: number) {
    this.most = most;
  }

  /** Counts one; false when it is one too many. `now` is milliseconds since 1970. */
  count(key: string, now: number): boolean {
    if (this.most === 0) return true;
    const minute = Math.floor(now / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts.clear();
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count <= this.most;
  }
}
