/** Recovery codes: ten, of which each works once in place of a code of the authenticator app. */
import { hash, randomBytes } from 'node:crypto';

const CODES = 10;
const BYTES = 10;
/** Digits and letters without those that look like others. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = (BYTES * 8) / 5;

export function createRecoveryCodes(): readonly string[] {
  return Array.from({ length: CODES }, createRecoveryCode);
}

function createRecoveryCode(): string {
  const bits = [...randomBytes(BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const digits = (bits.match(/.{5}/g) ?? []).map((group) => ALPHABET[Number.parseInt(group, 2)]);
  return (digits.join('').match(/.{4}/g) ?? []).join('-');
}

/** Returns the digest of a code in any case, with or without dashes and spaces. Undefined for what is no code. */
export function digestRecoveryCode(userId: string, given: string): Buffer | undefined {
  const code = given.normalize('NFKC').toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1');
  const isCode = code.length === LENGTH && [...code].every((digit) => ALPHABET.includes(digit));
  return isCode ? hash('sha256', `recovery code of ${userId}: ${code}`, 'buffer') : undefined;
}
