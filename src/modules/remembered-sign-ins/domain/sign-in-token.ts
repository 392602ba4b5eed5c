/** The token in the cookie of a browser whose sign-in is remembered. Postgres stores only its digest. */
import { hash, randomBytes } from 'node:crypto';

/** Returns 32 random bytes in base64url. */
export function createSignInToken(): string {
  return randomBytes(32).toString('base64url');
}

export function digestSignInToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
