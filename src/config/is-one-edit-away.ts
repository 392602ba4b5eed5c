/** Returns whether one edit changes one text into the other: inserts, deletes or replaces a character, or swaps two. */
export function isOneEditAway(one: string, other: string): boolean {
  const [long, short] = one.length > other.length ? [one, other] : [other, one];
  let start = 0;
  while (start < short.length && long[start] === short[start]) start++;
  const [longRest, shortRest] = [long.slice(start), short.slice(start)];
  if (long.length === short.length) {
    const isSwapped = longRest[0] === shortRest[1] && longRest[1] === shortRest[0];
    return longRest.slice(1) === shortRest.slice(1) || (isSwapped && longRest.slice(2) === shortRest.slice(2));
  }
  return longRest.slice(1) === shortRest;
}
