/**
 * How many readings of what may hang are under way, so that they never hold every place while healthy work may come: at
 * most half of the calls at once (at least one), and one more for each in a row that ended well, because what comes back
 * after an outage does not hang.
 */
export class RiskyReadings {
  #running = 0;
  #endedWell = 0;

  /** @param places how many calls are made at once */
  mayBegin(places: number): boolean {
    return this.#running < Math.max(1, Math.floor(places / 2)) + this.#endedWell;
  }

  begin(): void {
    this.#running += 1;
  }

  /** @param well false when anything that was read failed */
  end(well: boolean): void {
    this.#running -= 1;
    this.#endedWell = well ? this.#endedWell + 1 : 0;
  }
}
