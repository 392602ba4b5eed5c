/** The vectors of RFC 6238, and the times at which a code is accepted. */
import { expect, it } from 'vitest';
import { computeTotp, findTotpStep } from '../../../src/domain/second-factor/totp.ts';
import { decodeBase32, encodeBase32 } from '../../../src/encoding/base32.ts';

const SECRET = Buffer.from('12345678901234567890');

it.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('has the code of RFC 6238 after %i seconds', (seconds, code) => {
  expect(computeTotp(SECRET, Math.floor(seconds / 30))).toBe(code);
});

it.each([
  [-2, undefined],
  [-1, 99],
  [0, 100],
  [1, 101],
  [2, undefined],
])('takes the code of %i steps away as the step %s', (steps, found) => {
  expect(findTotpStep(SECRET, computeTotp(SECRET, 100 + steps), new Date(100 * 30_000))).toBe(found);
});

it.each(['', '12345', '1234567'])('takes no code of another length: %j', (code) => {
  expect(findTotpStep(SECRET, code, new Date())).toBeUndefined();
});

it('writes and reads Base32', () => {
  expect(encodeBase32(SECRET)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  expect(decodeBase32('gezd gnbv-gy3tqojqGEZDGNBVGY3TQOJQ')).toEqual(SECRET);
  expect(decodeBase32('0')).toBeUndefined();
});
