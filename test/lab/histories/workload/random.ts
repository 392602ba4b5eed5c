/** Returns one of the values at random. */
export function pick<T>(values: readonly T[]): T {
  const value = values[Math.floor(Math.random() * values.length)];
  if (value === undefined) throw new Error('There is nothing to pick from');
  return value;
}

/** Returns one of the names at random, each as often as its weight says. */
export function pickWeighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
  const entries = Object.entries<number>(weights) as [Name, number][];
  let rest = Math.random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of entries) {
    rest -= weight;
    if (rest < 0) return name;
  }
  return pick(entries)[0];
}

/** Returns mostly the last value, and sometimes any: that former ones have ended has to be seen, too. */
export function pickNewest<T>(values: readonly T[]): T | undefined {
  return Math.random() < 0.7 ? values.at(-1) : values.length > 0 ? pick(values) : undefined;
}
