import { UUID } from '../validation.ts';
import type { OidcSigningKeys } from './signing-keys.ts';

/** Whose ID token an application names in a request. */
export interface IdTokenHint {
  readonly userId: string;
  readonly clientId: string;
  /** The browser of the sign-in. Older tokens have none. */
  readonly sid: string | undefined;
  readonly issuedAt: Date;
}

/** Returns what an ID token of Usher says. It may have expired, because a hint proves nothing. */
export function readIdTokenHint(keys: OidcSigningKeys, issuer: string, token: string): IdTokenHint | undefined {
  const { iss, aud, sub, sid, iat } = keys.verify(token) ?? {};
  if (iss !== issuer || typeof aud !== 'string' || typeof sub !== 'string' || !UUID.test(sub)) return undefined;
  if (typeof iat !== 'number') return undefined;
  const browser = typeof sid === 'string' && UUID.test(sid) ? sid : undefined;
  return { userId: sub, clientId: aud, sid: browser, issuedAt: new Date(iat * 1_000) };
}
