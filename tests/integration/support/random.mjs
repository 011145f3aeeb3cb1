// Chance that can be repeated: STREAMLD_SEED chooses the seed, which each test prints.

import { env } from "node:process";

export const seed = Number(env.STREAMLD_SEED ?? Date.now() % 2 ** 31);

/** mulberry32: a number in [0, 1) per call. */
export function generator(start = seed) {
  let state = start >>> 0;
  const real = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    real,
    /** An integer from low to high, both included. */
    between: (low, high) => low + Math.floor(real() * (high - low + 1)),
    chance: (probability) => real() < probability,
  };
}
