/** Proof Key for Code Exchange (RFC 7636), method S256. */
import { hash } from 'node:crypto';

const VERIFIER = /^[\w.~-]{43,128}$/;

/** Returns the challenge of a verifier, or undefined if the verifier is malformed (section 4.1). */
export function challengeOf(verifier: string): Buffer | undefined {
  return VERIFIER.test(verifier) ? hash('sha256', verifier, 'buffer') : undefined;
}
