/** Deterministic numbers: the world has no other source of chance than these hashes of its seed. */

function stir(state: number, part: number): number {
  const once = Math.imul(state ^ (part >>> 0), 0x01000193);
  const twice = Math.imul(once ^ (once >>> 15), 0x85ebca6b);
  return twice ^ (twice >>> 13);
}

/** A 32-bit hash of up to four whole numbers; their order counts. */
export function hash(first: number, second = 0, third = 0, fourth = 0): number {
  const state = stir(stir(stir(stir(0x811c9dc5, first), second), third), fourth);
  const last = Math.imul(state ^ (state >>> 16), 0xc2b2ae35);
  return (last ^ (last >>> 16)) >>> 0;
}

/** A number in [0, 1) that depends on nothing but the parts. */
export function fraction(first: number, second = 0, third = 0, fourth = 0): number {
  return hash(first, second, third, fourth) / 4_294_967_296;
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
