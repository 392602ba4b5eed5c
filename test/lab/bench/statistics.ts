/** Returns the median, or NaN of no values. */
export function medianOf(values: readonly number[]): number {
  const ascending = values.toSorted((one, other) => one - other);
  const middle = ascending.length >> 1;
  const [low, high] = [ascending[ascending.length % 2 === 0 ? middle - 1 : middle], ascending[middle]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** Returns how far the farthest value lies from the median, as a share of the median. */
export function spreadOf(values: readonly number[]): number {
  const median = medianOf(values);
  return Math.max(...values.map((value) => Math.abs(value - median))) / median;
}

/** Returns each cost divided by the other one of its round: a machine that is busy is busy for all of a round. */
export function ratiosOf(costs: readonly number[], others: readonly number[]): number[] {
  return costs.map((cost, round) => cost / (others[round] ?? Number.NaN));
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
