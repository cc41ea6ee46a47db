// Chance that can be repeated: the same seed makes the same choices.

/** A generator of numbers in [0, 1) (mulberry32), with the few questions that are asked of it. */
export function createChance(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count) => Math.floor(next() * count);
  return {
    /** True this often, of one. */
    happens: (share) => next() < share,
    between: (low, high) => low + below(high - low + 1),
    pick: (list) => list[below(list.length)],
    /** A generator of its own, so that what one client does leaves the choices of the others alone. */
    branch: () => createChance(below(2 ** 32)),
    shuffled(list) {
      const rest = [...list];
      return list.map(() => rest.splice(below(rest.length), 1)[0]);
    },
  };
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
