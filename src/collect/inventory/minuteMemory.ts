import { HOUR_S, MINUTE_S } from '../../formulas/units.ts';

/** The number of minutes in a block: the bits of one element. */
const BLOCK_MINUTES = 32;
/** The elements of a block: its number since 1970, a bit for each minute, when the process last changed it. */
const FIELDS = 3;
const REMEMBERED_FOR = 24 * HOUR_S;
/** The elements for a contiguous day, and some more. The room doubles when the clock is set often. */
const ROOM = 48 * FIELDS;

/** Remembers minutes for at least 24 hours of the process. The wall clock may be set, so blocks are unsorted. */
export class MinuteMemory {
  #blocks = new Int32Array(0);

  /**
   * @param minute the start of a minute, Unix seconds
   * @param running the time of the process by the monotonic clock, in whole seconds
   */
  add(minute: number, running: number): void {
    const index = minute / MINUTE_S;
    const number = Math.floor(index / BLOCK_MINUTES);
    let place = this.#placeOf(number);
    if (place === undefined) {
      place = this.#findFreePlace(running);
      this.#blocks[place] = number;
      this.#blocks[place + 1] = 0;
    }
    this.#blocks[place + 1] = (this.#blocks[place + 1] ?? 0) | (1 << (index % BLOCK_MINUTES));
    this.#blocks[place + 2] = running;
  }

  has(minute: number): boolean {
    const index = minute / MINUTE_S;
    const place = this.#placeOf(Math.floor(index / BLOCK_MINUTES));
    return place !== undefined && ((this.#blocks[place + 1] ?? 0) & (1 << (index % BLOCK_MINUTES))) !== 0;
  }

  #placeOf(number: number): number | undefined {
    for (let place = 0; place < this.#blocks.length; place += FIELDS) {
      if (this.#blocks[place] === number) return place;
    }
    return undefined;
  }

  /** Finds the place of an empty or expired block. Adds room if there is none. */
  #findFreePlace(running: number): number {
    for (let place = 0; place < this.#blocks.length; place += FIELDS) {
      const isFree = this.#blocks[place + 1] === 0;
      if (isFree || running - (this.#blocks[place + 2] ?? 0) > REMEMBERED_FOR) return place;
    }
    const place = this.#blocks.length;
    const blocks = new Int32Array(Math.max(ROOM, 2 * place));
    blocks.set(this.#blocks);
    this.#blocks = blocks;
    return place;
  }
}
