/** Deterministic numbers: the world has no other source of chance than these hashes of its seed. */

/** A 32-bit hash of whole numbers; the order of the parts counts. */
export function hash(...parts: readonly number[]): number {
  let state = 0x811c9dc5;
  for (const part of parts) {
    state = Math.imul(state ^ (part >>> 0), 0x01000193);
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b);
    state ^= state >>> 13;
  }
  state = Math.imul(state ^ (state >>> 16), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/** A number in [0, 1) that depends on nothing but the parts. */
export function fraction(...parts: readonly number[]): number {
  return hash(...parts) / 4_294_967_296;
}

/** A sequence of numbers in [0, 1) from one 32-bit state (mulberry32). */
export function sequence(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The whole number below or above `mean`, so that many draws average to it. */
export function wholeNumber(mean: number, chance: number): number {
  return Math.floor(mean + chance);
}
