/** Returns the values with their indices, in the reverse order every second round, so that none is always the first. */
export function alternate<Value>(values: readonly Value[], round: number): [index: number, value: Value][] {
  const inOrder = [...values.entries()];
  return round % 2 === 0 ? inOrder : inOrder.reverse();
}
