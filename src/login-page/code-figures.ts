/** Numbers that the query of the page for a code has, and its forms send back. */

/** How many digits the code has, how many attempts are left, and in how many seconds it may be sent again. Else zero. */
export interface CodeFigures {
  readonly digits: number;
  readonly left: number;
  readonly wait: number;
}

/** No code lives longer. */
const MAX_WAIT_SECONDS = 600;

/** Reads what may come from anywhere. */
export function readCodeFigures(field: (name: string) => string): CodeFigures {
  const numberOf = (name: string, max: number) => Math.min(max, Number(/^\d{1,4}$/.exec(field(name))?.[0] ?? 0));
  const digits = numberOf('digits', 8);
  return { digits: digits === 8 ? 8 : 6, left: numberOf('left', 4), wait: numberOf('wait', MAX_WAIT_SECONDS) };
}
