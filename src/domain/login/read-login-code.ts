/**
 * Reads codes as people enter them: pasted with other words, in groups of digits, or in the digits of another script.
 */

import { text } from '../core/validation.ts';

/** The rule of the code field. People may paste the whole text of the e-mail. */
export const enteredCode = text({ max: 1_000 });

/**
 * Characters that may separate the digits of one code: spaces, dashes, and invisible direction marks. U+2212 is the
 * minus sign.
 */
const SEPARATORS = /[\s\p{Pd}\p{Cf}\u2212]/gu;

/**
 * Returns the code in ASCII digits: `123456` for `Your code is ۱۲۳ ۴۵۶!`. Returns an empty string unless the text has
 * exactly one distinct run of six or eight digits.
 */
export function readLoginCode(entered: string): string {
  // NFKC turns full-width and mathematical digits into ASCII, but not the digits of other scripts.
  const joined = entered
    .normalize('NFKC')
    .replace(SEPARATORS, '')
    .replace(/\p{Nd}/gu, toAsciiDigit);
  const runs = new Set(joined.match(/[0-9]+/g)?.filter(({ length }) => length === 6 || length === 8));
  const [code = ''] = runs;
  return runs.size === 1 ? code : '';
}

/**
 * Unicode has the ten digits of each script in order from zero. Digits of several scripts may be adjacent there, so the
 * distance to the first of them is taken modulo ten.
 */
function toAsciiDigit(digit: string): string {
  const codePoint = digit.codePointAt(0) ?? 0;
  let distance = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(codePoint - distance - 1))) distance++;
  return String(distance % 10);
}
