/** Chance that can be had again: the same seed gives the same numbers, from 0 to 1. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  // The generator of Numerical Recipes; its low bits are poor, and count for little here.
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function pick<T>(random: () => number, items: readonly T[]): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('Nothing to pick from');
  return item;
}
