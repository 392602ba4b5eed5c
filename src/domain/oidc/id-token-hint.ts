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
  const claims = keys.verify(token, ({ iss, aud, sub, iat }) => {
    const isOfUser = typeof sub === 'string' && UUID.test(sub);
    return iss === issuer && typeof aud === 'string' && typeof iat === 'number' && isOfUser;
  });
  if (!claims) return undefined;
  const { aud, sub, sid, iat } = claims;
  const browser = typeof sid === 'string' && UUID.test(sid) ? sid : undefined;
  return { userId: String(sub), clientId: String(aud), sid: browser, issuedAt: new Date(Number(iat) * 1_000) };
}
