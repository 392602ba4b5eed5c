/** Codes as people enter them: pasted with the words around them, in groups, or in the digits of their script. */

import { text } from '../validation.ts';

/** What people enter as a code: long enough for the text of the e-mail around it. */
export const enteredCode = text({ max: 1_000 });

/** What stands between the digits of one code: spaces, dashes, and the invisible marks around text that runs right to left. */
const SEPARATORS = /[\s\p{Pd}\p{Cf}\u2212]/gu;

/**
 * Returns the only run of six or eight digits, in ASCII: `123456` for `Your code is ۱۲۳ ۴۵۶!`. Returns an empty string
 * if there is none, or if there are several that differ.
 */
export function readLoginCode(entered: string): string {
  // Full-width and mathematical digits become ASCII by normalization. Digits of other scripts do not.
  const joined = entered
    .normalize('NFKC')
    .replace(SEPARATORS, '')
    .replace(/\p{Nd}/gu, toAsciiDigit);
  const runs = new Set(joined.match(/[0-9]+/g)?.filter(({ length }) => length === 6 || length === 8));
  const [code = ''] = runs;
  return runs.size === 1 ? code : '';
}

/** Unicode has the ten digits of a script in order from zero. The digits of two scripts may follow each other. */
function toAsciiDigit(digit: string): string {
  const codePoint = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(codePoint - value - 1))) value++;
  return String(value % 10);
}
