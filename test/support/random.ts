/** Returns a generator of numbers from 0 to 1. The same seed gives the same numbers. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  // The generator of Numerical Recipes. Its low bits are poor, which does not matter here.
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
