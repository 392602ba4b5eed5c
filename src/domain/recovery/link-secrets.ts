import { hash } from 'node:crypto';
import { toEmailKey } from '../../config/email-address.ts';
import { hmac } from '../crypto/derived-keys.ts';
import type { LoginCodeKeys } from '../login/login-code.ts';

/** Returns SHA-256 of the token in a link, whose 256 bits nobody can guess. */
export function digestToken(token: string): Buffer {
  return hash('sha256', `recovery link ${token}`, 'buffer');
}

/** Returns an HMAC-SHA-256 of the address that the user has when the link is made. */
export function digestAddress(key: LoginCodeKeys[number] | undefined, id: string, email: string): Buffer {
  return hmac(key, `address of recovery link ${id}: ${toEmailKey(email)}`);
}

/** Returns whether that is still the address. False without the key with which the link was made. */
export function isAddressOf(keys: LoginCodeKeys, id: string, email: string, addressKey: Buffer): boolean {
  return keys.some((key) => digestAddress(key, id, email).equals(addressKey));
}
