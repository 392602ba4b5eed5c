export function medianOf(values: readonly number[]): number {
  const ascending = [...values].sort((one, other) => one - other);
  const middle = ascending.length >> 1;
  const [low, high] = [ascending[ascending.length % 2 === 0 ? middle - 1 : middle], ascending[middle]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
